"""Programs of `examples/` that need packages of others, on inputs that take seconds."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not os.environ.get("PAGEMILL_TEST_FULL"), reason="only in --full: examples with packages of others")

SEARCHED = """
title = "searched"
kind = "gpu"
machine = "gtx480-paper"
workload = { name = "vector-add", elements = 4096 }
transfer = { page_size = "4 KiB", unit = "1 KiB" }
sweep = { "transfer.mode" = ["whole-page", "multi-range"] }
[[claims]]
id = "ratio"
text = "whole pages take twice as long"
published = 2.0
metric = "time_ns"
of = { mode = "whole-page" }
to = { mode = "multi-range" }
at_least = 1.5
at_most = 2.5
"""


def example(root: Path, name: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(root / "examples" / name), *words], capture_output=True, text=True)


def test_a_search_ends_with_settings_and_how_far_they_are_off(root: Path, tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    (tmp_path / "searched.toml").write_text(SEARCHED)
    finished = example(root, "fit.py", "--scenario", str(tmp_path / "searched.toml"), "--trials", "3")
    assert finished.returncode == 0, finished.stderr
    best, off = finished.stdout.splitlines()[:2]
    assert "machine.gmmu.merge" in best and off.strip().startswith("off by ratio 1")
