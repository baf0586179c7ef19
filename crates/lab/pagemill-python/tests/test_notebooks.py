"""Every cell of every notebook runs, in order, in an empty folder."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))

# What a notebook shows of a cell is the value of its last line. Each is asked for the forms that a browser would draw: one that has none is
# shown as text, which for a figure says nothing.
RUN = """
import ast, json, sys

names = {}
for source in json.load(sys.stdin):
    tree = ast.parse(source)
    shown = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if shown:
        value = eval(compile(ast.Expression(shown.value), "cell", "eval"), names)
        forms = [getattr(value, form)() for form in ("_repr_html_", "_repr_png_") if hasattr(value, form)]
        if source.rstrip().splitlines()[-1].split("(")[0].endswith(".plot"):
            assert any(isinstance(form, bytes) and form.startswith(b"\\x89PNG") for form in forms), f"no picture of {source}"
"""


def cells(notebook):
    """The code of a notebook, and what it keeps of an earlier run."""
    code = [cell for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"]
    return ["".join(cell["source"]) for cell in code], [cell["outputs"] for cell in code]


def test_there_is_a_notebook_for_each_reader():
    assert [notebook.stem for notebook in NOTEBOOKS] == ["gpu-researcher", "operator", "performance-engineer", "teacher"]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda notebook: notebook.stem)
def test_every_cell_of_a_notebook_runs(notebook, tmp_path, pagemill_command):
    sources, outputs = cells(notebook)
    assert not any(outputs), "a kept output is older than the code"
    path = os.pathsep.join([str(Path(pagemill_command).parent), os.environ["PATH"]])
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        input=json.dumps(sources),
        cwd=tmp_path,
        env={**os.environ, "PATH": path, "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
