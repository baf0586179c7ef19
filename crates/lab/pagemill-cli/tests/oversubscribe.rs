//! `pagemill cuda --oversubscribe`: GPU memory that follows from what a program allocates.

use std::path::{Path, PathBuf};

use crate::common::{Finished, on, run};
use crate::toolkit::{Toolkit, root};
use serde_json::Value;

const MIB: u64 = 1 << 20;

fn holds(name: &str) -> Option<PathBuf> {
    compiled("holds.cu", name, &[])
}

/// A program that asks for memory of the GPU alone.
fn larger(name: &str) -> Option<PathBuf> {
    compiled("larger.cu", name, &["-g", "-lineinfo"])
}

fn compiled(source: &str, name: &str, flags: &[&str]) -> Option<PathBuf> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cuda");
    Some(Toolkit::find()?.compile(&sources.join(source), name, flags))
}

fn cuda(program: &Path, options: &[&str], arguments: &[&str]) -> Finished {
    let program = [program.to_str().expect("UTF-8")];
    run(&[
        &["cuda"],
        &on("gtx480", options)[..],
        &["--"],
        &program,
        arguments,
    ]
    .concat())
}

/// The row of the whole program for each point, and standard error.
fn rows(program: &Path, options: &[&str], arguments: &[&str]) -> (Vec<Value>, String) {
    let finished = cuda(
        program,
        &[&["--format", "json"], options].concat(),
        arguments,
    );
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let results: Value = serde_json::from_str(&finished.stdout).expect("JSON");
    let rows = results["rows"].as_array().expect("rows").iter();
    let whole = rows.filter(|row| row["table"] == "program").cloned();
    (whole.collect(), finished.stderr)
}

fn number(row: &Value, metric: &str) -> u64 {
    row[metric]
        .as_u64()
        .unwrap_or_else(|| panic!("{metric} of {row}"))
}

#[test]
fn the_gpu_has_the_peak_over_the_factor() {
    let Some(toolkit) = Toolkit::find() else {
        return;
    };
    let source = root().join("examples/cuda/oversubscribed.cu");
    let program = toolkit.compile(&source, "oversubscribed_by_factor", &[]);
    let factors = "program.oversubscribe=[0.75, 1.5]";
    for (machine, mode) in [("gtx480", "whole-page"), ("a100-pcie4-x86", "on-demand")] {
        let options = ["--machine", machine, "--mode", mode, "--set", factors];
        let (rows, said) = rows(&program, &options, &["12"]);
        let [fits, exceeds] = &rows[..] else {
            panic!("{} rows", rows.len());
        };
        // 12 MiB are six pages of 2 MiB: GPUs of eight and of four.
        for (row, capacity, ratio) in [(fits, 16 * MIB, 0.75), (exceeds, 8 * MIB, 1.5)] {
            assert_eq!(number(row, "peak_bytes"), 12 * MIB);
            assert_eq!(number(row, "capacity_bytes"), capacity);
            assert_eq!(row["oversubscription"], ratio);
            assert_eq!(row["oversubscribe"], ratio);
        }
        assert_eq!(number(fits, "evictions"), 0);
        // Each of the two launches needs six pages where four fit.
        assert!(number(exceeds, "evictions") >= 4, "{exceeds}");
        for part in ["runs twice", "12.0 MiB at its peak", "a GPU with 8.00 MiB"] {
            assert!(said.contains(part), "{said}");
        }
        assert!(said.contains("on a GPU of 8 MiB"), "{said}");
        // The first run is not seen.
        assert_eq!(
            said.matches("12 MiB of managed memory").count(),
            2,
            "{said}"
        );
    }
}

#[test]
fn memory_of_the_gpu_exceeds_it_where_it_is_managed() {
    let Some(program) = larger("larger_managed") else {
        return;
    };
    let factors = "program.oversubscribe=[0.75, 1.5]";
    for (machine, mode) in [("gtx480", "whole-page"), ("a100-pcie4-x86", "on-demand")] {
        let options = [
            "--machine",
            machine,
            "--mode",
            mode,
            "--managed",
            "--set",
            factors,
        ];
        let (rows, said) = rows(&program, &options, &["6"]);
        assert_eq!(said.matches("larger: 98304 of 98304").count(), 2, "{said}");
        for (row, capacity) in rows.iter().zip([16 * MIB, 8 * MIB]) {
            assert_eq!(number(row, "peak_bytes"), 12 * MIB);
            assert_eq!(number(row, "capacity_bytes"), capacity);
        }
        let [fits, exceeds] = [&rows[0], &rows[1]];
        // What the program copies to the GPU and back is all that has to go over the link.
        assert_eq!(number(fits, "returned_bytes"), 12 * MIB, "{fits}");
        // b goes for a, and a for b.
        for moved in ["returned_bytes", "migrated_bytes"] {
            let more = number(exceeds, moved) - number(fits, moved);
            assert!(more >= 4 * MIB, "{moved}: {exceeds}");
        }
        assert!(number(exceeds, "evictions") >= 2, "{exceeds}");
    }
}

