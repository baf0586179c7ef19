//! What `cudaMemAdvise`, `cudaMemPrefetchAsync` and `cudaMemRangeGetAttribute` do under a unified-memory driver: the bytes that
//! move follow from who touches what.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::common::run;
use crate::toolkit::Toolkit;
use serde_json::Value;

/// The memory of the program.
const ALL: u64 = 4 << 20;

fn program() -> Option<&'static PathBuf> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let compile = || {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cuda/hints.cu");
        Some(Toolkit::find()?.compile(&source, "hints", &[]))
    };
    PROGRAM.get_or_init(compile).as_ref()
}

/// The row of the whole program for one of its cases, and what it printed; on an A100 with room for everything.
fn case(name: &str) -> Option<(Value, String)> {
    case_on(&["--machine", "a100-pcie4-x86"], name)
}

/// As [`case`], on another machine.
fn case_on(machine: &[&str], name: &str) -> Option<(Value, String)> {
    let program = program()?.to_str().expect("UTF-8");
    let command = [
        &["cuda", "--format", "json"],
        machine,
        &["--", program, name],
    ]
    .concat();
    let finished = run(&command);
    assert_eq!(finished.code, Some(0), "{name}: {}", finished.stderr);
    assert!(
        finished.stderr.contains("done"),
        "{name}: {}",
        finished.stderr
    );
    let results: Value = serde_json::from_str(&finished.stdout).expect("JSON");
    Some((results["rows"][0].clone(), finished.stderr))
}

/// What has to move: to the GPU, to the CPU, allocated on the GPU, dropped there, used in place by the GPU.
#[derive(Debug, Default, PartialEq, Eq)]
struct Moved {
    migrated: u64,
    returned: u64,
    populated: u64,
    dropped: u64,
    remote: u64,
}

fn moved(row: &Value) -> Moved {
    let number = |name: &str| {
        row[name]
            .as_u64()
            .unwrap_or_else(|| panic!("{name} of {row}"))
    };
    Moved {
        migrated: number("migrated_bytes") - number("remote_bytes"),
        returned: number("returned_bytes"),
        populated: number("populated_bytes"),
        dropped: number("dropped_bytes"),
        remote: number("remote_bytes"),
    }
}

#[test]
fn bytes_move_as_the_touches_say() {
    let both_ways = |times: u64| Moved {
        migrated: times * ALL,
        returned: ALL,
        ..Moved::default()
    };
    let expected = [
        // To the GPU, back for the CPU, and to the GPU once more.
        ("none", both_ways(2)),
        // The CPU keeps its copy.
        (
            "mostly",
            Moved {
                migrated: ALL,
                ..Moved::default()
            },
        ),
        // A write ends that; the CPU's read then makes a copy, and the GPU keeps its own.
        ("mostly-written", both_ways(1)),
        // The GPU gives its copies up, and needs them again.
        (
            "mostly-unset",
            Moved {
                dropped: ALL,
                ..both_ways(2)
            },
        ),
        (
            "stay",
            Moved {
                remote: ALL,
                ..Moved::default()
            },
        ),
        (
            "stay-faulting",
            Moved {
                remote: ALL,
                ..Moved::default()
            },
        ),
        (
            "stay-unset",
            Moved {
                migrated: ALL,
                ..Moved::default()
            },
        ),
        ("prefetched", both_ways(1)),
        (
            "untouched",
            Moved {
                populated: ALL,
                returned: ALL,
                ..Moved::default()
            },
        ),
        (
            "untouched-prefetched",
            Moved {
                populated: ALL,
                ..Moved::default()
            },
        ),
        // The driver's pages of 64 KiB: one goes back, and comes again.
        (
            "one-page-back",
            Moved {
                populated: ALL,
                returned: 64 << 10,
                migrated: 64 << 10,
                ..Moved::default()
            },
        ),
    ];
    for (name, expected) in expected {
        let Some((row, _)) = case(name) else {
            return;
        };
        assert_eq!(moved(&row), expected, "{name}: {row}");
    }
}

