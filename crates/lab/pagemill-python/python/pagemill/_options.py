"""The options of the commands that Python calls, by name and type: those of ``pagemill COMMAND --help``, with ``_`` for ``-``.

A flag is True, an option that may be repeated takes a list, None leaves it out. What a value may be is said by the command's help, and an
error names it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypedDict

Text = str | None
Number = float | None
Count = int | None
Flag = bool | None
File = str | os.PathLike[str] | None
#: Once, or several times.
Texts = str | Sequence[str] | None
#: Bytes, or a text with a unit such as ``"16GiB"``.
Size = str | int | None


class CudaOptions(TypedDict, total=False):
    """Options of ``pagemill cuda``, for a CUDA program."""

    machine: Text
    mode: Text
    set: Texts
    oversubscribe: Number
    gpu_memory: Size
    managed: Flag
    functional: Flag
    threads: Count
    check: Flag
    detail: Text
    verbose: Flag
    hints: File


class MpiOptions(TypedDict, total=False):
    """Options of ``pagemill mpi``, for an MPI program."""

    machine: Text
    report: Flag
    ranks_per_node: Count
    node_latency: Number
    clock: Text
    compute: Text
    cpu_factor: Number
    instruction_ps: Count
    compute_out: File
    timeline: File
    patience: Number
    set: Texts


class PagerOptions(TypedDict, total=False):
    """Options of ``pagemill pager run``, for a program with a budget of memory, beside ``memory`` and ``to``."""

    limit: Size
    page_size: Size
    policy: Text
    gap_threshold: Size
    growth: Text
    read_ahead: Text
    eviction: Text
    handlers: Text
    when_store_fails: Text
    no_verify: Flag
    least: Size
    tenant: Text
    token_file: File
    trust_network: Flag
    record: File
    library: File


class ZeroOptions(TypedDict, total=False):
    """Options of ``pagemill zero run``, for a program on clean huge pages."""

    socket: File
    library: File
    source: Text


#: Options of ``pagemill color run``, for a program in cache colors of its own.
ColorOptions = TypedDict(
    "ColorOptions",
    {"colors": Text, "class": Text, "curve": File, "when_empty": Text, "backend": Text, "socket": File, "library": File},
    total=False,
)


class AdviseProgramOptions(TypedDict, total=False):
    """Options of ``pagemill advise program``, for the memory hints of a CUDA program."""

    machine: Text
    mode: Text
    oversubscribe: Number
    gpu_memory: Size
    managed: Flag
    set: Texts
    runs: Count
    ignore_lines: Texts
    apply: Flag
    hints: File
    on: Text
    gpu_runs: Count
    machines: Text
    factors: Text
    bearable: Number
    seed: Count
    out: File


class AdvisePatternOptions(TypedDict, total=False):
    """Options of ``pagemill advise pattern``, for places for data of a pattern."""

    factor: Number
    machine: Text
    reuse: Count
    variant: Text
    strategy: Text
    stripe: Size
    seed: Count
    full: Flag
    out: File


class AdvisePagerOptions(TypedDict, total=False):
    """Options of ``pagemill advise pager``, for settings of the pager."""

    memory: Text
    machine: Text
    store: Text
    folder: File
    record_memory: Size
    data: Text
    checks: Count
    runs: Count
    library: File
    out: File


class AdviseZeroOptions(TypedDict, total=False):
    """Options of ``pagemill advise zero``, for kinds of pages."""

    runs: Count
    reserve: Flag
    pages: Count
    socket: File
    library: File


class CompareOptions(TypedDict, total=False):
    """Options of ``pagemill report compare``, for a comparison."""

    metric: Texts
    ignore: Texts
