"""Results: rows with named columns, and what is made of them."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pagemill import _checks, _native

if TYPE_CHECKING:
    import matplotlib.figure
    import pandas
    import pyarrow

_NOTEBOOK_ROWS = 60
_FRAME_PX = 900


class Result:
    """What a run found: a row for each point of the sweep, parameters first, then metrics.

    The unit of a column is part of its name (``time_ns``, ``migrated_bytes``); `columns` describes each.
    """

    def __init__(self, native: _native.ResultSet) -> None:
        self._native = native
        self._rows: list[dict[str, Any]] | None = None

    @property
    def name(self) -> str:
        """Name of the scenario."""
        return self._native.scenario

    @property
    def title(self) -> str:
        """Its title."""
        return self._native.title

    @property
    def seed(self) -> int:
        """Seed of all randomness."""
        return self._native.seed

    @property
    def columns(self) -> list[dict[str, str]]:
        """Name, role (parameter or metric), kind, unit and meaning of each column."""
        return self._native.columns()

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The rows as dicts, in the order of the sweep; None where a row has no such value."""
        if self._rows is None:
            self._rows = self._native.rows()
        return self._rows

    @property
    def claims(self) -> list[dict[str, Any]]:
        """Published statements: what was published, what was measured here, and whether it holds."""
        return self._native.claims()

    @property
    def facts(self) -> dict[str, Any]:
        """Figures about the whole run, by name."""
        return self._native.facts()

    @property
    def figures(self) -> list[str]:
        """Names of the figures that `plot` can draw."""
        return [plot["id"] for plot in self._native.plots()]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows)

    def __getitem__(self, column: str) -> list[Any]:
        """The values of one column. Raises KeyError with the names there are."""
        names = [entry["name"] for entry in self.columns]
        if column not in names:
            raise KeyError(f"no column {column!r}: there are {', '.join(names)}")
        return [row[column] for row in self.rows]

    def to_pandas(self) -> pandas.DataFrame:
        """The rows as a data frame, with a column for each of `columns`. ``attrs`` hold name, title, seed and units."""
        import pandas

        frame = pandas.DataFrame(self.rows, columns=[entry["name"] for entry in self.columns])
        frame.attrs = {
            "scenario": self.name,
            "title": self.title,
            "seed": self.seed,
            "units": {entry["name"]: entry["unit"] for entry in self.columns},
        }
        return frame

    def to_arrow(self) -> pyarrow.Table:
        """The rows as an Arrow table. Whole numbers are uint64 or int64, others double; the fields' metadata say role, kind,
        unit and meaning."""
        import pyarrow
        import pyarrow.parquet

        table = pyarrow.parquet.read_table(pyarrow.BufferReader(self.to_parquet()))
        fields = [
            table.schema.field(index).with_metadata({key: entry[key] for key in ("role", "kind", "unit", "doc")})
            for index, entry in enumerate(self.columns)
        ]
        return table.cast(pyarrow.schema(fields, metadata={"scenario": self.name, "title": self.title}))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Arrow's C interface, by which polars, duckdb and others read the rows."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_parquet(self) -> bytes:
        """The rows as a Parquet file."""
        return self._native.parquet()

    def to_json(self) -> str:
        """The text of ``results.json``, byte for byte what the command writes."""
        return self._native.json()

    def to_dict(self) -> dict[str, Any]:
        """`to_json`, read."""
        read: dict[str, Any] = json.loads(self.to_json())
        return read

    def to_html(self) -> str:
        """The report: one page that needs nothing else."""
        return self._native.html()

    @property
    def page_maps(self) -> list[str]:
        """Titles of the page maps: one for each point that has pages, if it ran with ``pages=True``."""
        return self._native.map_titles()

    def pages(self, *titles: str) -> PageMaps:
        """Where every page was, and when: the page maps with these titles, or all. A notebook shows them.

        Raises ValueError if there is no such map.
        """
        return PageMaps(self, list(titles) or self.page_maps)

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write results.json, results.csv, results.parquet, report.html and, with page maps, pages.json to `directory`, all or
        nothing.

        Raises RunError if the directory holds anything but earlier results, or cannot be written.
        """
        self._native.save(os.fspath(directory))

    def plot(self, figure: str | None = None) -> matplotlib.figure.Figure:
        """Draw a figure of the result with matplotlib: the one called `figure`, or the first.

        Raises ValueError if there is no such figure.
        """
        from pagemill._plot import draw

        plots = self._native.plots()
        if not plots:
            raise ValueError(f"{self.name} has one row and nothing to draw: sweep something")
        named = [plot for plot in plots if figure is None or plot["id"] == figure]
        if not named:
            raise ValueError(f"no figure {figure!r}: there are {', '.join(self.figures)}")
        return draw(named[0], self.rows, {entry["name"]: entry for entry in self.columns})

    def __repr__(self) -> str:
        return self._native.table().rstrip()

    def _repr_html_(self) -> str:
        heads, rows = self._native.shown()
        side = ["right" if is_number else "left" for _, is_number in heads]

        def cells(tag: str, texts: Iterable[str]) -> str:
            return "".join(
                f'<{tag} style="text-align:{align}">{html.escape(text)}</{tag}>' for align, text in zip(side, texts)
            )

        body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows[:_NOTEBOOK_ROWS])
        more = len(rows) - _NOTEBOOK_ROWS
        rest = f"<p>{more} more rows</p>" if more > 0 else ""
        head = cells("th", [name for name, _ in heads])
        return f"<b>{html.escape(self.title)}</b><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}"


class PageMaps:
    """Page maps: address by time, colored by where the page was. Zoom with the wheel or ``+`` and ``-``, drag to pan."""

    def __init__(self, result: Result, titles: list[str]) -> None:
        known = result.page_maps
        if not known:
            raise ValueError(f"{result.name} kept no page maps: run it with pages=True, if its kind has pages that migrate")
        unknown = [title for title in titles if title not in known]
        if unknown:
            raise ValueError(f"no page map {unknown[0]!r}: there are {', '.join(known)}")
        self.titles = titles
        self._native = result._native

    def to_html(self) -> str:
        """The page that ``pagemill report pages`` opens: one page that needs nothing else."""
        return self._native.view(self.titles)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write `to_html` to the file `path`."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.to_html())

    def __repr__(self) -> str:
        return f"<pagemill.PageMaps {', '.join(self.titles)}>"

    def _repr_html_(self) -> str:
        # A frame of its own: the page's style and script stay apart from the notebook's.
        page = html.escape(self.to_html())
        return f'<iframe srcdoc="{page}" title="page maps" style="width:100%;height:{_FRAME_PX}px;border:0"></iframe>'


def concat(results: Iterable[Result]) -> Result:
    """The rows of several results as one, such as those of one program under several policies."""
    all_results = [results] if isinstance(results, Result) else _checks.listed("results", results, "results")
    if not all_results:
        raise ValueError("results is empty: concat needs at least one result")
    if other := [result for result in all_results if not isinstance(result, Result)]:
        raise TypeError(f"results holds {other[0]!r}, a {type(other[0]).__name__}: each has to be a Result")
    return Result(_native.ResultSet.concatenated([result._native for result in all_results]))
