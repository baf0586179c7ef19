"""What the command ``pagemill`` does with programs and results, from Python.

The wheel of a release has the command inside. One that ``pip install ./crates/lab/pagemill-python`` builds has not: build the command with
``cargo build --release`` then, and name it with the environment variable ``PAGEMILL``, or have it in ``PATH``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Unpack, overload

from pagemill import _checks, _native
from pagemill._native import InputError, RunError
from pagemill._options import (
    AdvisePagerOptions,
    AdvisePatternOptions,
    AdviseProgramOptions,
    AdviseZeroOptions,
    ColorOptions,
    CompareOptions,
    CudaOptions,
    MpiOptions,
    PagerOptions,
    ZeroOptions,
)
from pagemill._result import Result

Words = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def command_path() -> str:
    """The command: that of ``PAGEMILL``, the one that was installed with this package, or the first of ``PATH``.

    Raises
    ------
    RunError
        There is none.
    """
    beside = Path(sysconfig.get_path("scripts")) / "pagemill"
    found = os.environ.get("PAGEMILL") or (str(beside) if beside.exists() else shutil.which("pagemill"))
    if not found:
        raise RunError(
            "there is no command `pagemill`, and a wheel that pip builds of the sources has none inside: build it with `cargo build --release`, "
            "and set PAGEMILL=target/release/pagemill (or install the wheel of a release)"
        )
    return found


def cuda(command: Words, **options: Unpack[CudaOptions]) -> Result:
    """Run an unmodified CUDA program on a simulated GPU.

    Parameters
    ----------
    command:
        The program and its arguments.
    options:
        Those of ``pagemill cuda``: ``mode="whole-page"``, ``machine="a100-pcie4-x86"``, ``oversubscribe=1.5``, ``check=True``; a list
        repeats an option.

    Returns
    -------
    Result
        As ``pagemill cuda --out`` writes it. What the program prints is printed.

    Raises
    ------
    InputError
        An option or a file is wrong.
    RunError
        The program did not end well; the message is what was written to standard error.
    """
    return _run_program(["cuda"], options, command)


def mpi(command: Words, **options: Unpack[MpiOptions]) -> Result:
    """Run an MPI program over the simulated network interface: ``pagemill.mpi(["mpirun", "-n", "2", "./program"], machine="pni")``.

    Parameters, results and errors are those of `cuda`, with the options of ``pagemill mpi``.
    """
    return _run_program(["mpi"], options, command)


def pager(command: Words, *, memory: str, to: str, **options: Unpack[PagerOptions]) -> Result:
    """Run a program with a budget of memory: ``pagemill.pager(["./program"], memory="2 GiB", to="compressed")``.

    Parameters, results and errors are those of `cuda`, with the options of ``pagemill pager run``.
    """
    return _run_program(["pager", "run"], {"memory": _checks.text("memory", memory, '"2 GiB"').replace(" ", ""), "to": to, **options}, command)


def zero(command: Words, **options: Unpack[ZeroOptions]) -> str:
    """Run a program whose large memory is the pool's; what it printed. Options are those of ``pagemill zero run``; a program that does not
    end well, or an option that is wrong, is a RunError."""
    return _printed(["zero", "run"], options, command)


def color(command: Words, **options: Unpack[ColorOptions]) -> str:
    """Run a program whose heap has cache colors of its own; what it printed. Options are those of ``pagemill color run``; errors are those of
    `zero`."""
    return _printed(["color", "run"], options, command)


@overload
def advise(question: Literal["program"], about: Words, **options: Unpack[AdviseProgramOptions]) -> Result: ...
@overload
def advise(question: Literal["pattern"], about: Words, **options: Unpack[AdvisePatternOptions]) -> Result: ...
@overload
def advise(question: Literal["pager"], about: Words, **options: Unpack[AdvisePagerOptions]) -> Result: ...
@overload
def advise(question: Literal["zero"], about: Words, **options: Unpack[AdviseZeroOptions]) -> Result: ...
def advise(question: str, about: Words, **options: object) -> Result:
    """Ask for advice: ``pagemill.advise("pattern", "grid-stride", factor=1.5, machine="a100-pcie4-x86")``.

    Parameters
    ----------
    question:
        ``program``, ``pager`` or ``zero``, about a program and its arguments; ``pattern``, about an access pattern.
    about:
        The program or pattern.
    options:
        Those of ``pagemill advise`` for the question.

    Returns
    -------
    Result
        As ``pagemill advise program --format json`` prints it.

    Raises
    ------
    InputError, RunError
        As `cuda`.
    """
    about = _words(about)
    if question in ("program", "pager", "zero"):
        about = ["--", *about]
    return Result(_native.results(_call(["advise", question, *_flags(options), "--format", "json", *about])))


def compare(
    first: Result | str | os.PathLike[str], second: Result | str | os.PathLike[str], **options: Unpack[CompareOptions]
) -> Result:
    """Compare two results, or files of results, with the error of each point: the first over the second, minus one.

    Options are those of ``pagemill report compare``; errors are those of `cuda`.
    """
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for number, given in enumerate((first, second)):
            if isinstance(given, Result):
                file = Path(folder) / f"{number}.json"
                file.write_text(given.to_json(), encoding="utf-8")
                files.append(str(file))
            else:
                files.append(os.fspath(given))
        return Result(_native.results(_call(["report", "compare", *_flags(options), "--format", "json", *files])))


def load(path: str | os.PathLike[str]) -> Result:
    """The results of a ``results.json``, or of a folder that holds one."""
    file = Path(path)
    file = file / "results.json" if file.is_dir() else file
    return Result(_native.results(file.read_text(encoding="utf-8")))


def _run_program(words: list[str], options: Mapping[str, object], program: Words) -> Result:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out"
        finished = _finished([*words, *_flags(options), "--out", str(out), "--", *_words(program)])
        sys.stdout.write(finished.stdout)
        # Where there are results, the exit code is the program's own.
        _check(finished, RunError if out.exists() else InputError)
        return load(out)


def _printed(words: list[str], options: Mapping[str, object], program: Words) -> str:
    finished = _finished([*words, *_flags(options), "--", *_words(program)])
    _check(finished, RunError)
    return finished.stdout


def _call(words: list[str]) -> str:
    """What the command printed."""
    finished = _finished(words)
    _check(finished, InputError)
    return finished.stdout


def _finished(words: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run([command_path(), *words], capture_output=True, text=True, check=False)


def _check(finished: subprocess.CompletedProcess[str], of_code_2: type[Exception]) -> None:
    """Raises what an exit code means."""
    if finished.returncode != 0:
        raise (of_code_2 if finished.returncode == 2 else RunError)(finished.stderr.strip())


def _flags(options: Mapping[str, object]) -> list[str]:
    """``--name value`` for each option: True is the name alone, a list repeats it, None and False leave it out."""
    flags = []
    for name, given in options.items():
        for value in given if isinstance(given, list | tuple) else [given]:
            if value is None or value is False:
                continue
            flags.append(f"--{name.replace('_', '-')}" + ("" if value is True else f"={value}"))
    return flags


def _words(command: Words) -> list[str]:
    if isinstance(command, str | os.PathLike):
        return [os.fspath(command)]
    return [_checks.path("command", word, '["./program", "8"]') for word in _checks.listed("command", command, "words")]
