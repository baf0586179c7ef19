"""Memory and arrays of the Python client. Ends with 77 where this user may not answer page faults, with 78 without NumPy."""

import gc
import os
import random
import subprocess
import sys
import tempfile

from pagemill_pager import Pager, PagerError

try:
    pager = Pager(1 << 20)
except PagerError as error:
    sys.exit(77 if "answer page faults" in str(error) else f"{error}")

view = pager.memory(4 << 20)
assert not any(view[::4096])
view[:] = bytes(range(256)) * (4 << 12)
part = view[256:512]
del view
gc.collect()
assert bytes(part) == bytes(range(256)) and pager.count("mapped_bytes") == 4 << 20
del part
gc.collect()
assert pager.count("mapped_bytes") == 0 and pager.count("fetched_units") > 0

for wrong, word in [
    (lambda: Pager(4096), "too few"),
    (lambda: Pager(1 << 20, "/none/such"), "/none/such"),
    (lambda: pager.count("none"), "none"),
    (lambda: pager.memory(1 << 60), "map"),
]:
    try:
        wrong()
    except PagerError as error:
        assert word in str(error), error
    else:
        raise AssertionError(word)

try:
    import numpy as np
except ImportError:
    sys.exit(78)

expected = np.random.default_rng(5).integers(0, 1 << 40, (700, 700))
paged = pager.empty(expected.shape, expected.dtype)
assert paged.shape == expected.shape and not paged.any()
paged[:] = expected
paged.sort()
expected.sort()
assert (paged == expected).all() and pager.count("resident_units_max") <= 256
for dtype in ["?", "i1", ">f8", "c16", "S7", [("a", "i4"), ("b", "f8")]]:
    zeros = pager.empty(1000, dtype)
    assert zeros.dtype == np.dtype(dtype) and (zeros == np.zeros(1000, dtype)).all()
del paged, zeros
gc.collect()
assert pager.count("mapped_bytes") == 0
# An array keeps its pager.
alone = Pager(1 << 20).empty(1 << 18, np.int64)[5:]
gc.collect()
alone[:] = 3
assert alone.sum() == 3 * len(alone)

own = Pager(1 << 20, in_thread=True)
array = own.empty(1 << 19, np.int64)
array[:] = np.arange(1 << 19)
assert array[::-1].sum() == (1 << 18) * ((1 << 19) - 1) and own.count("fetched_units") > 0


def indices(shape, order):
    """A random part of an array."""
    parts = []
    for length in shape:
        start = order.randrange(length)
        parts.append(slice(start, order.randrange(start, length) + 1, order.choice([1, 1, 3])))
    return tuple(parts)


def compare(pager, folder, seed):
    """Random operations on a mapped file of this pager and on one of NumPy's."""
    order = random.Random(seed)
    kind = np.dtype(order.choice(["u1", "<i4", ">f8", "c16", [("a", "u1"), ("b", "<i8")]]))
    shape = order.choice([(200_000,), (1, 5), (300, 700), (40, 1, 90, 30), (7, 7, 7), ()])
    offset = order.choice([0, 128, 4096, 5000])
    layout = order.choice("CF")
    paths = [os.path.join(folder, f"{seed}-{which}") for which in ("ours", "numpys")]
    mode = order.choice(["r", "r+", "w+", "c"])
    for path in paths:
        with open(path, "wb") as file:
            file.write(random.Random(seed).randbytes(offset + kind.itemsize * int(np.prod(shape))))
    ours = pager.memmap(paths[0], kind, mode, offset, shape, layout)
    theirs = np.memmap(paths[1], kind, mode, offset, shape, layout)
    assert type(ours[(0,) * len(shape)]) is type(theirs[(0,) * len(shape)])
    assert (ours.shape, ours.strides, ours.dtype, ours.flags.writeable) == (theirs.shape, theirs.strides, theirs.dtype, theirs.flags.writeable)
    assert (ours.mode, ours.offset, [ours.filename]) == (theirs.mode, theirs.offset, paths[:1])
    for _ in range(60):
        part = indices(shape, order)
        what = order.randrange(5)
        if what < 3 and mode != "r":
            value = np.frombuffer(order.randbytes(kind.itemsize), kind)[0]
            ours[part] = theirs[part] = value
        elif what == 3:
            ours.flush()
            theirs.flush()
            assert open(paths[0], "rb").read() == open(paths[1], "rb").read(), (seed, mode)
        else:
            assert ours[part].tobytes() == theirs[part].tobytes(), (seed, mode)
    assert ours.tobytes() == theirs.tobytes()
    view = ours[...] if order.random() < 0.5 else None
    del ours, theirs
    gc.collect()
    if view is not None:
        view.flush()
        del view
        gc.collect()
    assert open(paths[0], "rb").read() == open(paths[1], "rb").read(), (seed, mode)


with tempfile.TemporaryDirectory() as folder:
    for one in (pager, own):
        for seed in range(15):
            compare(one, folder, seed)
    assert pager.count("mapped_bytes") == 0
    path = os.path.join(folder, "data")
    with open(path, "wb") as file:
        file.write(bytes(1000))
    for wrong, error, word in [
        (lambda: pager.memmap(path, "i4", "r", shape=251), PagerError, "has 1000 bytes, and 1004 are to be mapped"),
        (lambda: pager.memmap(path, "i8", "r", offset=1), ValueError, "999 bytes behind offset 1, which is no multiple of 8"),
        (lambda: pager.memmap(path, "i8", "r", offset=1000), ValueError, "none behind offset 1000"),
        (lambda: pager.memmap(path, "O", "r"), TypeError, "objects"),
        (lambda: pager.memmap(path, "u1", "w+"), ValueError, "needs a shape"),
        (lambda: pager.memmap(path, "u1", "a"), PagerError, "no mode"),
        (lambda: pager.memmap(path, "u1", "w+", shape=1 << 60), PagerError, path),
        (lambda: pager.memmap(path + "x", "u1", "r", shape=5), PagerError, path + "x"),
        (lambda: pager.memmap(path, "u1", "r+", shape=(5, 0)), PagerError, "0 bytes"),
    ]:
        try:
            wrong()
        except error as raised:
            assert word in str(raised), raised
        else:
            raise AssertionError(word)
    longer = pager.memmap(path, "i8", "r+", shape=(1000,))
    longer[999] = 5
    longer.flush()
    assert os.path.getsize(path) == 8000 and np.fromfile(path, "i8")[999] == 5
    total = longer.sum()
    assert total == 5 and type(total) is np.int64 and type(longer + 1) is np.ndarray
    # A child leaves the memory of its parent alone; what changed is written before a process ends.
    program = """
import os, sys
from pagemill_pager import Pager
array = Pager(1 << 20).memmap(sys.argv[1], "i8", "r+")
array[7] = 7
child = os.fork()
if not child:
    sys.exit(3)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
array[8] = 8
"""
    subprocess.run([sys.executable, "-c", program, path], check=True)
    assert list(np.fromfile(path, "i8")[7:9]) == [7, 8]
    del longer