/// Every write of the CPU makes the GPU's copies void, and they have to come again; reads leave them alone.
#[test]
fn writes_of_the_cpu_end_copies_of_memory_that_is_read_mostly() {
    for (name, expected) in [
        (
            "mostly-host-written",
            Moved {
                migrated: 2 * ALL,
                dropped: ALL,
                ..Moved::default()
            },
        ),
        // The first sum goes back to be read, and is written there; the second finds it in both memories.
        (
            "mostly-host-adds",
            Moved {
                populated: ALL,
                returned: ALL,
                migrated: 2 * ALL,
                dropped: ALL,
                ..Moved::default()
            },
        ),
    ] {
        for faults in ["any", "signal"] {
            let Some(row) = case_seen_by(faults, name) else {
                return;
            };
            assert_eq!(moved(&row), expected, "{name}, {faults}: {row}");
        }
    }
}

/// The row of a case on an A100, with the CPU's touches seen in the way of `faults`.
fn case_seen_by(faults: &str, name: &str) -> Option<Value> {
    let mut command = crate::common::pagemill(&std::env::temp_dir());
    command.env("PAGEMILL_CUDA_FAULTS", faults);
    command.args([
        "cuda",
        "--format",
        "json",
        "--machine",
        "a100-pcie4-x86",
        "--",
    ]);
    let output = command.arg(program()?).arg(name).output();
    let finished = crate::common::Finished::from(output.expect("the command starts"));
    assert_eq!(finished.code, Some(0), "{name}: {}", finished.stderr);
    let results: Value = serde_json::from_str(&finished.stdout).expect("JSON");
    Some(results["rows"][0].clone())
}

#[test]
fn an_allocation_has_a_row_in_the_results_the_table_and_the_report() {
    let Some(program) = program() else {
        return;
    };
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hints-allocations");
    let folder = out.to_str().expect("UTF-8");
    let program = program.to_str().expect("UTF-8");
    let machine = ["cuda", "--machine", "a100-pcie4-x86", "--out", folder];
    let finished = run(&[&machine[..], &["--", program, "none"]].concat());
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let name = "managed #1";
    let table = finished.stdout + &finished.stderr;
    assert!(table.contains(name), "{table}");
    let read = |file: &str| std::fs::read_to_string(out.join(file)).expect(file);
    assert!(read("report.html").contains(name));
    let results: Value = serde_json::from_str(&read("results.json")).expect("JSON");
    let rows = results["rows"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["allocation"] == name);
    let row = row.unwrap_or_else(|| panic!("no row {name}: {rows:?}"));
    // To the GPU for the first launch, back for the CPU, and to the GPU once more.
    assert_eq!(row["allocated_bytes"], ALL);
    assert_eq!(row["migrated_bytes"], 2 * ALL);
    assert_eq!(row["returned_bytes"], ALL);
    assert_eq!(row["repeated_bytes"], ALL);
    assert_eq!(row["launches"], 2);
    assert!(row["faulted_pages"].as_u64() > Some(0), "{row}");
}

#[test]
fn mapped_and_prefetched_memory_does_not_fault() {
    for (name, faults) in [
        ("none", true),
        ("stay", false),
        ("stay-faulting", true),
        ("stay-unset", true),
        ("prefetched", false),
        ("untouched", true),
        ("untouched-prefetched", false),
    ] {
        let Some((row, _)) = case(name) else {
            return;
        };
        let counted = row["faults"].as_u64().expect("a number");
        assert_eq!(counted > 0, faults, "{name}: {counted} faults");
    }
}

#[test]
fn a_program_can_ask_for_what_it_said() {
    let Some((_, printed)) = case("attributes") else {
        return;
    };
    // -2 is cudaInvalidDeviceId, -1 is cudaCpuDeviceId, 0 is the GPU.
    for line in [
        "new: read mostly 0, preferred -2, accessed by -2 -2 -2, prefetched -2",
        "set: read mostly 1, preferred -1, accessed by 0 -2 -2, prefetched 0",
        "in parts: read mostly 0, preferred -2, accessed by -2 -2 -2, prefetched 0",
        "first half: preferred 0",
        "unset: read mostly 0, preferred -2, accessed by -2 -2 -2, prefetched -1",
    ] {
        assert!(printed.contains(line), "{line} in {printed}");
    }
}

