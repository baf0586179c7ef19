"""Profiles of real GPUs, here made by hand in the tables that Nsight Systems documents."""

import contextlib
import json
import random
import sqlite3
from pathlib import Path

import pagemill
import pytest

PAGE, BLOCK = 4 << 10, 2 << 20
#: Where managed memory lies.
BASE = 0x7F00_0000_0000
MOVED = ("migrated_bytes", "repeated_bytes", "prefetched_bytes", "returned_bytes", "evicted_bytes")

TABLES = """
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, globalPid INTEGER,
    demangledName INTEGER NOT NULL, mangledName INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, globalPid INTEGER,
    bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, migrationCause INTEGER, virtualAddress INTEGER);
CREATE TABLE CUDA_UM_GPU_PAGE_FAULT_EVENTS (start INTEGER NOT NULL, end INTEGER NOT NULL, globalPid INTEGER NOT NULL,
    deviceId INTEGER NOT NULL, address INTEGER NOT NULL, numberOfPageFaults INTEGER NOT NULL);
CREATE TABLE CUDA_UM_CPU_PAGE_FAULT_EVENTS (start INTEGER NOT NULL, globalPid INTEGER NOT NULL, address INTEGER NOT NULL);
CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER NOT NULL, globalPid INTEGER NOT NULL, deviceId INTEGER NOT NULL,
    address INTEGER NOT NULL, bytes INTEGER NOT NULL, memKind INTEGER NOT NULL, memoryOperationType INTEGER NOT NULL, name TEXT);
CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER PRIMARY KEY, name TEXT, label TEXT);
INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (11, 'CUDA_MEMCPY_KIND_UVM_HTOD', ''), (12, 'CUDA_MEMCPY_KIND_UVM_DTOH', '');
INSERT INTO StringIds VALUES (1, 'scale(float*, int)'), (2, '_Z5scalePfi'), (3, 'plain');
INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA Test');
"""


