"""How far a run is: a bar in a terminal, a bar in Jupyter, or a function of the caller."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Report = Callable[[int, int], object]

_WIDTH = 30
_QUIET_SECONDS = 0.5


@contextmanager
def bar(progress: bool | Report | None, name: str) -> Iterator[Report | None]:
    """What to call with (done, all), or None where nothing is shown. Takes the bar away at the end."""
    if callable(progress):
        yield progress
        return
    display = _jupyter() if progress is not False else None
    if display is not None:
        yield _Notebook(display, name)
        return
    wanted = progress if progress is not None else _is_terminal()
    if not wanted:
        yield None
        return
    line = _Line(name)
    try:
        yield line
    finally:
        line.clear()


def _is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _jupyter() -> Any | None:
    """IPython's display functions, where this is a notebook."""
    shell = sys.modules.get("IPython")
    if shell is None or type(shell.get_ipython()).__name__ != "ZMQInteractiveShell":
        return None
    import IPython.display

    return IPython.display


class _Line:
    """A line on standard error, once a run is longer than a moment."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.start = time.monotonic()
        self.shown = ""

    def __call__(self, done: int, points: int) -> None:
        if time.monotonic() - self.start < _QUIET_SECONDS:
            return
        filled = _WIDTH * done // max(points, 1)
        line = f"{self.name} [{'#' * filled}{'.' * (_WIDTH - filled)}] {done}/{points} points"
        if line != self.shown:
            sys.stderr.write(f"\r{line}")
            sys.stderr.flush()
            self.shown = line

    def clear(self) -> None:
        if self.shown:
            sys.stderr.write("\r" + " " * len(self.shown) + "\r")
            sys.stderr.flush()


class _Notebook:
    """A bar in the output of the cell."""

    def __init__(self, display: Any, name: str) -> None:
        self.display = display
        self.name = name
        self.handle: Any | None = None
        self.shown = -1

    def __call__(self, done: int, points: int) -> None:
        if done == self.shown:
            return
        self.shown = done
        text = f"{done}/{points} points"
        html = self.display.HTML(f'<progress value="{done}" max="{points}">{text}</progress> {text}')
        if self.handle is None:
            self.handle = self.display.display(html, display_id=True)
        else:
            self.handle.update(html)
