//! `pagemill report nsight`: profiles of real GPUs, here made by hand in the tables that Nsight Systems documents.

use std::path::{Path, PathBuf};

use crate::common::run_in;
use pagemill_map::Map;
use rusqlite::Connection;
use serde_json::Value;
use tempfile::TempDir;

const PAGE: i64 = 4 << 10;
const BLOCK: i64 = 2 << 20;
/// Where managed memory lies.
const BASE: i64 = 0x7f00_0000_0000;

const TABLES: &str = "
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
";

/// An export in a folder of its own.
struct Export {
    folder: TempDir,
    connection: Connection,
    process: i64,
}

impl Export {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let connection = Connection::open(folder.path().join("export.sqlite")).expect("a file");
        connection.execute_batch(TABLES).expect("tables");
        Self {
            folder,
            connection,
            process: 4711 << 24,
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("export.sqlite")
    }

    fn sql(&self, text: &str) -> &Self {
        self.connection.execute_batch(text).expect("SQL");
        self
    }

    fn kernel(&self, times: (i64, i64), names: &str) -> &Self {
        self.sql(&format!(
            "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({}, {}, 0, {}, {names})",
            times.0, times.1, self.process
        ))
    }

    /// A copy of a kind, for a cause.
    fn copy(&self, times: (i64, i64), kind: i64, cause: i64, bytes: (i64, i64)) -> &Self {
        self.sql(&format!(
            "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES ({}, {}, 0, {}, {}, {kind}, {cause}, {})",
            times.0, times.1, self.process, bytes.1, bytes.0
        ))
    }

    fn memory(&self, at: i64, address: i64, bytes: i64, operation: i64, name: &str) -> &Self {
        self.sql(&format!(
            "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES ({at}, {}, 0, {address}, {bytes}, 4, {operation}, {name})",
            self.process
        ))
    }

    /// A program whose data is twice what the GPU holds: the first half leaves for the second and comes again.
    fn thrashing(&self) -> &Self {
        let (first, second) = ((BASE, BLOCK), (BASE + BLOCK, BLOCK));
        self.memory(1000, BASE, 2 * BLOCK, 0, "'data'")
            .memory(1000, BASE + 8 * BLOCK, 100, 0, "NULL")
            .copy((1500, 1700), 1, 0, (0, 64))
            .kernel((2000, 10_000), "1, 2")
            .copy((2500, 3500), 11, 2, first)
            .copy((4000, 5000), 12, 4, first)
            .copy((4100, 5100), 11, 3, second)
            .copy((6000, 7000), 11, 2, first)
            .kernel((11_000, 12_000), "3, NULL")
            .copy((13_000, 14_000), 12, 2, (BASE + BLOCK, PAGE))
            .copy((15_000, 16_000), 12, 2, (BASE + 8 * BLOCK, PAGE))
            .memory(20_000, BASE, 2 * BLOCK, 1, "'data'")
            .sql(&format!(
                "INSERT INTO CUDA_UM_GPU_PAGE_FAULT_EVENTS VALUES (2400, 2450, {0}, 0, {BASE}, 7);
                 INSERT INTO CUDA_UM_CPU_PAGE_FAULT_EVENTS VALUES (12900, {0}, {1})",
                self.process,
                BASE + BLOCK
            ))
    }

    fn run(&self, more: &[&str]) -> crate::common::Finished {
        let path = self.path();
        let path = path.to_str().expect("UTF-8");
        let arguments = ["report", "nsight", path, "--format", "json"];
        run_in(self.folder.path(), &[&arguments[..], more].concat())
    }

    /// The message of a run that is refused.
    fn refused(&self) -> String {
        let finished = self.run(&[]);
        assert_eq!(finished.code, Some(2), "{}", finished.stderr);
        finished.stderr
    }
}

fn rows(results: &str) -> Vec<Value> {
    let results: Value = serde_json::from_str(results).expect("JSON");
    results["rows"].as_array().expect("rows").clone()
}

fn numbers<const N: usize>(row: &Value, names: [&str; N]) -> [i64; N] {
    names.map(|name| {
        row[name]
            .as_i64()
            .unwrap_or_else(|| panic!("no {name} in {row}"))
    })
}

