"""The package's types, which editors and callers rely on."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pagemill
import pytest
from pagemill import _native, _options

PACKAGE = Path(__file__).resolve().parents[1]


def checked(*arguments):
    return subprocess.run([sys.executable, "-m", "mypy", *arguments], cwd=PACKAGE, capture_output=True, text=True)


def test_types_are_sound():
    own = checked()
    assert own.returncode == 0, own.stdout


def test_a_wrong_type_is_found(tmp_path):
    planted = tmp_path / "planted.py"
    planted.write_text("import pagemill\n\npagemill.concat(1)\n")
    wrong = checked(str(planted))
    assert wrong.returncode == 1 and "[arg-type]" in wrong.stdout, wrong.stdout


@pytest.mark.parametrize(
    "call",
    [
        'pagemill.cuda("./a", machin="h100")',
        'pagemill.cuda("./a", oversubscribe="much")',
        'pagemill.mpi(["mpirun", "./a"], mode="whole-page")',
        'pagemill.pager("./a", memory="1 GiB", to="compressed", limits="2GiB")',
        'pagemill.advise("pattern", "grid-stride", runs=3)',
        'pagemill.advise("patern", "grid-stride")',
        'pagemill.compare("a", "b", metrics="time_ns")',
    ],
)
def test_a_wrong_option_is_found(call, tmp_path):
    planted = tmp_path / "planted.py"
    planted.write_text(f"import pagemill\n\n{call}\n")
    wrong = checked(str(planted))
    assert wrong.returncode == 1 and "error:" in wrong.stdout, wrong.stdout


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("cuda", _options.CudaOptions),
        ("mpi", _options.MpiOptions),
        ("pager run", _options.PagerOptions),
        ("zero run", _options.ZeroOptions),
        ("color run", _options.ColorOptions),
        ("advise program", _options.AdviseProgramOptions),
        ("advise pattern", _options.AdvisePatternOptions),
        ("advise pager", _options.AdvisePagerOptions),
        ("advise zero", _options.AdviseZeroOptions),
        ("report compare", _options.CompareOptions),
    ],
)
def test_options_are_those_of_the_command(words, options, pagemill_command):
    said = subprocess.run([pagemill_command, *words.split(), "--help"], capture_output=True, text=True, check=True).stdout
    of_command = {name.replace("-", "_") for name in re.findall(r"^ +(?:-\w, )?--([a-z-]+)", said, re.MULTILINE)}
    # The format is ours to choose, and so is the folder of a program's rows, the budget and the store are arguments of their own.
    ours = (
        {"help", "format"}
        | ({"out"} if words in ("cuda", "mpi", "pager run") else set())
        | ({"memory", "to"} if words == "pager run" else set())
    )
    assert set(options.__annotations__) == of_command - ours


def test_the_stub_names_what_the_compiled_part_has():
    stub = ast.parse((PACKAGE / "python/pagemill/_native.pyi").read_text())

    def names(body):
        defined = {node.name for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
        defined |= {node.target.id for node in body if isinstance(node, ast.AnnAssign)}
        return {name for name in defined if not name.startswith("__")}

    def public(owner):
        return {name for name in vars(owner) if not name.startswith("_")}

    assert names(stub.body) == public(_native)
    for node in stub.body:
        if isinstance(node, ast.ClassDef) and not issubclass(getattr(_native, node.name), Exception):
            assert names(node.body) == public(getattr(_native, node.name)), node.name


def test_everything_public_has_a_docstring():
    for name in pagemill.__all__:
        if not name.startswith("__"):
            owner = getattr(pagemill, name)
            assert owner.__doc__, name
            for method in vars(owner) if isinstance(owner, type) else ():
                if not method.startswith("_") and callable(getattr(owner, method)):
                    assert getattr(owner, method).__doc__, f"{name}.{method}"
