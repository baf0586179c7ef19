"""Python values as TOML text: the same keys that scenario and machine files have."""

from __future__ import annotations

import json
import math
import numbers
import re
from collections.abc import Mapping
from typing import Any

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+\Z")
_DOTTED_KEY = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+\Z")


def value(item: Any) -> str:
    """`item` as a TOML value on one line. Raises TypeError for what TOML cannot say."""
    if isinstance(item, bool) or type(item).__name__ in ("bool_", "bool"):
        return "true" if item else "false"
    if isinstance(item, str):
        return _string(item)
    if isinstance(item, numbers.Integral):
        return str(int(item))
    if isinstance(item, numbers.Real):
        return _float(float(item))
    if isinstance(item, Mapping):
        return "{ " + ", ".join(f"{_key(name)} = {value(inner)}" for name, inner in item.items()) + " }"
    if isinstance(item, (list, tuple, range)) or hasattr(item, "tolist"):
        items = item.tolist() if hasattr(item, "tolist") else item
        return "[" + ", ".join(value(inner) for inner in items) + "]"
    raise TypeError(f"{item!r} is a {type(item).__name__}: a scenario holds text, numbers, flags, lists and dicts")


def document(table: Mapping[str, Any]) -> str:
    """`table` as a TOML file, a key a line."""
    return "".join(f"{_key(name)} = {value(item)}\n" for name, item in table.items())


def _key(name: str) -> str:
    return name if _BARE_KEY.match(name) else _string(name)


def _string(text: str) -> str:
    # JSON escapes are TOML escapes, but for DEL, which TOML wants escaped.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def _float(number: float) -> str:
    if math.isfinite(number):
        return repr(number)
    return "nan" if math.isnan(number) else ("inf" if number > 0 else "-inf")


def nested(table: Mapping[str, Any]) -> dict[str, Any]:
    """`table` with dotted keys opened: ``{"a.b": 1}`` is ``{"a": {"b": 1}}``. Keys of ``sweep`` stay as they are."""
    opened: dict[str, Any] = {}
    for name, item in table.items():
        inner = dict(item) if name == "sweep" else nested(item) if isinstance(item, Mapping) else item
        path = name.split(".") if _DOTTED_KEY.match(name) else [name]
        place = opened
        for part in path[:-1]:
            place = place.setdefault(part, {})
            if not isinstance(place, dict):
                raise TypeError(f"{name}: {part} is given as a value and as a table")
        last = path[-1]
        if isinstance(place.get(last), dict) and isinstance(inner, dict):
            place[last].update(inner)
        else:
            place[last] = inner
    return opened
