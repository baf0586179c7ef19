"""Miss-ratio curves."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from pagemill import _checks, _native
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
    sizes = {"cache_bytes": cache_bytes, "ways": ways, "line_bytes": line_bytes, "page_bytes": page_bytes, "sample": sample}
    for name, size in {**sizes, "access_bytes": access_bytes}.items():
        _checks.whole(name, size, most=(1 << 64) - 1 if name.endswith("e_bytes") else (1 << 32) - 1)
    path = os.fspath(trace) if isinstance(trace, (str, os.PathLike)) else None
    addresses = _addresses(trace) if path is None else None
    return Result(
        _native.mrc(path, addresses, cache_bytes, ways, line_bytes, page_bytes, sample, access_bytes, stack_distance)
    )


def _addresses(trace: Any) -> bytes:
    array = np.asarray(trace)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(
            f"trace is an array of shape {array.shape} and type {array.dtype}: a one-dimensional array of integers is needed"
        )
    if (array < 0).any():
        first = int(np.argmax(array < 0))
        raise ValueError(f"trace[{first}] is {array[first]}: addresses are at least 0")
    return array.astype("<u8").tobytes()
