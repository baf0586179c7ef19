"""Policies that are written in Python."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, ClassVar

from pagemill._native import Around, Ranges

Range = tuple[int, int]


class Policy:
    """What all policies have. What a method raises ends the run, and so does an answer of the wrong type (TypeError) or one that
    breaks the contract (ValueError); the error names the class and the method."""

    _decides: ClassVar[str]

    name: str
    """The policy's name in scenarios and results: lower case words with dashes."""


class MigrationPolicy(Policy):
    """Decides which bytes of a page move to the GPU when it asks for some that are not there (``transfer.mode``).

    Subclasses set `name` and write `plan`.
    """

    _decides = "migration"

    range_limit: int | None = None
    """The most valid ranges a page ever holds under this policy; None for no limit."""

    looks_around: bool = False
    """Whether `plan` has a fourth argument, `around`. An answer that does not look around is remembered for the same arguments, so
    that most requests do not go through the interpreter; one that looks is asked for at each."""

    neighbors: int = 4
    """Pages on each side of the page that ``around.valid_bytes`` shows."""

    tracks_faults: bool = False
    """Whether ``around`` shows faults: ``fault_count``, ``page_fault_count``, ``recent_faults``."""

    def build(self, spec: dict[str, Any]) -> MigrationPolicy:
        """The policy for pages of one size: `spec` holds page_bytes, unit_bytes, gap_threshold_bytes and range_slots
        (None for no limit). Called once for each point, maybe from several threads."""
        return self

    def plan(self, page_bytes: int, valid: Sequence[Range], request: Range, *around: Around) -> list[Range]:
        """The ranges that move so that `request` becomes valid.

        Ranges are pairs (start, end) of bytes in the page. `valid` are those in GPU memory, ascending; `missing` finds its way in
        them without a look at each. `request` is on
        unit boundaries and misses at least one byte. The answer is ascending, disjoint, on unit boundaries, holds no
        byte that is valid already, and all of the request that is missing. It depends on the arguments alone.
        """
        raise NotImplementedError

    @staticmethod
    def missing(valid: Sequence[Range], wanted: Range) -> list[Range]:
        """The parts of `wanted` that are not in `valid`."""
        if isinstance(valid, Ranges):
            return valid.missing(wanted)
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


class GrowthPolicy(Policy):
    """Decides what else moves with faulted pages in their block of 2 MiB, under a driver (``machine.policy.growth``).

    Subclasses set `name` and write `grow`. It is asked once for all faults of a block in a batch. A set of the block's 512 pages of
    4 KiB is an int: bit n stands for page n.
    """

    _decides = "growth"

    neighbors: int = 4
    """Blocks on each side of the block that ``around.valid_bytes`` shows."""

    tracks_faults: bool = False
    """Whether ``around`` shows faults: ``fault_count``, ``page_fault_count``, ``recent_faults``."""

    def build(self, density_percent: int) -> GrowthPolicy:
        """The policy of one point, whose ``machine.policy.density_percent`` it is given; a copy of this object, unless written
        otherwise. Called from several threads."""
        return copy.deepcopy(self)

    def grow(self, resident: int, faulted: int, barred: int, around: Around) -> int:
        """The pages to bring, as a set. `resident` are in GPU memory, `faulted` come in any case, `barred` never come."""
        raise NotImplementedError

    @staticmethod
    def pages(start: int, end: int) -> int:
        """The set of the pages from `start` up to `end`."""
        return (1 << end) - (1 << start)


class PrefetchPolicy(Policy):
    """Decides which blocks of 2 MiB come whole after the faults in a block were served, under a driver
    (``machine.policy.prefetch``).

    Subclasses set `name` and write `blocks`.
    """

    _decides = "prefetch"

    neighbors: int = 4
    """Blocks on each side of the served one that ``around.valid_bytes`` shows."""

    tracks_faults: bool = False
    """Whether ``around`` shows faults: ``fault_count``, ``page_fault_count``, ``recent_faults``."""

    def build(self) -> PrefetchPolicy:
        """The policy of one point: a copy of this object, unless written otherwise. Called from several threads."""
        return copy.deepcopy(self)

    def blocks(self, around: Around) -> list[int]:
        """Numbers of blocks in ``around.allocation`` that are to come; those in GPU memory already are left out. ``around.page`` is
        the served block."""
        raise NotImplementedError


class EvictionPolicy(Policy):
    """Decides what leaves a full GPU memory: pages, or blocks of 2 MiB under a driver (``machine.gmmu.eviction``,
    ``machine.policy.eviction``).

    Subclasses set `name` and write `noted` and `victim`. Accesses do not go through the interpreter: all that happened since the last
    question is handed over in one list before the next.
    """

    _decides = "eviction"

    tracks_use: bool = False
    """Whether `noted` gets uses. A driver in software does not see them."""

    def build(self) -> EvictionPolicy:
        """The policy of one point, whose memory is empty: a copy of this object, unless written otherwise. Called from several threads."""
        return copy.deepcopy(self)

    def noted(self, events: list[tuple[str, int]]) -> None:
        """What happened since the last question, in order, as pairs of a word and the page: ``came`` (it holds GPU memory now),
        ``brought`` (more of it came), ``used`` (only with `tracks_use`; the last of several uses stands for all), ``left``."""

    def victim(self, keep: int | None) -> int | Sequence[int]:
        """The page that leaves, or several: the first makes room, the others leave with it. Each is in GPU memory. `keep`, if it is
        there, is the page that needs the room, and stays."""
        raise NotImplementedError