#[test]
fn managed_memory_in_place_of_the_gpus_keeps_what_is_known_of_it() {
    let Some(program) = larger("larger_known") else {
        return;
    };
    let right = cuda(&program, &["--managed", "--check"], &["1", "handles"]);
    assert_eq!(right.code, Some(0), "{}", right.stderr);
    for said in [
        "memory: cudaErrorInvalidValue",
        "pool: cudaErrorNotSupported",
        "peer: ",
    ] {
        assert!(right.stdout.contains(said), "{}", right.stdout);
    }
    for said in [
        "is managed here: run the program without --managed",
        "a memory pool whose memory is handed",
    ] {
        assert!(right.stderr.contains(said), "{}", right.stderr);
    }
    let wrong = cuda(&program, &["--managed", "--check"], &["1", "beyond"]);
    assert_ne!(wrong.code, Some(0), "{}", wrong.stderr);
    for said in ["out-of-bounds at larger.cu:13", "cudaMalloc"] {
        assert!(wrong.stderr.contains(said), "{}", wrong.stderr);
    }
}

#[test]
fn advice_names_the_lines_that_asked_for_memory_of_the_gpu() {
    let Some(program) = larger("larger_advised") else {
        return;
    };
    let options = [
        "--machine",
        "a100-pcie4-x86",
        "--managed",
        "--oversubscribe",
        "1.5",
        "--runs",
        "2",
    ];
    let program = [program.to_str().expect("UTF-8"), "6"];
    let finished = run(&[&["advise", "program"], &options[..], &["--"], &program].concat());
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    for site in ["larger.cu:18", "larger.cu:38"] {
        assert!(finished.stdout.contains(site), "{}", finished.stdout);
    }
}

#[test]
fn a_walk_of_pages_agrees_with_the_cpu_in_order_and_scattered() {
    let Some(toolkit) = Toolkit::find() else {
        return;
    };
    let source = root().join("examples/cuda/page_walk.cu");
    let program = toolkit.compile(&source, "page_walk", &[]);
    let options = ["--machine", "rtx5090", "--oversubscribe", "1.25"];
    for scattered in ["0", "1"] {
        let (rows, _) = rows(&program, &options, &["64", "1024", scattered]);
        assert!(number(&rows[0], "evictions") > 0, "{}", rows[0]);
    }
}

#[test]
fn the_peak_is_not_the_sum() {
    let Some(program) = holds("holds_peak") else {
        return;
    };
    let (rows, said) = rows(&program, &["--oversubscribe", "2"], &["2", "6"]);
    assert_eq!(number(&rows[0], "allocated_bytes"), 14 * MIB);
    assert_eq!(number(&rows[0], "peak_bytes"), 8 * MIB);
    assert_eq!(number(&rows[0], "capacity_bytes"), 4 * MIB);
    assert_eq!(said.matches("held it").count(), 1, "{said}");
}

#[test]
fn memory_may_be_named_instead() {
    let Some(program) = holds("holds_memory") else {
        return;
    };
    let a100 = ["--machine", "a100-pcie4-x86", "--gpu-memory", "6MiB"];
    let (rows, _) = rows(&program, &a100, &["0", "8"]);
    assert_eq!(number(&rows[0], "capacity_bytes"), 6 * MIB);
    // Four blocks through a GPU of three, twice.
    assert!(number(&rows[0], "evictions") >= 2, "{}", rows[0]);
}

#[test]
fn few_pages_come_near_the_factor_only() {
    let Some(program) = holds("holds_few") else {
        return;
    };
    let (rows, said) = rows(&program, &["--oversubscribe", "1.5"], &["0", "2"]);
    assert_eq!(rows[0]["oversubscription"], 1.0);
    assert!(said.contains("factor 1.000 instead of 1.5"), "{said}");
}

#[test]
fn what_cannot_be_is_refused_with_the_remedy() {
    for factor in ["0", "-1.5", "NaN", "inf", "many"] {
        let finished = run(&["cuda", "--oversubscribe", factor, "--", "/bin/true"]);
        assert_eq!(finished.code, Some(2), "{factor}");
        assert!(
            finished.stderr.contains("a number above 0"),
            "{}",
            finished.stderr
        );
    }
    let copying = [
        "cuda",
        "--oversubscribe",
        "2",
        "--mode",
        "programmer-copy",
        "--",
        "/bin/true",
    ];
    let error = run(&copying).error(2);
    assert!(error.contains("moves no pages"), "{error}");
    let copying = [
        "cuda",
        "--managed",
        "--mode",
        "programmer-copy",
        "--",
        "/bin/true",
    ];
    let error = run(&copying).error(2);
    assert!(error.contains("nothing can be managed"), "{error}");
    let undriven = [
        "cuda",
        "--machine",
        "gtx480",
        "--oversubscribe",
        "2",
        "--mode",
        "on-demand",
        "--",
        "/bin/true",
    ];
    let error = run(&undriven).error(2);
    assert!(error.contains("a100-pcie4-x86"), "{error}");

    let Some(program) = holds("holds_refused") else {
        return;
    };
    let twice = ["--oversubscribe", "2"];
    for (arguments, part) in [
        (&["0", "0"][..], "allocates no GPU memory"),
        (&["8", "0"], "cannot exceed it: run it with --managed"),
        (&["8", "8"], "use a factor of at most 1.60"),
    ] {
        let finished = cuda(&program, &twice, arguments);
        assert_eq!(finished.code, Some(2), "{}", finished.stderr);
        assert!(finished.stderr.contains(part), "{}", finished.stderr);
    }
}

#[test]
fn a_program_that_fails_is_not_measured() {
    let Some(program) = holds("holds_fails") else {
        return;
    };
    let finished = cuda(&program, &["--oversubscribe", "2"], &["0", "4", "3"]);
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
    for part in ["held it", "ended with exit code 3"] {
        assert!(finished.stderr.contains(part), "{}", finished.stderr);
    }
}
