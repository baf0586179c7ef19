"""Figures of results with matplotlib: what the report draws, for papers and notebooks."""

from __future__ import annotations

import functools
import io
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

Rows = Sequence[Mapping[str, Any]]
Plot = Mapping[str, Any]

_PANEL_INCHES = (7.0, 3.6)
# Those of the HTML report.
_COLORS = ("#4477aa", "#ee6677", "#228833", "#b8941a", "#2fa3c9", "#aa3377", "#7f878f", "#d0721c")
_MARKERS = ("o", "s", "^", "D", "v", "P", "_", "|")
# Of each kind of number, the step from a unit to the next, and the units.
_UNITS = {
    "time_ns": (1000, ("ns", "µs", "ms", "s")),
    "bytes": (1024, ("B", "KiB", "MiB", "GiB", "TiB")),
    "bytes_per_second": (1000, ("B/s", "KB/s", "MB/s", "GB/s", "TB/s")),
}
_DPI = 110


def _png(figure: Any) -> bytes:
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=_DPI, bbox_inches="tight")
    return picture.getvalue()


@functools.cache
def _shown_figure() -> Any:
    """The class of figures that notebooks draw, whether or not they imported pyplot."""
    from matplotlib.figure import Figure

    return type("ShownFigure", (Figure,), {"_repr_png_": _png})


def draw(plot: Plot, rows: Rows, columns: Mapping[str, Mapping[str, str]]) -> Figure:
    """One figure, with a panel for each value of ``panel_by``."""
    shown = [row for row in rows if all(row.get(name) == value for name, value in plot["only"].items())]
    by = plot["panel_by"]
    panels = _distinct(shown, by) if by else [None]
    width, height = _PANEL_INCHES
    figure: Figure = _shown_figure()(figsize=(width, height * max(len(panels), 1)), layout="constrained")
    for number, panel in enumerate(panels, 1):
        axes = figure.add_subplot(len(panels), 1, number)
        part = [row for row in shown if by is None or row.get(by) == panel]
        _FORMS[plot["form"]](axes, plot, part, columns)
        where = "" if by is None else f", no {by}" if panel is None else f", {by} = {panel}"
        axes.set_title(plot["title"] + where, fontsize="medium")
    notes = _notes(plot, shown)
    if notes:
        figure.supxlabel(" ".join(notes), fontsize="small")
    return figure


def _notes(plot: Plot, rows: Rows) -> list[str]:
    """What the figure leaves out, and what it averages."""
    keys = [plot[key] for key in ("x", "series", "y" if plot["form"] == "heat" else "series") if plot.get(key)]
    keys = list(dict.fromkeys(keys))
    notes = []
    for key in keys:
        missing = sum(row.get(key) is None for row in rows)
        if missing:
            notes.append(f"Left out: {missing} of {len(rows)} rows, which have no {key}.")
    if plot["panel_by"]:
        keys.append(plot["panel_by"])
    counts: dict[tuple[Any, ...], int] = {}
    for row in rows:
        place = tuple(row.get(key) for key in keys)
        counts[place] = counts.get(place, 0) + 1
    most = max(counts.values(), default=0)
    if most > 1:
        notes.append(f"What is drawn is the mean of up to {most} rows.")
    return notes


def _distinct(rows: Rows, name: str) -> list[Any]:
    return list(dict.fromkeys(row.get(name) for row in rows))


def _known(rows: Rows, name: str) -> list[Any]:
    """The values of a key; rows without one have no place."""
    return [value for value in _distinct(rows, name) if value is not None]


def _means(rows: Rows, keys: Sequence[str], metric: str) -> dict[tuple[Any, ...], float]:
    """The metric by the keys; rows that share all keys are averaged."""
    values: dict[tuple[Any, ...], list[float]] = {}
    for row in rows:
        number = row.get(metric)
        if isinstance(number, (int, float)) and not isinstance(number, bool) and math.isfinite(number):
            values.setdefault(tuple(row.get(key) for key in keys), []).append(float(number))
    return {key: sum(numbers) / len(numbers) for key, numbers in values.items()}


def _kind(column: str, columns: Mapping[str, Mapping[str, str]]) -> str:
    return columns.get(column, {}).get("kind", "")


def _label(axes_title: str, metric: str, columns: Mapping[str, Mapping[str, str]]) -> str:
    """The title of an axis; its ticks have the units."""
    unit = _UNITS.get(_kind(metric, columns), (1, ("",)))[1][0]
    return axes_title or metric.removesuffix(f"_{unit}").removesuffix("_bytes").replace("_", " ")


def _tick(value: float, kind: str) -> str:
    """`value` with the unit that people use for so much."""
    if value == 0:
        return "0"
    step, units = _UNITS.get(kind, (1, ("",)))
    place = 0
    while place + 1 < len(units) and abs(value) >= step:
        value, place = value / step, place + 1
    text = f"{value:,.0f}" if 1000 <= abs(value) < 1e9 else f"{value:.4g}"
    return f"{text} {units[place]}".rstrip()


