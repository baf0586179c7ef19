"""Programs and results, by the command."""

import sys
from pathlib import Path

import pagemill
import pytest

pytestmark = pytest.mark.usefixtures("pagemill_command")


def test_advice_on_a_pattern_is_a_result() -> None:
    advice = pagemill.advise("pattern", "grid-stride", factor=1.5, machine="a100-pcie4-x86")
    assert len(advice) > 3
    assert "time_ns" in {column["name"] for column in advice.columns}


def test_results_are_compared_and_read_again(tmp_path: Path, small: dict) -> None:
    first = pagemill.run(small)
    first.save(tmp_path / "kept")
    assert pagemill.load(tmp_path / "kept").rows == first.rows
    compared = pagemill.compare(first, tmp_path / "kept" / "results.json")
    assert compared.rows
    assert all(not error for row in compared for name, error in row.items() if name.endswith("_error"))


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    with pytest.raises(pagemill.InputError, match="grid-strode"):
        pagemill.advise("pattern", "grid-strode", machine="a100-pcie4-x86")
    with pytest.raises(pagemill.InputError, match="none.json"):
        pagemill.compare(tmp_path / "none.json", tmp_path / "none.json")
    with pytest.raises(pagemill.InputError, match="memory"):
        pagemill.pager([sys.executable, "-c", ""], memory="much", to="compressed")


def test_what_is_no_text_or_path_is_named() -> None:
    with pytest.raises(TypeError, match="memory=4096 is a int"):
        pagemill.pager("true", memory=4096, to="compressed")
    with pytest.raises(TypeError, match="scenario=5 is a int.*smoke"):
        pagemill.run(5)
    with pytest.raises(TypeError, match="command=8 is a int"):
        pagemill.cuda(["./program", 8])
    with pytest.raises(pagemill.InputError, match="did you mean `a100-pcie4-x86`"):
        pagemill.Gpu("a100")


def test_a_cuda_program_that_is_none_is_refused() -> None:
    with pytest.raises((pagemill.InputError, pagemill.RunError)):
        pagemill.cuda("/nowhere/program", mode="whole-page")


def test_programs_print_what_they_print() -> None:
    # Without a pool, and in silence, a program has the kernel's memory.
    assert pagemill.zero([sys.executable, "-c", "print('here')"]) == "here\n"


def test_a_programs_own_exit_code_is_no_wrong_input() -> None:
    with pytest.raises(pagemill.RunError):
        pagemill.zero([sys.executable, "-c", "raise SystemExit(2)"])