#[test]
fn a_profile_becomes_rows_of_program_kernels_and_allocations() {
    let export = Export::new();
    let finished = export.thrashing().run(&["--out", "profile"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let rows = rows(&finished.stdout);
    let of = |table: &str, column: &str, name: &str| -> &Value {
        let is_it =
            |row: &&Value| row["table"] == table && (name.is_empty() || row[column] == name);
        rows.iter().find(is_it).expect("a row")
    };
    let moved = [
        "migrated_bytes",
        "repeated_bytes",
        "prefetched_bytes",
        "returned_bytes",
        "evicted_bytes",
    ];
    let program = of("program", "", "");
    assert_eq!(
        numbers(
            program,
            [
                "time_ns",
                "kernel_time_ns",
                "copy_time_ns",
                "launches",
                "migrations",
                "gpu_page_faults",
                "cpu_page_faults"
            ]
        ),
        [19_000, 9000, 200, 2, 3, 7, 1]
    );
    assert_eq!(
        numbers(program, moved),
        [3 * BLOCK, BLOCK, BLOCK, BLOCK + 2 * PAGE, BLOCK]
    );
    assert_eq!(numbers(program, ["allocated_bytes"]), [2 * BLOCK + 100]);
    // Named as `pagemill cuda` names them.
    let scale = of("kernel", "kernel", "scale");
    assert_eq!(numbers(scale, ["launches", "time_ns"]), [1, 8000]);
    assert_eq!(
        numbers(scale, moved),
        [3 * BLOCK, BLOCK, BLOCK, BLOCK, BLOCK]
    );
    assert_eq!(numbers(of("kernel", "kernel", "plain"), moved), [0; 5]);
    let data = of("allocation", "allocation", "data");
    assert_eq!(
        numbers(data, moved),
        [3 * BLOCK, BLOCK, BLOCK, BLOCK + PAGE, BLOCK]
    );
    let other = of("allocation", "allocation", "managed #2");
    assert_eq!(numbers(other, moved), [0, 0, 0, PAGE, 0]);
    assert_eq!(rows.len(), 5);
    let page =
        std::fs::read_to_string(export.folder.path().join("profile/report.html")).expect("a page");
    assert!(page.contains("Profile of NVIDIA Test") && !page.contains("the same numbers"));
}

#[test]
fn the_page_map_has_each_page_from_its_arrival_to_its_end() {
    let export = Export::new();
    let finished = export.thrashing().run(&["--out", "profile"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let text =
        std::fs::read_to_string(export.folder.path().join("profile/pages.json")).expect("maps");
    let maps = pagemill_report::pages::read(&text).expect("maps");
    let map = Map::decode(&maps[0].data).expect("a map");
    let causes = |address: i64| -> Vec<(&str, u64)> {
        let events = map.history((address / BLOCK) as u64).expect("a history");
        let named = |event: &pagemill_map::Event| {
            (
                map.legend.causes[usize::from(event.cause)].name.as_str(),
                event.done_ps / 1000,
            )
        };
        events.iter().map(named).collect()
    };
    assert_eq!(
        causes(BASE),
        [
            ("GPU fault", 1450),
            ("fault", 2500),
            ("eviction", 4000),
            ("fault", 6000),
            ("freed", 19_000)
        ]
    );
    assert_eq!(
        causes(BASE + BLOCK),
        [
            ("prefetch by the driver", 4100),
            ("CPU fault", 11_900),
            ("CPU touch", 13_000),
            ("freed", 19_000)
        ]
    );
    // It was first touched on the GPU.
    assert_eq!(
        causes(BASE + 8 * BLOCK),
        [
            ("on the GPU without a transfer", 14_000),
            ("CPU touch", 15_000)
        ]
    );
    assert_eq!(
        map.launches
            .iter()
            .map(|launch| launch.name.as_str())
            .collect::<Vec<_>>(),
        ["scale", "plain"]
    );
    let repeated: u64 = map.tiles.iter().map(|tile| tile.repeated).sum();
    assert_eq!(repeated, BLOCK as u64);
    // Each transfer took 1000 ns, and two in at most lie in one column.
    let most_bytes = 2 * BLOCK as u64 * map.column_ps / 1_000_000 + 2;
    let carried = |way: usize| map.carried.iter().map(move |column| column[way]);
    assert!(map.column_ps < 500_000 && carried(0).all(|bytes| bytes <= most_bytes));
    assert_eq!(carried(0).sum::<u64>(), 3 * BLOCK as u64);
    assert_eq!(carried(1).sum::<u64>(), (BLOCK + 2 * PAGE) as u64);
}

/// Tables of events and of names.
const VERSIONED: [&str; 7] = [
    "StringIds",
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUDA_UM_GPU_PAGE_FAULT_EVENTS",
    "CUDA_UM_CPU_PAGE_FAULT_EVENTS",
    "CUDA_GPU_MEMORY_USAGE_EVENTS",
    "ENUM_CUDA_MEMCPY_OPER",
];

#[test]
fn tables_of_any_version_are_read_alike() {
    let plain = rows(&Export::new().thrashing().run(&[]).stdout);
    for suffix in ["_V2", "_v3", "_V17"] {
        for only in (0..VERSIONED.len()).map(Some).chain([None]) {
            let export = Export::new();
            export.thrashing();
            for (_, table) in (0..)
                .zip(VERSIONED)
                .filter(|(at, _)| only.is_none_or(|one| one == *at))
            {
                export.sql(&format!("ALTER TABLE {table} RENAME TO {table}{suffix}"));
            }
            let finished = export.run(&[]);
            assert_eq!(finished.code, Some(0), "{}", finished.stderr);
            assert_eq!(rows(&finished.stdout), plain, "{suffix} of {only:?}");
        }
    }
}

#[test]
fn a_table_that_may_hold_events_is_named_where_it_is_not_read() {
    for (suffix, reason) in [
        ("_NEXT", "CUPTI_ACTIVITY_KIND_MEMCPY_NEXT is not known"),
        (
            "_V2",
            "CUPTI_ACTIVITY_KIND_MEMCPY and CUPTI_ACTIVITY_KIND_MEMCPY_V2 with rows",
        ),
    ] {
        let export = Export::new();
        export.copy((1, 2), 11, 2, (BASE, BLOCK));
        let other = format!("CUPTI_ACTIVITY_KIND_MEMCPY{suffix}");
        export.sql(&format!(
            "CREATE TABLE {other} AS SELECT * FROM CUPTI_ACTIVITY_KIND_MEMCPY"
        ));
        let message = export.refused();
        assert!(message.contains(reason), "{message}");
        // Without rows it takes nothing away.
        export.sql(&format!("DELETE FROM {other}"));
        assert_eq!(export.run(&[]).code, Some(0));
    }
}

#[test]
fn what_was_not_recorded_has_no_value() {
    let of_faults = (
        "CUDA_UM_GPU_PAGE_FAULT_EVENTS",
        "--cuda-um-gpu-page-faults=true",
        "gpu_page_faults",
    );
    let of_cpu = (
        "CUDA_UM_CPU_PAGE_FAULT_EVENTS",
        "--cuda-um-cpu-page-faults=true",
        "cpu_page_faults",
    );
    let of_memory = (
        "CUDA_GPU_MEMORY_USAGE_EVENTS",
        "--cuda-memory-usage=true",
        "allocated_bytes",
    );
    let of_copies = ("CUPTI_ACTIVITY_KIND_MEMCPY", "transfers", "migrated_bytes");
    let of_kernels = ("CUPTI_ACTIVITY_KIND_KERNEL", "kernels", "launches");
    for (table, word, column) in [of_faults, of_cpu, of_memory, of_copies, of_kernels] {
        let export = Export::new();
        let whole = export.thrashing().run(&[]);
        assert!(!whole.stdout.contains("\"warnings\""), "{}", whole.stdout);
        assert!(rows(&whole.stdout)[0][column].is_number(), "{column}");
        let finished = export.sql(&format!("DROP TABLE {table}")).run(&[]);
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        let results: Value = serde_json::from_str(&finished.stdout).expect("JSON");
        assert!(results["rows"][0][column].is_null(), "{column}");
        let warnings = results["summary"]["warnings"].to_string();
        assert!(
            warnings.contains("not recorded") && warnings.contains(word),
            "{warnings}"
        );
    }
}

#[test]
fn parts_by_cause_have_no_value_where_a_cause_was_not_recorded() {
    let export = Export::new();
    export
        .copy((1, 2), 11, 3, (BASE, BLOCK))
        .copy((3, 4), 11, 0, (BASE + BLOCK, BLOCK))
        .copy((5, 6), 12, 4, (BASE, BLOCK));
    let program = &rows(&export.run(&[]).stdout)[0];
    assert!(program["prefetched_bytes"].is_null(), "{program}");
    assert_eq!(
        numbers(program, ["migrated_bytes", "evicted_bytes"]),
        [2 * BLOCK, BLOCK]
    );
}

#[test]
fn a_file_that_is_no_export_says_what_to_do() {
    let export = Export::new();
    export.thrashing();
    let whole = std::fs::read(export.path()).expect("the file");
    let cut = [&whole[..whole.len() / 2], &vec![0xa5; whole.len() / 2]].concat();
    let folder = export.folder.path();
    let cases = [
        (
            "text",
            b"no database".to_vec(),
            "nsys export --type sqlite -o",
        ),
        ("empty", Vec::new(), "nsys profile"),
        ("cut", cut, "export it again"),
    ];
    for (name, bytes, step) in cases {
        std::fs::write(folder.join(name), bytes).expect("a file");
        let finished = run_in(folder, &["report", "nsight", name]);
        assert_eq!(finished.code, Some(2), "{name}: {}", finished.stderr);
        assert!(
            finished.stderr.contains(step),
            "{name}: {}",
            finished.stderr
        );
    }
    let finished = run_in(folder, &["report", "nsight", "."]);
    assert!(
        finished.stderr.contains("name the SQLite file"),
        "{}",
        finished.stderr
    );
    let unnamed = export.sql("DROP TABLE StringIds").refused();
    assert!(unnamed.contains("no table StringIds"), "{unnamed}");
}

#[test]
fn memory_of_unknown_allocations_is_called_by_its_address() {
    let export = Export::new();
    export
        .copy((1, 2), 11, 2, (BASE, BLOCK))
        .copy((3, 4), 11, 2, (BASE + BLOCK, BLOCK))
        .copy((5, 6), 11, 2, (BASE + 4 * BLOCK, BLOCK))
        .sql("DROP TABLE CUDA_GPU_MEMORY_USAGE_EVENTS; DROP TABLE CUDA_UM_GPU_PAGE_FAULT_EVENTS; DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL");
    let names: Vec<String> = (rows(&export.run(&[]).stdout).iter())
        .filter_map(|row| row["allocation"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(
        names,
        ["memory at 0x7f0000000000", "memory at 0x7f0000800000"]
    );
}

#[test]
fn one_of_several_processes_is_chosen() {
    let mut export = Export::new();
    export.copy((1, 2), 11, 2, (BASE, BLOCK));
    export.process = 99 << 24;
    export.copy((1, 2), 11, 2, (BASE, 3 * PAGE));
    let message = export.refused();
    assert!(message.contains("--process (99, 4711)"), "{message}");
    let chosen = export.run(&["--process", "99"]);
    assert_eq!(
        numbers(&rows(&chosen.stdout)[0], ["migrated_bytes"]),
        [3 * PAGE]
    );
    let absent = export.run(&["--process", "5"]);
    assert_eq!(absent.code, Some(2));
    assert!(absent.stderr.contains("99, 4711"), "{}", absent.stderr);
}

#[test]
fn what_cannot_be_read_exactly_is_refused_by_its_row() {
    let cases: &[(&str, &str)] = &[
        (
            "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET virtualAddress = NULL",
            "row 1 of CUPTI_ACTIVITY_KIND_MEMCPY: the address is missing",
        ),
        (
            "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET bytes = 'many'",
            "the number of bytes is \"many\"",
        ),
        (
            "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET bytes = 5",
            "no whole pages",
        ),
        (
            "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET bytes = 1 << 60",
            "the number of bytes is 1152921504606846976",
        ),
        (
            "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET end = 0",
            "it ends at 0 ns, before it starts at 1 ns",
        ),
        (
            "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET copyKind = 13",
            "between GPUs",
        ),
        (
            "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET migrationCause = 6",
            "its migrationCause is unknown",
        ),
        (
            "UPDATE ENUM_CUDA_MEMCPY_OPER SET name = 'OTHER' WHERE id = 12",
            "calls 12 OTHER",
        ),
        (
            "ALTER TABLE CUPTI_ACTIVITY_KIND_MEMCPY DROP COLUMN virtualAddress",
            "has no column virtualAddress",
        ),
        (
            "DROP TABLE CUPTI_ACTIVITY_KIND_MEMCPY; DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL",
            "nsys profile",
        ),
        ("UPDATE StringIds SET id = id + 10", "StringIds has no name"),
    ];
    for (change, reason) in cases {
        let export = Export::new();
        export
            .copy((1, 2), 11, 2, (BASE, BLOCK))
            .kernel((1, 5), "1, 2")
            .sql(change);
        let message = export.refused();
        assert!(message.contains(reason), "{change}: {message}");
    }
}

#[test]
fn a_damaged_file_is_no_panic() {
    let export = Export::new();
    export.thrashing();
    let whole = std::fs::read(export.path()).expect("the file");
    let damaged = export.folder.path().join("damaged.sqlite");
    let run = |path: &Path| {
        let finished = run_in(
            export.folder.path(),
            &["report", "nsight", path.to_str().expect("UTF-8")],
        );
        assert!(matches!(finished.code, Some(0 | 2)), "{}", finished.stderr);
    };
    let mut state = 1u64;
    for _ in 0..60 {
        let mut bytes = whole.clone();
        for _ in 0..8 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let place = (state >> 33) as usize % bytes.len();
            bytes[place] ^= (state >> 24) as u8;
        }
        bytes.truncate(bytes.len() - (state >> 60) as usize * 512);
        std::fs::write(&damaged, bytes).expect("a file");
        run(&damaged);
    }
    std::fs::write(&damaged, "no database").expect("a file");
    run(&damaged);
    run(export.folder.path());
    run(Path::new("missing.sqlite"));
}
