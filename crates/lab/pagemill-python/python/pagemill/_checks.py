"""Arguments that Python would take, and that no caller means."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np


def is_whole(given: Any) -> bool:
    """Whether it is a whole number; True and False are none."""
    return isinstance(given, (int, np.integer)) and not isinstance(given, bool)


def whole(name: str, given: Any, least: int = 1, most: int = (1 << 32) - 1) -> int:
    """`given` where it is a whole number from `least` to `most`; otherwise TypeError or ValueError with the argument's name."""
    if not is_whole(given):
        raise TypeError(f"{name}={given!r} is a {type(given).__name__}: a whole number is needed")
    if not least <= given <= most:
        raise ValueError(f"{name}={given!r}: a whole number from {least} to {most} is needed")
    return int(given)


def whole_or_none(name: str, given: Any) -> int | None:
    """As `whole`, where None stands for a number that pagemill chooses."""
    return None if given is None else whole(name, given)


def listed(name: str, given: Any, what: str) -> list[Any]:
    """The elements of `given`, which is no text or dict: letters and keys are no elements."""
    if isinstance(given, (str, bytes, bytearray, Mapping)) or not isinstance(given, Iterable):
        raise TypeError(f"{name}={given!r} is a {type(given).__name__}: a list of {what} is needed")
    return list(given)


def text(name: str, given: Any, example: str) -> str:
    """`given` where it is text; otherwise TypeError with an example."""
    if not isinstance(given, str):
        raise TypeError(f"{name}={given!r} is a {type(given).__name__}: text is needed, such as {example}")
    return given


def path(name: str, given: Any, example: str) -> str:
    """The path that `given` is; otherwise TypeError with an example."""
    return text(name, os.fspath(given) if isinstance(given, os.PathLike) else given, example)
