"""The rows kept in validation/ are those of this code."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

# CPU time of a release build; the tests' own build takes about three times as long.
UNDER_S = 60 if os.environ.get("PAGEMILL_TEST_FULL") else 2
LIMIT_S = 600


def cheap(root: Path) -> list[str]:
    """The files whose rows are made again: those of at most so many seconds."""
    entries = tomllib.loads((root / "validation/rows.toml").read_text())["rows"]
    return [entry["file"] for entry in entries if entry["cpu_s"] <= UNDER_S]


@pytest.mark.parametrize("file", cheap(Path(__file__).resolve().parents[4]))
def test_rows_are_of_this_code(file: str, root: Path, pagemill_command: str) -> None:
    make = [sys.executable, root / "validation/rows.py", "--command", pagemill_command, file + "$"]
    made = subprocess.run(make, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    assert "1 made, 0 differ" in made.stdout


def test_every_file_of_simulated_rows_says_how_it_is_made(root: Path) -> None:
    listed = {entry["file"] for entry in tomllib.loads((root / "validation/rows.toml").read_text())["rows"]}
    claims = {
        str(path.relative_to(root / "validation")).removesuffix(".claims.json")
        for path in (root / "validation").rglob("*.claims.json")
    }
    assert claims <= listed, sorted(claims - listed)
    for file in listed:
        assert (root / "validation" / f"{file}.csv").exists(), file
