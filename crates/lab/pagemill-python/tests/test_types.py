"""The package's types, which editors and callers rely on."""

import ast
import subprocess
import sys
from pathlib import Path

import pagemill
from pagemill import _native

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
