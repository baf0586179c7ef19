"""Figures of results with matplotlib: what the report draws, for papers and notebooks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Rows = Sequence[Mapping[str, Any]]
Plot = Mapping[str, Any]

_PANEL_INCHES = (7.0, 3.6)
_UNITS = {"time_ns": "ns", "bytes": "B", "bytes_per_second": "B/s"}


def draw(plot: Plot, rows: Rows, columns: Mapping[str, Mapping[str, str]]) -> Figure:
    """One figure, with a panel for each value of ``panel_by``."""
    from matplotlib.figure import Figure

    shown = [row for row in rows if all(row.get(name) == value for name, value in plot["only"].items())]
    by = plot["panel_by"]
    panels = _distinct(shown, by) if by else [None]
    width, height = _PANEL_INCHES
    figure = Figure(figsize=(width, height * max(len(panels), 1)), layout="constrained")
    for number, panel in enumerate(panels, 1):
        axes = figure.add_subplot(len(panels), 1, number)
        part = [row for row in shown if by is None or row.get(by) == panel]
        _FORMS[plot["form"]](axes, plot, part, columns)
        axes.set_title(plot["title"] if by is None else f"{plot['title']}, {by} = {panel}", fontsize="medium")
    return figure


def _distinct(rows: Rows, name: str) -> list[Any]:
    return list(dict.fromkeys(row.get(name) for row in rows))


def _means(rows: Rows, keys: Sequence[str], metric: str) -> dict[tuple[Any, ...], float]:
    """The metric by the keys; rows that share all keys are averaged."""
    values: dict[tuple[Any, ...], list[float]] = {}
    for row in rows:
        number = row.get(metric)
        if isinstance(number, (int, float)) and not isinstance(number, bool) and math.isfinite(number):
            values.setdefault(tuple(row.get(key) for key in keys), []).append(float(number))
    return {key: sum(numbers) / len(numbers) for key, numbers in values.items()}


def _label(axes_title: str, metric: str, columns: Mapping[str, Mapping[str, str]]) -> str:
    if axes_title:
        return axes_title
    unit = _UNITS.get(columns.get(metric, {}).get("kind", ""), "")
    return f"{metric} ({unit})" if unit else metric


def _bars(axes: Axes, plot: Plot, rows: Rows, columns: Mapping[str, Mapping[str, str]]) -> None:
    groups, series = _distinct(rows, plot["x"]), _distinct(rows, plot["series"])
    heights = _means(rows, (plot["x"], plot["series"]), plot["y"])
    base = plot["normalise_to"]
    width = 0.8 / max(len(series), 1)
    for place, name in enumerate(series):
        values = []
        for group in groups:
            value = heights.get((group, name), math.nan)
            if base is not None:
                below = heights.get((group, base), math.nan)
                value = value / below if below else math.nan
            values.append(value)
        axes.bar([index + (place + 0.5) * width - 0.4 for index in range(len(groups))], values, width, label=str(name))
    axes.set_xticks(range(len(groups)), [str(group) for group in groups])
    _finish(axes, plot, columns)


def _lines(axes: Axes, plot: Plot, rows: Rows, columns: Mapping[str, Mapping[str, str]]) -> None:
    heights = _means(rows, (plot["x"], plot["series"]), plot["y"])
    places = _distinct(rows, plot["x"])
    is_number = all(isinstance(place, (int, float)) for place in places)
    if is_number:
        places.sort()
    for name in _distinct(rows, plot["series"]):
        points = [(place, heights[place, name]) for place in places if (place, name) in heights]
        base = dict(points).get(plot["normalise_to"]) if plot["normalise_to"] is not None else 1.0
        if not base:
            continue
        xs = [place if is_number else places.index(place) for place, _ in points]
        axes.plot(xs, [value / base for _, value in points], marker="o", markersize=4, label=str(name))
    if not is_number:
        axes.set_xticks(range(len(places)), [str(place) for place in places])
    elif plot["log2_x"] and all(place > 0 for place in places):
        axes.set_xscale("log", base=2)
    _finish(axes, plot, columns)


def _stacked(axes: Axes, plot: Plot, rows: Rows, columns: Mapping[str, Mapping[str, str]]) -> None:
    groups = _distinct(rows, plot["x"])
    parts = {label: _means(rows, (plot["x"],), metric) for metric, label in plot["parts"]}
    bottom = [0.0] * len(groups)
    sums = [sum(values.get((group,), 0.0) for values in parts.values()) for group in groups]
    for label, values in parts.items():
        heights = [values.get((group,), 0.0) for group in groups]
        if plot["as_shares"]:
            heights = [height / whole if whole else 0.0 for height, whole in zip(heights, sums)]
        axes.bar([str(group) for group in groups], heights, bottom=bottom, label=label)
        bottom = [low + height for low, height in zip(bottom, heights)]
    axes.set_xlabel(plot["x_title"] or plot["x"])
    axes.set_ylabel(plot["y_title"])
    axes.legend(fontsize="small")


def _heat(axes: Axes, plot: Plot, rows: Rows, columns: Mapping[str, Mapping[str, str]]) -> None:
    from matplotlib.colors import LogNorm

    across, down = _distinct(rows, plot["x"]), _distinct(rows, plot["y"])
    values = _means(rows, (plot["x"], plot["y"]), plot["value"])
    grid = [[values.get((x, y), math.nan) for x in across] for y in down]
    image = axes.imshow(grid, aspect="auto", norm=LogNorm() if plot["log"] else None)
    axes.set_xticks(range(len(across)), [str(x) for x in across])
    axes.set_yticks(range(len(down)), [str(y) for y in down])
    axes.set_xlabel(plot["x_title"] or plot["x"])
    axes.set_ylabel(plot["y_title"] or plot["y"])
    axes.figure.colorbar(image, ax=axes, label=_label("", plot["value"], columns))


def _finish(axes: Axes, plot: Plot, columns: Mapping[str, Mapping[str, str]]) -> None:
    if plot["log"] and any(line > 0 for line in axes.dataLim.intervaly):
        axes.set_yscale("log")
    axes.set_xlabel(plot["x_title"] or plot["x"])
    axes.set_ylabel(_label(plot["y_title"], plot["y"], columns))
    axes.grid(axis="y", alpha=0.3)
    axes.legend(fontsize="small")


_FORMS: dict[str, Callable[[Any, Plot, Rows, Any], None]] = {
    "bars": _bars,
    "lines": _lines,
    "stacked": _stacked,
    "heat": _heat,
}
