"""Miss-ratio curves of arrays, against a cache in ten lines."""

from collections import OrderedDict

import numpy as np
import pagemill
import pytest


def misses(addresses, colors, all_colors, ways, sets, line, page):
    """An LRU cache whose pages take the colors of a task in turn, as they are first touched."""
    lines_of_page = page // line
    cache = [OrderedDict() for _ in range(sets)]
    color_of, count = {}, 0
    for address in addresses:
        number = int(address) // page
        color = color_of.setdefault(number, len(color_of) % colors)
        index = color * lines_of_page + int(address) % page // line
        ways_of_set = cache[index]
        key = int(address) // line
        if key in ways_of_set:
            ways_of_set.move_to_end(key)
            continue
        count += 1
        ways_of_set[key] = None
        if len(ways_of_set) > ways:
            ways_of_set.popitem(last=False)
    return count


def test_curves_are_exact():
    rng = np.random.default_rng(3)
    addresses = rng.integers(0, 1 << 15, 4000)
    line, page, ways, colors = 64, 256, 2, 4
    sets = colors * page // line
    curve = pagemill.mrc(addresses, cache_bytes=sets * ways * line, ways=ways, line_bytes=line, page_bytes=page)
    assert curve["colors"] == [1, 2, 3, 4]
    assert curve["references"] == [4000] * 4
    expected = [misses(addresses, count, colors, ways, sets, line, page) for count in curve["colors"]]
    assert curve["misses"] == expected
    assert curve.plot("mrc").axes


def test_wrong_input_is_refused(tmp_path):
    with pytest.raises(ValueError, match="one-dimensional"):
        pagemill.mrc(np.zeros((2, 2), int))
    for name in ("cache_bytes", "ways", "line_bytes", "page_bytes", "sample", "access_bytes"):
        for size in (0, -1):
            with pytest.raises(ValueError, match=name):
                pagemill.mrc(np.zeros(4, int), **{name: size})
        with pytest.raises(TypeError, match=name):
            pagemill.mrc(np.zeros(4, int), **{name: "4"})
    for addresses in ([-1], [0, -(1 << 62)], np.array([5, -1], np.int8)):
        with pytest.raises(ValueError, match=r"trace\[[01]\] is -"):
            pagemill.mrc(addresses)
    with pytest.raises(OSError):
        pagemill.mrc(tmp_path / "nothing")
    with pytest.raises(pagemill.RunError, match="no reference"):
        pagemill.mrc(np.zeros(0, int))
    (tmp_path / "bad").write_bytes(b"\x00\x01\x02")
    with pytest.raises(pagemill.RunError):
        pagemill.mrc(str(tmp_path / "bad"))
