"""Memory with fewer frames than bytes, and NumPy arrays of it. Python 3.9 or later; NumPy for `Pager.empty` only.

    from pagemill_pager import Pager

    pager = Pager(2 << 30, to="/var/tmp")               # 2 GiB of frames; the rest in a folder, or "compressed"
    a = pager.empty((100_000, 10_000), numpy.float32)   # zeros; its memory ends with the last reference to it
    pager.count("fetched_units")                        # units of 4 KiB that came back

The library is $PAGEMILL_PAGER_LIBRARY, else libpagemill_pager_c.so of the package. A child of `os.fork` has no such memory: it ends at
a touch. Linux 6.8 and the right to answer page faults are needed; `pagemill doctor` says whether they are there.
"""

import ctypes
import math
import os
import weakref

PACKAGED = "/usr/lib/pagemill/libpagemill_pager_c.so"
NO_COUNT = (1 << 64) - 1


class PagerError(Exception):
    """The pager could not do it; the message says why."""


def _load():
    path = os.environ.get("PAGEMILL_PAGER_LIBRARY", PACKAGED)
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise PagerError(f"{error}; name libpagemill_pager_c.so with PAGEMILL_PAGER_LIBRARY") from error
    for name, result, arguments in [
        ("open", ctypes.c_void_p, [ctypes.c_uint64, ctypes.c_char_p]),
        ("open_in_thread", ctypes.c_void_p, [ctypes.c_uint64, ctypes.c_char_p]),
        ("map", ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t]),
        ("unmap", ctypes.c_int, [ctypes.c_void_p, ctypes.c_void_p]),
        ("count", ctypes.c_uint64, [ctypes.c_void_p, ctypes.c_char_p]),
        ("close", None, [ctypes.c_void_p]),
        ("error", ctypes.c_char_p, []),
    ]:
        function = getattr(library, "pagemill_pager_" + name)
        function.restype, function.argtypes = result, arguments
    return library


class _Memory:
    """Paged memory, which keeps its pager. `__array_interface__` is what NumPy makes an array of."""

    def __init__(self, pager, size):
        self._pager = pager
        self.address = pager._library.pagemill_pager_map(pager._handle, size)
        if not self.address:
            raise PagerError(pager._library.pagemill_pager_error().decode())
        unmap = weakref.finalize(self, pager._library.pagemill_pager_unmap, pager._handle, self.address)
        # The process takes it along.
        unmap.atexit = False


class Pager:
    """`memory_bytes` of frames, for all memory of this pager together. `to` is "compressed", a folder, or "compressed:BYTES,FOLDER".

    With `in_thread`, each thread answers its own faults: about half the cost, and no privilege. System calls that touch such memory then
    fail with `EFAULT`: copy an array before `tofile`, `send` or `readinto`."""

    def __init__(self, memory_bytes, to="compressed", in_thread=False):
        self._library = _load()
        start = self._library.pagemill_pager_open_in_thread if in_thread else self._library.pagemill_pager_open
        self._handle = start(memory_bytes, os.fsencode(to))
        if not self._handle:
            raise PagerError(self._library.pagemill_pager_error().decode())
        close = weakref.finalize(self, self._library.pagemill_pager_close, self._handle)
        close.atexit = False

    def memory(self, size):
        """`size` bytes of zeros, as a writable memoryview. They end with the last reference to them."""
        memory = _Memory(self, size)
        data = (ctypes.c_char * size).from_address(memory.address)
        data._memory = memory
        return memoryview(data).cast("B")

    def empty(self, shape, dtype=float):
        """A NumPy array of zeros."""
        import numpy

        kind = numpy.dtype(dtype)
        if kind.hasobject:
            raise TypeError("an array of Python objects cannot be paged")
        sizes = (shape,) if isinstance(shape, int) else tuple(shape)
        memory = _Memory(self, max(1, math.prod(sizes) * kind.itemsize))
        memory.__array_interface__ = {
            "version": 3,
            "shape": sizes,
            "typestr": kind.str,
            "descr": kind.descr,
            "data": (memory.address, False),
        }
        return numpy.asarray(memory)

    def count(self, name):
        """A counter by its name in results, such as `read_faults`, `fetched_units` or `resident_units`."""
        count = self._library.pagemill_pager_count(self._handle, name.encode())
        if count == NO_COUNT:
            raise PagerError(self._library.pagemill_pager_error().decode())
        return count
