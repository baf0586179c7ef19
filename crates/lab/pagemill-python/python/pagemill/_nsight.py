"""Profiles of Nsight Systems (``nsys export --type sqlite``): events of unified memory, in the order of time.

Tables and columns: NVIDIA, Nsight Systems User Guide, "SQLite Schema Reference". Kinds of copies, causes and memory kinds have the
numbers of CUPTI's activity API. Newer versions add a version to a table's name: ``..._V2``.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from pagemill import _native
from pagemill._native import InputError
from pagemill._result import Result

KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
COPIES = "CUPTI_ACTIVITY_KIND_MEMCPY"
GPU_FAULTS = "CUDA_UM_GPU_PAGE_FAULT_EVENTS"
CPU_FAULTS = "CUDA_UM_CPU_PAGE_FAULT_EVENTS"
ALLOCATIONS = "CUDA_GPU_MEMORY_USAGE_EVENTS"

#: What an export may have recorded, in words, and the option that has it recorded.
RECORDED = {
    KERNELS: ("kernels", "--trace=cuda"),
    COPIES: ("transfers", "--trace=cuda"),
    GPU_FAULTS: ("faults of the GPU", "--cuda-um-gpu-page-faults=true"),
    CPU_FAULTS: ("faults of the CPU", "--cuda-um-cpu-page-faults=true"),
    ALLOCATIONS: ("allocations", "--cuda-memory-usage=true"),
}

TO_GPU, TO_CPU, BETWEEN_GPUS = 11, 12, 13

#: What an export calls kinds of copies, memory and operations, where it says. Causes are not checked.
NUMBERS = (
    ("ENUM_CUDA_MEMCPY_OPER", TO_GPU, "UVM_HTOD"),
    ("ENUM_CUDA_MEMCPY_OPER", TO_CPU, "UVM_DTOH"),
    ("ENUM_CUDA_MEMCPY_OPER", BETWEEN_GPUS, "UVM_DTOD"),
    ("ENUM_CUDA_MEM_KIND", 4, "MANAGED"),
    ("ENUM_CUDA_MEM_KIND", 6, "MANAGED_STATIC"),
    ("ENUM_CUDA_DEV_MEM_EVENT_OPER", 0, "OPR_ALLOCATION"),
    ("ENUM_CUDA_DEV_MEM_EVENT_OPER", 1, "OPR_DEALLOCATION"),
)

#: No address and no size is larger: virtual addresses have 57 bits.
ADDRESS_MAX = 1 << 57
#: Nothing that moves at once is larger: 1 TiB.
MOVED_MAX = 1 << 40
#: No time is later: 104 days.
TIME_MAX_NS = 1 << 53
#: No row counts more faults.
FAULTS_MAX = 1 << 32

#: Kind, start, end, address, amount, cause and name.
Event = tuple[str, int, int, int, int, int, str | None]


class Source(NamedTuple):
    """Rows of a table that are events of one kind, and the columns that stand for end, address, amount, cause and name."""

    kind: str
    table: str
    condition: str
    end: str = "start"
    address: str = "0"
    amount: str = "0"
    cause: str = "0"
    name: str = "NULL"
    amount_max: int = 0
    has_device: bool = True


_UNIFIED = f"copyKind IN ({TO_GPU}, {TO_CPU}, {BETWEEN_GPUS})"
_MANAGED = "memKind IN (4, 6) AND memoryOperationType ="
#: In the order of events of one time.
SOURCES = (
    Source(
        "allocated", ALLOCATIONS, f"{_MANAGED} 0", "start", "address", "bytes", name="name", amount_max=ADDRESS_MAX, has_device=False
    ),
    Source("kernel", KERNELS, "1", '"end"', name="demangledName"),
    Source("gpu fault", GPU_FAULTS, "1", '"end"', "address", "numberOfPageFaults", amount_max=FAULTS_MAX),
    Source("cpu fault", CPU_FAULTS, "1", "start", "address", has_device=False),
    Source("moved", COPIES, _UNIFIED, '"end"', "virtualAddress", "bytes", "migrationCause", "copyKind", MOVED_MAX),
    Source("copied", COPIES, f"NOT {_UNIFIED}", '"end"'),
    Source("freed", ALLOCATIONS, f"{_MANAGED} 1", "start", "address", "bytes", name="name", amount_max=ADDRESS_MAX, has_device=False),
)


class Key(NamedTuple):
    """A number by which rows belong to one of several."""

    column: str
    value: str
    what: str
    option: str


PROCESS = Key("globalPid", "(globalPid >> 24) & 16777215", "processes", "process")
DEVICE = Key("deviceId", "deviceId", "GPUs", "device")


def nsight(export: str | os.PathLike[str], *, process: int | None = None, device: int | None = None) -> Result:
    """Rows and page map of a profile: an export of Nsight Systems (``nsys export --type sqlite``).

    Profile with ``nsys profile --cuda-um-gpu-page-faults=true --cuda-um-cpu-page-faults=true --cuda-memory-usage=true ./program``.

    Parameters
    ----------
    export:
        The SQLite file.
    process, device:
        The process and the GPU, where the export has several.

    Returns
    -------
    Result
        The program, its kernels, and the 50 allocations that most bytes moved of; with a page map.

    Raises
    ------
    InputError
        It is no such export, or has a table or a row that cannot be read exactly.
    """
    path = Path(export)
    try:
        if path.is_dir():
            raise InputError("it is a folder: name the SQLite file")
        path.open("rb").close()
        with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            # The text of a name may be of any encoding.
            connection.text_factory = lambda text: text.decode("utf-8", "replace")
            return Result(_Export(connection, process, device).results(os.fspath(path)))
    except InputError as error:
        raise InputError(f"cannot read {path}: {error}") from None
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from None
    except (sqlite3.Error, OverflowError, UnicodeError) as error:
        raise InputError(f"cannot read {path}: {error}{_step(error)}") from None


class _Export:
    """An export whose tables are there, and the process and GPU whose events are read."""

    def __init__(self, connection: sqlite3.Connection, process: int | None, device: int | None) -> None:
        self._connection = connection
        self._names = [name for (name,) in self._rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        self._sources = [source._replace(table=name) for source in SOURCES if (name := self._find(source.table))]
        self._recorded = {table: self._find(table) is not None for table in RECORDED}
        for source in self._sources:
            self._check_columns(source)
        if not self._recorded[KERNELS] and not self._recorded[COPIES]:
            raise InputError(
                f"it has neither {KERNELS} nor {COPIES}: an export of Nsight Systems with CUDA's activity has; make one with `nsys profile "
                "--cuda-um-gpu-page-faults=true --cuda-um-cpu-page-faults=true --cuda-memory-usage=true ./program` and "
                "`nsys export --type sqlite`"
            )
        self._check_numbers()
        self._chosen = [(key, self._choose(key, asked)) for key, asked in ((PROCESS, process), (DEVICE, device))]
        self._query = " UNION ALL ".join(self._part(order, source) for order, source in enumerate(self._sources)) + " ORDER BY 2, 1"

    def results(self, path: str) -> _native.ResultSet:
        missing = [f"{what} (profile with {option})" for table, (what, option) in RECORDED.items() if not self._recorded[table]]
        warnings = [f"not recorded, or there were none: {', '.join(missing)}"] if missing else []
        title = f"Profile of {self._gpu_name() or 'a GPU'}"
        return _native.profiled(path, "Nsight Systems", title, list(self._recorded.values()), warnings, self._events)

    def _rows(self, text: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        return iter(self._connection.execute(text, values))

    def _find(self, table: str) -> str | None:
        """What the export calls a table, in whichever version; None if it is not there."""
        filled, empty = [], None
        for name in self._names:
            rest = name[len(table) :]
            if name[: len(table)].upper() != table.upper() or not re.match(r"$|[_Vv\d]", rest):
                continue
            is_known = re.fullmatch(r"(_[Vv][0-9]+)?", rest)
            if any(self._rows(f"SELECT 1 FROM {_quoted(name)} LIMIT 1")):
                if not is_known:
                    raise InputError(f"its table {name} is not known, only {table} and its versions (_V2, _V3, ...): its rows would be missing")
                filled.append(name)
            elif is_known:
                empty = name
        if len(filled) > 1:
            raise InputError(
                f"it has {' and '.join(filled)} with rows in each, which may count twice: export it again with one version of Nsight Systems"
            )
        return filled[0] if filled else empty

    def _columns(self, table: str) -> set[str]:
        return {name for (name,) in self._rows("SELECT name FROM pragma_table_info(?)", table)}

    def _check_columns(self, source: Source) -> None:
        """Refuses a table without a column that is needed."""
        there = self._columns(source.table)
        needed = [source.end.strip('"'), source.address, source.amount, source.cause, source.name, "start"]
        for name in needed:
            # The name of a variable came later than the table.
            if name not in ("0", "NULL", "name", *there):
                raise InputError(f"its table {source.table} has no column {name}: export it again with Nsight Systems 2021.5 or later")

    def _check_numbers(self) -> None:
        """Refuses an export whose numbers mean something else; one lists what it needs."""
        for wanted, number, name in NUMBERS:
            if not (table := self._find(wanted)):
                continue
            for (found,) in self._rows(f"SELECT name FROM {_quoted(table)} WHERE id = ?", number):
                if not str(found).endswith(name):
                    raise InputError(
                        f"its table {table} calls {number} {found}, and pagemill takes it for {name}: this version of Nsight Systems is not "
                        "known"
                    )

    def _is_of(self, key: Key, source: Source) -> bool:
        return (source.has_device or key is not DEVICE) and key.column in self._columns(source.table)

    def _choose(self, key: Key, asked: int | None) -> int | None:
        """The one that was asked for, or the only one there is; None where rows do not say."""
        found: set[int] = set()
        for source in (source for source in self._sources if self._is_of(key, source)):
            condition = f"{source.condition} AND {key.column} IS NOT NULL"
            numbers = self._rows(f"SELECT DISTINCT {key.value} FROM {_quoted(source.table)} WHERE {condition}")
            found.update(_number(f"a {key.column} of {source.table}", number, (1 << 32) - 1) for (number,) in numbers)
        listed = ", ".join(map(str, sorted(found)))
        if asked is not None and asked not in found:
            raise InputError(f"{key.option}={asked}: the export has no events of it, only of {key.what} {listed}")
        if asked is None and len(found) > 1:
            raise InputError(f"it has events of several {key.what}: choose one with {key.option}= ({listed})")
        return asked if asked is not None else next(iter(found), None)

    def _part(self, order: int, source: Source) -> str:
        """The query of a source's rows: order, start, end, address, amount, cause, name, row."""
        there = self._columns(source.table)
        name = source.name if source.name != "name" or "name" in there else "NULL"
        if name == "demangledName":
            if not (strings := self._find("StringIds")):
                raise InputError("it has kernels and no table StringIds, which names them")
            number = "coalesce(mangledName, demangledName)" if "mangledName" in there else name
            name = f"(SELECT value FROM {_quoted(strings)} WHERE id = {number})"
        kept = [f"{key.value} = {number}" for key, number in self._chosen if number is not None and self._is_of(key, source)]
        columns = f"{order}, start, {source.end}, {source.address}, {source.amount}, {source.cause}, {name}, rowid"
        return f"SELECT {columns} FROM {_quoted(source.table)} WHERE {' AND '.join([source.condition, *kept])}"

    def _gpu_name(self) -> str | None:
        """The table is newer than others and says nothing that is needed."""
        with contextlib.suppress(sqlite3.Error, InputError):
            if table := self._find("TARGET_INFO_GPU"):
                for (name,) in self._rows(f"SELECT name FROM {_quoted(table)} WHERE id = ?", self._chosen[1][1]):
                    return name if isinstance(name, str) else None
        return None

    def _events(self) -> Iterator[Event]:
        for order, *fields, row in self._rows(self._query):
            source = self._sources[order]
            try:
                yield _event(source, *fields)
            except InputError as error:
                raise InputError(f"row {row} of {source.table}: {error}") from None


