"""Every command of the guides runs, in order, in an empty folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[4]
GUIDES = ["installing", "first-steps", "own-machine", "own-workload", "own-policy", "reading-a-report", "validation"]

BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SAVED = re.compile(r"[Ss]ave this as `([^`]+)`:\s*\Z")


def blocks(text):
    """Language, words after it, code, and the file that it is to be saved as."""
    for match in BLOCK.finditer(text):
        saved = SAVED.search(text[: match.start()])
        yield match[1], match[2].split(), match[3], saved and saved[1]


@pytest.fixture
def environment(pagemill_command):
    beside = [str(Path(pagemill_command).parent), str(Path(sys.executable).parent)]
    return {**os.environ, "PATH": os.pathsep.join([*beside, os.environ["PATH"]]), "MPLBACKEND": "agg", "SOURCE": str(ROOT)}


@pytest.mark.parametrize("guide", GUIDES)
def test_every_command_of_a_guide_runs(guide, tmp_path, environment):
    ran = 0
    for language, words, code, saved in blocks((ROOT / "docs" / f"{guide}.md").read_text()):
        if "not-run" in words:
            continue
        if saved:
            (tmp_path / saved).write_text(code)
            continue
        command = {"sh": ["bash", "-euo", "pipefail", "-c", code], "python": [sys.executable, "-c", code]}[language]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        expected = 2 if "fails" in words else 0
        assert done.returncode == expected, f"{code}\n{done.stdout}{done.stderr}"
        ran += 1
    assert ran >= 1


@pytest.mark.parametrize("guide", GUIDES)
def test_every_link_of_a_guide_leads_somewhere(guide):
    page = ROOT / "docs" / f"{guide}.md"
    for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), target