/// A machine whose GPU walks the host's page tables, on which nothing moves unless it is asked for.
const STILL: [&str; 4] = [
    "--machine",
    "gh200",
    "--set",
    "machine.policy.access_counters=false",
];

#[test]
fn with_the_hosts_page_tables_bytes_are_used_where_they_are() {
    let in_place = |times: u64| Moved {
        remote: times * ALL,
        ..Moved::default()
    };
    let expected = [
        // The CPU touched it first: three launches read it there.
        ("none", in_place(3), 0),
        // No page is ever in both memories.
        ("mostly", in_place(3), 0),
        ("mostly-written", in_place(3), 0),
        ("stay", in_place(1), 0),
        ("stay-faulting", in_place(1), 0),
        (
            "prefetched",
            Moved {
                migrated: ALL,
                returned: ALL,
                ..Moved::default()
            },
            0,
        ),
        // The GPU touched it first: the CPU reads it there.
        (
            "untouched",
            Moved {
                populated: ALL,
                returned: ALL,
                ..Moved::default()
            },
            ALL,
        ),
        (
            "one-page-back",
            Moved {
                populated: ALL,
                returned: 64 << 10,
                ..Moved::default()
            },
            64 << 10,
        ),
    ];
    for (name, mut expected, by_cpu) in expected {
        let Some((row, said)) = case_on(&STILL, name) else {
            return;
        };
        if name == "mostly-written" {
            // Of these launches one writes, over the link to the CPU.
            expected.migrated = 0;
            expected.returned = ALL;
        }
        assert_eq!(moved_in_place(&row), expected, "{name}: {row}");
        assert_eq!(
            row["host_remote_bytes"].as_u64().unwrap_or(0),
            by_cpu,
            "{name}"
        );
        assert_eq!(row["evictions"], 0, "{name}");
        let first_touch = expected.populated > 0;
        assert_eq!(
            row["faults"].as_u64() > Some(0),
            first_touch,
            "{name}: {row}"
        );
        let unheeded = name.starts_with("mostly") || name == "stay";
        assert_eq!(said.contains("no effect"), unheeded, "{name}: {said}");
    }
}

/// As [`moved`], where stores may go to CPU memory in place.
fn moved_in_place(row: &Value) -> Moved {
    let number = |name: &str| row[name].as_u64().expect("a number");
    let loads = number("migrated_bytes").min(number("remote_bytes"));
    Moved {
        migrated: number("migrated_bytes") - loads,
        returned: number("returned_bytes"),
        populated: number("populated_bytes"),
        dropped: number("dropped_bytes"),
        remote: number("remote_bytes"),
    }
}

#[test]
fn access_counters_bring_what_the_gpu_reads_often() {
    let Some((row, _)) = case_on(&["--machine", "gh200"], "none") else {
        return;
    };
    let number = |name: &str| row[name].as_u64().expect("a number");
    // 256 reads of each block of 2 MiB are enough, and a launch makes 16,384.
    assert_eq!(number("counter_migrations"), 2, "{row}");
    assert_eq!(number("migrated_bytes") - number("remote_bytes"), ALL);
    assert!(
        (256 * 128 * 2..3 * ALL).contains(&number("remote_bytes")),
        "{row}"
    );
    assert_eq!(number("faults"), 0, "{row}");
    assert_eq!(number("returned_bytes"), number("host_remote_bytes"));
}

#[test]
fn what_does_not_fit_stays_with_the_cpu() {
    let small = [&STILL[..], &["--gpu-memory", "3MiB"]].concat();
    let Some((row, _)) = case_on(&small, "untouched") else {
        return;
    };
    // 4 bytes are the program's own, so 47 of 48 pages of 64 KiB are free.
    let there = 47 * (64 << 10);
    let number = |name: &str| row[name].as_u64().expect("a number");
    assert_eq!(number("populated_bytes"), there, "{row}");
    assert_eq!(number("remote_bytes"), ALL - there, "{row}");
    assert_eq!(number("host_remote_bytes"), there, "{row}");
    assert_eq!(number("evictions"), 0, "{row}");
    assert_eq!(number("migrated_bytes"), 0, "{row}");
}