def _event(source: Source, start: object, end: object, address: object, amount: object, cause: object, name: object) -> Event:
    start_ns, end_ns = _number("start", start, TIME_MAX_NS), _number("end", end, TIME_MAX_NS)
    if end_ns < start_ns:
        raise InputError(f"it ends at {end_ns} ns, before it starts at {start_ns} ns")
    place = _number("the address", address, ADDRESS_MAX)
    count = _number("numberOfPageFaults" if source.kind == "gpu fault" else "the number of bytes", amount, source.amount_max)
    kind, why = source.kind, 0
    if kind == "moved":
        if name not in (TO_GPU, TO_CPU):
            raise InputError("pages moved between GPUs, and a page map has one GPU")
        if cause is not None and cause not in range(6):
            raise InputError("its migrationCause is unknown")
        kind, name, why = ("to gpu" if name == TO_GPU else "to cpu"), None, int(str(cause or 0))
    if kind == "kernel" and name is None:
        raise InputError("StringIds has no name for it")
    if name is not None and not isinstance(name, str):
        raise InputError(f"its name is {_shown(name)}")
    return kind, start_ns, end_ns, place, count, why, name or None


def _number(what: str, value: object, most: int) -> int:
    if isinstance(value, int) and 0 <= value <= most:
        return value
    raise InputError(f"{what} is {_shown(value)}")


def _shown(value: object) -> str:
    if value is None:
        return "missing"
    return "no number" if isinstance(value, bytes) else f'"{value}"' if isinstance(value, str) else str(value)


def _quoted(name: str) -> str:
    """A name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def _step(error: Exception) -> str:
    """What to do about a file that SQLite cannot read."""
    return {
        "SQLITE_NOTADB": ": it is no SQLite file, or a damaged one; of a report of Nsight Systems, make one with `nsys export --type sqlite "
        "-o program.sqlite program.nsys-rep`",
        "SQLITE_CORRUPT": ": it is damaged or cut short; copy it again, or export it again with `nsys export --type sqlite`",
    }.get(getattr(error, "sqlite_errorname", ""), "")
