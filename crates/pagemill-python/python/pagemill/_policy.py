"""Migration policies that are written in Python."""

from __future__ import annotations

from typing import Any

Range = tuple[int, int]


class MigrationPolicy:
    """Decides which bytes of a page move to the GPU when it asks for some that are not there.

    Subclasses set `name` and write `plan`. An answer that breaks the contract stops the run with a ValueError; what
    `plan` raises stops it too. Slow, as each decision goes through the interpreter: for trying an idea.
    """

    name: str
    """Name of the policy in results: lower case words with dashes."""

    range_limit: int | None = None
    """The most valid ranges a page ever holds under this policy; None for no limit."""

    def build(self, spec: dict[str, Any]) -> MigrationPolicy:
        """The policy for pages of one size: `spec` holds page_bytes, unit_bytes, gap_threshold_bytes and range_slots
        (None for no limit). Called once for each point, maybe from several threads."""
        return self

    def plan(self, page_bytes: int, valid: list[Range], request: Range) -> list[Range]:
        """The ranges that move so that `request` becomes valid.

        Ranges are pairs (start, end) of bytes in the page. `valid` are those in GPU memory, ascending. `request` is on
        unit boundaries and misses at least one byte. The answer is ascending, disjoint, on unit boundaries, holds no
        byte that is valid already, and all of the request that is missing. It depends on the arguments alone.
        """
        raise NotImplementedError

    @staticmethod
    def missing(valid: list[Range], wanted: Range) -> list[Range]:
        """The parts of `wanted` that are not in `valid`."""
        at, end = wanted
        parts = []
        for start, stop in valid:
            if stop <= at or start >= end:
                continue
            if start > at:
                parts.append((at, start))
            at = stop
        if at < end:
            parts.append((at, end))
        return parts