class Export:
    """An export in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "export.sqlite"
        self.path.unlink(missing_ok=True)
        self.process = 4711 << 24
        self.sql(TABLES)

    def sql(self, text: str) -> "Export":
        with contextlib.closing(sqlite3.connect(self.path)) as connection:
            connection.executescript(text)
            connection.commit()
        return self

    def kernel(self, start: int, end: int, names: str) -> "Export":
        return self.sql(f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({start}, {end}, 0, {self.process}, {names})")

    def copy(self, start: int, end: int, kind: int, cause: int, address: int, size: int) -> "Export":
        values = f"{start}, {end}, 0, {self.process}, {size}, {kind}, {cause}, {address}"
        return self.sql(f"INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES ({values})")

    def memory(self, at: int, address: int, size: int, operation: int, name: str) -> "Export":
        values = f"{at}, {self.process}, 0, {address}, {size}, 4, {operation}, {name}"
        return self.sql(f"INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES ({values})")

    def thrashing(self) -> "Export":
        """A program whose data is twice what the GPU holds: the first half leaves for the second and comes again."""
        second = BASE + BLOCK
        self.memory(1000, BASE, 2 * BLOCK, 0, "'data'").memory(1000, BASE + 8 * BLOCK, 100, 0, "NULL")
        self.copy(1500, 1700, 1, 0, 0, 64).kernel(2000, 10_000, "1, 2")
        self.copy(2500, 3500, 11, 2, BASE, BLOCK).copy(4000, 5000, 12, 4, BASE, BLOCK)
        self.copy(4100, 5100, 11, 3, second, BLOCK).copy(6000, 7000, 11, 2, BASE, BLOCK)
        self.kernel(11_000, 12_000, "3, NULL").copy(13_000, 14_000, 12, 2, second, PAGE)
        self.copy(15_000, 16_000, 12, 2, BASE + 8 * BLOCK, PAGE).memory(20_000, BASE, 2 * BLOCK, 1, "'data'")
        return self.sql(
            f"INSERT INTO CUDA_UM_GPU_PAGE_FAULT_EVENTS VALUES (2400, 2450, {self.process}, 0, {BASE}, 7);"
            f"INSERT INTO CUDA_UM_CPU_PAGE_FAULT_EVENTS VALUES (12900, {self.process}, {second})"
        )

    def rows(self, **options: int) -> list[dict]:
        return pagemill.nsight(self.path, **options).rows

    def refused(self, **options: int) -> str:
        with pytest.raises(pagemill.InputError) as refused:
            pagemill.nsight(self.path, **options)
        return str(refused.value)


@pytest.fixture
def export(tmp_path: Path) -> Export:
    return Export(tmp_path)


def values(row: dict, names: tuple[str, ...]) -> list:
    return [row[name] for name in names]


def test_a_profile_becomes_rows_of_program_kernels_and_allocations(export: Export, tmp_path: Path) -> None:
    result = pagemill.nsight(export.thrashing().path)
    program, plain, scale, data, other = result.rows
    whole = ("table", "time_ns", "kernel_time_ns", "copy_time_ns", "launches", "migrations", "gpu_page_faults", "cpu_page_faults")
    assert values(program, whole) == ["program", 19_000, 9000, 200, 2, 3, 7, 1]
    assert values(program, MOVED) == [3 * BLOCK, BLOCK, BLOCK, BLOCK + 2 * PAGE, BLOCK]
    assert program["allocated_bytes"] == 2 * BLOCK + 100
    # Named as `pagemill cuda` names them.
    assert values(scale, ("kernel", "launches", "time_ns")) == ["scale", 1, 8000]
    assert values(scale, MOVED) == [3 * BLOCK, BLOCK, BLOCK, BLOCK, BLOCK]
    assert [plain["kernel"], *values(plain, MOVED)] == ["plain", 0, 0, 0, 0, 0]
    assert [data["allocation"], *values(data, MOVED)] == ["data", 3 * BLOCK, BLOCK, BLOCK, BLOCK + PAGE, BLOCK]
    assert [other["allocation"], *values(other, MOVED)] == ["managed #2", 0, 0, 0, PAGE, 0]
    result.save(tmp_path / "profile")
    page = (tmp_path / "profile" / "report.html").read_text(encoding="utf-8")
    assert "Profile of NVIDIA Test" in page and "the same numbers" not in page
    assert json.loads((tmp_path / "profile" / "pages.json").read_text(encoding="utf-8"))
    assert len(result.page_maps) == 1 and result.pages().to_html()


VERSIONED = (
    "StringIds",
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUDA_UM_GPU_PAGE_FAULT_EVENTS",
    "CUDA_UM_CPU_PAGE_FAULT_EVENTS",
    "CUDA_GPU_MEMORY_USAGE_EVENTS",
    "ENUM_CUDA_MEMCPY_OPER",
)


@pytest.mark.parametrize("suffix", ["_V2", "_v3", "_V17"])
def test_tables_of_any_version_are_read_alike(suffix: str, tmp_path: Path) -> None:
    plain = Export(tmp_path).thrashing().rows()
    for renamed in (*((table,) for table in VERSIONED), VERSIONED):
        versioned = Export(tmp_path).thrashing()
        versioned.sql(";".join(f"ALTER TABLE {table} RENAME TO {table}{suffix}" for table in renamed))
        assert versioned.rows() == plain, renamed


@pytest.mark.parametrize(
    ("suffix", "reason"),
    [
        ("_NEXT", "CUPTI_ACTIVITY_KIND_MEMCPY_NEXT is not known"),
        ("_V2", "CUPTI_ACTIVITY_KIND_MEMCPY and CUPTI_ACTIVITY_KIND_MEMCPY_V2 with rows"),
    ],
)
def test_a_table_that_may_hold_events_is_named_where_it_is_not_read(export: Export, suffix: str, reason: str) -> None:
    other = f"CUPTI_ACTIVITY_KIND_MEMCPY{suffix}"
    export.copy(1, 2, 11, 2, BASE, BLOCK).sql(f"CREATE TABLE {other} AS SELECT * FROM CUPTI_ACTIVITY_KIND_MEMCPY")
    assert reason in export.refused()
    # Without rows it takes nothing away.
    assert export.sql(f"DELETE FROM {other}").rows()


@pytest.mark.parametrize(
    ("table", "word", "column"),
    [
        ("CUDA_UM_GPU_PAGE_FAULT_EVENTS", "--cuda-um-gpu-page-faults=true", "gpu_page_faults"),
        ("CUDA_UM_CPU_PAGE_FAULT_EVENTS", "--cuda-um-cpu-page-faults=true", "cpu_page_faults"),
        ("CUDA_GPU_MEMORY_USAGE_EVENTS", "--cuda-memory-usage=true", "allocated_bytes"),
        ("CUPTI_ACTIVITY_KIND_MEMCPY", "transfers", "migrated_bytes"),
        ("CUPTI_ACTIVITY_KIND_KERNEL", "kernels", "launches"),
    ],
)
def test_what_was_not_recorded_has_no_value(export: Export, table: str, word: str, column: str) -> None:
    whole = pagemill.nsight(export.thrashing().path)
    assert '"warnings"' not in whole.to_json() and whole.rows[0][column] is not None
    part = pagemill.nsight(export.sql(f"DROP TABLE {table}").path)
    assert part.rows[0][column] is None
    warnings = " ".join(part.to_dict()["summary"]["warnings"])
    assert "not recorded" in warnings and word in warnings


def test_parts_by_cause_have_no_value_where_a_cause_was_not_recorded(export: Export) -> None:
    export.copy(1, 2, 11, 3, BASE, BLOCK).copy(3, 4, 11, 0, BASE + BLOCK, BLOCK).copy(5, 6, 12, 4, BASE, BLOCK)
    program = export.rows()[0]
    assert values(program, ("prefetched_bytes", "migrated_bytes", "evicted_bytes")) == [None, 2 * BLOCK, BLOCK]


def test_a_file_that_is_no_export_says_what_to_do(export: Export, tmp_path: Path) -> None:
    whole = export.thrashing().path.read_bytes()
    cut = whole[: len(whole) // 2] + b"\xa5" * (len(whole) // 2)
    for content, step in ((b"no database", "nsys export --type sqlite -o"), (b"", "nsys profile"), (cut, "export it again")):
        export.path.write_bytes(content)
        assert step in export.refused()
    for path, reason in ((tmp_path, "name the SQLite file"), (tmp_path / "missing.sqlite", "No such file")):
        with pytest.raises(pagemill.InputError, match=reason):
            pagemill.nsight(path)


def test_memory_of_unknown_allocations_is_called_by_its_address(export: Export) -> None:
    for number, block in enumerate((0, 1, 4)):
        export.copy(1 + 2 * number, 2 + 2 * number, 11, 2, BASE + block * BLOCK, BLOCK)
    for table in ("CUDA_GPU_MEMORY_USAGE_EVENTS", "CUDA_UM_GPU_PAGE_FAULT_EVENTS", "CUPTI_ACTIVITY_KIND_KERNEL"):
        export.sql(f"DROP TABLE {table}")
    names = [row["allocation"] for row in export.rows() if row["allocation"]]
    assert names == ["memory at 0x7f0000000000", "memory at 0x7f0000800000"]


def test_one_of_several_processes_is_chosen(export: Export) -> None:
    export.copy(1, 2, 11, 2, BASE, BLOCK)
    export.process = 99 << 24
    export.copy(1, 2, 11, 2, BASE, 3 * PAGE)
    assert "process= (99, 4711)" in export.refused()
    assert export.rows(process=99)[0]["migrated_bytes"] == 3 * PAGE
    assert "99, 4711" in export.refused(process=5)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("UPDATE C SET virtualAddress = NULL", "row 1 of CUPTI_ACTIVITY_KIND_MEMCPY: the address is missing"),
        ("UPDATE C SET bytes = 'many'", 'the number of bytes is "many"'),
        ("UPDATE C SET bytes = 5", "no whole pages"),
        ("UPDATE C SET bytes = 1 << 60", "the number of bytes is 1152921504606846976"),
        ("UPDATE C SET end = 0", "it ends at 0 ns, before it starts at 1 ns"),
        ("UPDATE C SET copyKind = 13", "between GPUs"),
        ("UPDATE C SET migrationCause = 6", "its migrationCause is unknown"),
        ("UPDATE C SET deviceId = 'x'", 'a deviceId of CUPTI_ACTIVITY_KIND_MEMCPY is "x"'),
        ("UPDATE ENUM_CUDA_MEMCPY_OPER SET name = 'OTHER' WHERE id = 12", "calls 12 OTHER"),
        ("ALTER TABLE C DROP COLUMN virtualAddress", "has no column virtualAddress"),
        ("DROP TABLE C; DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL", "nsys profile"),
        ("UPDATE StringIds SET id = id + 10", "StringIds has no name"),
        ("DROP TABLE StringIds", "no table StringIds"),
    ],
)
def test_what_cannot_be_read_exactly_is_refused_by_its_row(export: Export, change: str, reason: str) -> None:
    export.copy(1, 2, 11, 2, BASE, BLOCK).kernel(1, 5, "1, 2").sql(change.replace(" C ", " CUPTI_ACTIVITY_KIND_MEMCPY ").replace(" C;", " CUPTI_ACTIVITY_KIND_MEMCPY;"))
    assert reason in export.refused()


def test_a_damaged_file_is_refused_or_read(export: Export) -> None:
    whole = export.thrashing().path.read_bytes()
    chance = random.Random(1)
    for _ in range(60):
        damaged = bytearray(whole)
        for _ in range(8):
            damaged[chance.randrange(len(damaged))] ^= chance.randrange(256)
        export.path.write_bytes(damaged[: len(damaged) - chance.randrange(16) * 512])
        with contextlib.suppress(pagemill.InputError):
            export.rows()