def _ticks(axis: Axis, kind: str) -> None:
    """Labels with units instead of powers; where a logarithmic axis spans few powers, more of them."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

    if axis.get_scale() == "log":
        low, high = axis.get_view_interval()
        span = math.log10(high / low)
        few = MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]) if span < 0.7 else LogLocator(subs=(1, 2, 5))
        if span < 2.5:
            axis.set_major_locator(few)
        axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(lambda value, _: _tick(value, kind))


def _bars(axes: Axes, plot: Plot, rows: Rows, columns: Mapping[str, Mapping[str, str]]) -> None:
    groups, series = _known(rows, plot["x"]), _known(rows, plot["series"])
    heights = _means(rows, (plot["x"], plot["series"]), plot["y"])
    base = plot["normalize_to"]
    width = 0.8 / max(len(series), 1)
    for place, name in enumerate(series):
        values = []
        for group in groups:
            value = heights.get((group, name), math.nan)
            if base is not None:
                below = heights.get((group, base), math.nan)
                value = value / below if below else math.nan
            values.append(value)
        places = [index + (place + 0.5) * width - 0.4 for index in range(len(groups))]
        color = _COLORS[place % len(_COLORS)]
        if plot["log"]:
            axes.plot(places, values, linestyle="none", marker=_MARKERS[place % len(_MARKERS)], color=color, label=str(name))
        else:
            axes.bar(places, values, width, color=color, label=str(name))
    # One group needs no name: the series are what is compared.
    axes.set_xticks(range(len(groups)), [str(group) for group in groups] if len(groups) > 1 else [""] * len(groups))
    _finish(axes, {**plot, "x_title": " "} if len(groups) == 1 else plot, columns)


def _lines(axes: Axes, plot: Plot, rows: Rows, columns: Mapping[str, Mapping[str, str]]) -> None:
    heights = _means(rows, (plot["x"], plot["series"]), plot["y"])
    places = _known(rows, plot["x"])
    is_number = all(isinstance(place, (int, float)) for place in places)
    if is_number:
        places.sort()
    for number, name in enumerate(_known(rows, plot["series"])):
        points = [(place, heights[place, name]) for place in places if (place, name) in heights]
        base = dict(points).get(plot["normalize_to"]) if plot["normalize_to"] is not None else 1.0
        if not base:
            continue
        xs = [place if is_number else places.index(place) for place, _ in points]
        ys = [value / base for _, value in points]
        color, marker = _COLORS[number % len(_COLORS)], _MARKERS[number % len(_MARKERS)]
        axes.plot(xs, ys, color=color, marker=marker, markersize=4, label=str(name))
    if not is_number:
        axes.set_xticks(range(len(places)), [str(place) for place in places])
    elif plot["log2_x"] and all(place > 0 for place in places):
        axes.set_xscale("log", base=2)
        axes.set_xticks(places[:: math.ceil(len(places) / 8)])
    if is_number:
        _ticks(axes.xaxis, _kind(plot["x"], columns))
    _finish(axes, plot, columns)


def _stacked(axes: Axes, plot: Plot, rows: Rows, columns: Mapping[str, Mapping[str, str]]) -> None:
    groups = _known(rows, plot["x"])
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
    _ticks(axes.yaxis, "" if plot["as_shares"] else _kind(plot["parts"][0][0], columns))
    axes.legend(fontsize="small")


def _heat(axes: Axes, plot: Plot, rows: Rows, columns: Mapping[str, Mapping[str, str]]) -> None:
    from matplotlib.colors import LogNorm

    across, down = _known(rows, plot["x"]), _known(rows, plot["y"])
    values = _means(rows, (plot["x"], plot["y"]), plot["value"])
    grid = [[values.get((x, y), math.nan) for x in across] for y in down]
    image = axes.imshow(grid, aspect="auto", norm=LogNorm() if plot["log"] else None)
    axes.set_xticks(range(len(across)), [str(x) for x in across])
    axes.set_yticks(range(len(down)), [str(y) for y in down])
    axes.set_xlabel(plot["x_title"] or plot["x"])
    axes.set_ylabel(plot["y_title"] or plot["y"])
    bar = axes.figure.colorbar(image, ax=axes, label=_label("", plot["value"], columns))
    _ticks(bar.ax.yaxis, _kind(plot["value"], columns))


def _finish(axes: Axes, plot: Plot, columns: Mapping[str, Mapping[str, str]]) -> None:
    if plot["log"] and any(line > 0 for line in axes.dataLim.intervaly):
        axes.set_yscale("log")
    _ticks(axes.yaxis, "" if plot["normalize_to"] is not None else _kind(plot["y"], columns))
    axes.set_xlabel(plot["x_title"] or plot["x"])
    axes.set_ylabel(_label(plot["y_title"], plot["y"], columns))
    axes.grid(axis="y", alpha=0.3)
    axes.legend(fontsize="small", loc="lower left", bbox_to_anchor=(0.0, 1.08), ncols=4, frameon=False)


_FORMS: dict[str, Callable[[Any, Plot, Rows, Any], None]] = {
    "bars": _bars,
    "lines": _lines,
    "stacked": _stacked,
    "heat": _heat,
}
