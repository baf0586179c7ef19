"""Memory and arrays of the Python client. Ends with 77 where this user may not answer page faults."""

import gc
import sys

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
    sys.exit(0)

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
