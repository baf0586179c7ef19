"""Memory with fewer frames than bytes, and NumPy arrays of it. Python 3.9 or later; NumPy for `Pager.empty` and `Pager.memmap` only.

    from pagemill_pager import Pager

    pager = Pager(2 << 30, to="/var/tmp")               # 2 GiB of frames; the rest in a folder, or "compressed"
    a = pager.empty((100_000, 10_000), numpy.float32)   # zeros; its memory ends with the last reference to it
    m = pager.memmap("data.bin", numpy.float32, "r+")   # a file; only units of 4 KiB that changed are written back
    pager.count("fetched_units")                        # units of 4 KiB that came back

The library is $PAGEMILL_PAGER_LIBRARY, else libpagemill_pager_c.so of the package. A child of `os.fork` has no such memory: it ends at
a touch. Linux 6.8 and the right to answer page faults are needed; `pagemill doctor` says whether they are there.
"""

import atexit
import ctypes
import functools
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
        ("map_file", ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64]),
        ("flush", ctypes.c_int, [ctypes.c_void_p, ctypes.c_void_p]),
        ("unmap", ctypes.c_int, [ctypes.c_void_p, ctypes.c_void_p]),
        ("count", ctypes.c_uint64, [ctypes.c_void_p, ctypes.c_char_p]),
        ("close", None, [ctypes.c_void_p]),
        ("error", ctypes.c_char_p, []),
    ]:
        function = getattr(library, "pagemill_pager_" + name)
        function.restype, function.argtypes = result, arguments
    return library


def _checked(library, result):
    if result:
        raise PagerError(library.pagemill_pager_error().decode())


def _unmap(library, handle, address):
    _checked(library, library.pagemill_pager_unmap(handle, address))


class _Memory:
    """Paged memory, which keeps its pager. `__array_interface__` is what NumPy makes an array of."""

    def __init__(self, pager, address):
        self._pager = pager
        self.address = address
        if not address:
            raise PagerError(pager._library.pagemill_pager_error().decode())
        unmap = weakref.finalize(self, _unmap, pager._library, pager._handle, address)
        # The process takes it along.
        unmap.atexit = False

    @classmethod
    def of_zeros(cls, pager, size):
        return cls(pager, pager._library.pagemill_pager_map(pager._handle, size))

    def describe(self, shape, kind, order="C", is_read_only=False):
        """What NumPy asks for."""
        strides = [kind.itemsize]
        for length in shape[1:][::-1] if order == "C" else shape[:-1]:
            strides.append(strides[-1] * length)
        self.__array_interface__ = {
            "version": 3,
            "shape": shape,
            "typestr": kind.str,
            "descr": kind.descr,
            "data": (self.address, is_read_only),
            "strides": tuple(strides[::-1] if order == "C" else strides)[: len(shape)],
        }


# Memory of files whose changes are to be written before the process ends.
_files = weakref.WeakSet()


class _FileMemory(_Memory):
    """Paged memory that has the bytes of a file."""

    def __init__(self, pager, path, mode, offset, size):
        library = pager._library
        address = library.pagemill_pager_map_file(pager._handle, os.fsencode(path), mode.encode(), offset, size)
        super().__init__(pager, address)
        self._process = os.getpid()
        _files.add(self)

    def flush(self):
        library = self._pager._library
        _checked(library, library.pagemill_pager_flush(self._pager._handle, self.address))


@atexit.register
def _flush_files():
    # A child of `os.fork` has none of the memory.
    for memory in [memory for memory in _files if memory._process == os.getpid()]:
        memory.flush()


@functools.cache
def _memmap_type():
    import numpy

    class memmap(numpy.ndarray):
        """An array whose bytes are those of a file, with the attributes of `numpy.memmap`."""

        filename = offset = mode = _memory = None

        def __array_finalize__(self, source):
            # Copies and results have memory of their own.
            if isinstance(source, memmap) and numpy.may_share_memory(self, source):
                self.filename, self.offset, self.mode = source.filename, source.offset, source.mode
                self._memory = source._memory

        def __array_wrap__(self, array, context=None, return_scalar=False):
            if array is self:
                return array
            return array[()] if return_scalar or not array.ndim else numpy.asarray(array)

        def __getitem__(self, index):
            found = super().__getitem__(index)
            is_copy = isinstance(found, memmap) and found._memory is None
            return found.view(numpy.ndarray) if is_copy else found

        def flush(self):
            """Writes what changed to the file, and returns once it is on the disk."""
            if self._memory is not None:
                self._memory.flush()

    return memmap


def _sizes(shape):
    return (int(shape),) if hasattr(shape, "__index__") else tuple(int(length) for length in shape)


def _whole_file(path, offset, item_size):
    """The length of an array of all that a file has behind `offset`."""
    size = os.stat(path).st_size - offset
    if size <= 0:
        raise ValueError(f"{path} has {size + offset} bytes, none behind offset {offset}: give a smaller offset, or a shape")
    if size % item_size:
        raise ValueError(f"{path} has {size} bytes behind offset {offset}, which is no multiple of {item_size}: give a shape, or another dtype")
    return (size // item_size,)


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
        memory = _Memory.of_zeros(self, size)
        data = (ctypes.c_char * size).from_address(memory.address)
        data._memory = memory
        return memoryview(data).cast("B")

    def empty(self, shape, dtype=float):
        """A NumPy array of zeros."""
        import numpy

        kind = numpy.dtype(dtype)
        if kind.hasobject:
            raise TypeError("an array of Python objects cannot be paged")
        sizes = _sizes(shape)
        memory = _Memory.of_zeros(self, max(1, math.prod(sizes) * kind.itemsize))
        memory.describe(sizes, kind)
        return numpy.asarray(memory)

    def memmap(self, filename, dtype="uint8", mode="r+", offset=0, shape=None, order="C"):
        """A NumPy array of the bytes of a file, with the arguments of `numpy.memmap`.

        Its pages count among the frames of this pager. With "r+" and "w+", units of 4 KiB that changed are written to the file when they
        leave their frames, by `flush()`, with the last reference, and at the end of the process; a process that is killed leaves each
        unit of the file old or new. With "c", changes end with the array; with "r", there can be none. A file that is shortened meanwhile,
        or cannot be written when a unit leaves, stops the process with a message. Do not pass paged arrays to system calls on the file itself."""
        import numpy

        mode = {"readonly": "r", "copyonwrite": "c", "readwrite": "r+", "write": "w+"}.get(mode, mode)
        kind = numpy.dtype(dtype)
        if kind.hasobject:
            raise TypeError("an array of Python objects cannot be paged")
        if order not in ("C", "F"):
            raise ValueError(f"there is no order {order!r}: use \"C\" or \"F\"")
        if offset < 0:
            raise ValueError(f"offset {offset} is before the start of {filename}: use 0 or more")
        if shape is None and mode == "w+":
            raise ValueError("mode \"w+\" needs a shape")
        path = os.path.abspath(filename)
        sizes = _whole_file(path, offset, kind.itemsize) if shape is None else _sizes(shape)
        memory = _FileMemory(self, path, mode, offset, math.prod(sizes) * kind.itemsize)
        memory.describe(sizes, kind, order, is_read_only=mode == "r")
        array = numpy.asarray(memory).view(_memmap_type())
        array.filename, array.offset, array.mode, array._memory = path, offset, mode, memory
        return array

    def count(self, name):
        """A counter by its name in results, such as `read_faults`, `fetched_units` or `resident_units`."""
        count = self._library.pagemill_pager_count(self._handle, name.encode())
        if count == NO_COUNT:
            raise PagerError(self._library.pagemill_pager_error().decode())
        return count
