"""Miss-ratio curves."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from pagemill import _native
from pagemill._result import Result


def mrc(
    trace: str | os.PathLike[str] | npt.ArrayLike,
    *,
    cache_bytes: int = 6 << 20,
    ways: int = 24,
    line_bytes: int = 64,
    page_bytes: int = 4096,
    sample: int = 1,
    access_bytes: int = 1,
    stack_distance: bool = False,
) -> Result:
    """The misses of a trace for every number of page colors of a shared cache, exact, as ``pagemill mrc`` shows them.

    Parameters
    ----------
    trace:
        The path of a trace (pagemill's format, valgrind's lackey, DynamoRIO's drcachesim), or a one-dimensional
        array of byte addresses, each of which is referenced for `access_bytes` bytes, by task 0.
    cache_bytes, ways, line_bytes, page_bytes:
        The cache: capacity, lines of a set, bytes of a line; and the page size.
    sample:
        Watch every n-th line of a page only.
    stack_distance:
        Also give the usual approximation by stack distances.

    Returns
    -------
    Result
        A row for each task and number of colors: ``colors``, ``cache_bytes``, ``references``, ``misses``, ``miss_ratio``.

    Raises ValueError for an impossible cache, RunError for a damaged trace. Ctrl-C stops it.
    """
    path = os.fspath(trace) if isinstance(trace, (str, os.PathLike)) else None
    addresses = _addresses(trace) if path is None else None
    return Result(
        _native.mrc(path, addresses, cache_bytes, ways, line_bytes, page_bytes, sample, access_bytes, stack_distance)
    )


def _addresses(trace: Any) -> bytes:
    array = np.asarray(trace)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(f"an array of shape {array.shape} and type {array.dtype}: a one-dimensional array of integers is needed")
    return array.astype("<u8").tobytes()
