//! `pagemill doctor gpu` on machines without a GPU, and with a stand-in for the driver.

use std::path::Path;

use crate::common::{Finished, pagemill};
use pagemill_testkit::fake_cuda::driver;
use serde_json::Value;

/// Runs the benchmark with the driver of `folder`.
fn bench(folder: &Path, mode: &str, arguments: &[&str]) -> Finished {
    let mut command = pagemill(folder);
    command
        .env("LD_LIBRARY_PATH", folder)
        .env("FAKE_CUDA", mode)
        .args(["doctor", "gpu"])
        .args(arguments);
    Finished::from(command.output().expect("the command starts"))
}

#[test]
fn without_a_driver_it_says_what_to_install() {
    let folder = tempfile::tempdir().expect("a folder");
    // No library: the linker takes these names, and then refuses what they hold.
    for name in ["libcuda.so", "libcuda.so.1"] {
        std::fs::write(folder.path().join(name), "nothing").expect("a file");
    }
    let error = bench(folder.path(), "", &[]).error(3);
    assert!(error.starts_with("error: no CUDA driver"), "{error}");
    assert!(error.contains("apt-get install nvidia-driver"), "{error}");
}

#[test]
fn without_a_gpu_it_says_what_the_driver_says() {
    let Some(folder) = driver(&[]) else { return };
    let error = bench(folder.path(), "no-gpu", &[]).error(3);
    assert!(error.contains("CUDA_ERROR_NO_DEVICE"), "{error}");
    assert!(
        error.contains("no CUDA-capable device is detected"),
        "{error}"
    );
    assert!(error.contains("modprobe nvidia"), "{error}");
}

#[test]
fn an_old_driver_is_named() {
    let Some(folder) = driver(&["-DOLD_DRIVER"]) else {
        return;
    };
    let error = bench(folder.path(), "", &[]).error(3);
    assert!(error.contains("lacks cuMemPrefetchAsync"), "{error}");
}

#[test]
fn a_gpu_that_is_not_there_is_refused() {
    let Some(folder) = driver(&[]) else { return };
    let error = bench(folder.path(), "", &["--device", "1"]).error(3);
    assert!(
        error.contains("there is no GPU 1: this machine has 1"),
        "{error}"
    );
}

#[test]
fn wrong_usage_is_found_before_anything_is_run() {
    let Some(folder) = driver(&[]) else { return };
    let cases: &[(&[&str], &str)] = &[
        (
            &["--pattern", "zigzag"],
            "use one of grid-stride, block-stride, random-warp",
        ),
        (&["--strategy", "luck"], "use one of on-demand"),
        (&["--factor=-1"], "use a number above 0"),
        (&["--factor", "1e9"], "lower the factor to"),
        (&["--strategy", "partial-pages"], "it can only be simulated"),
        (&["--stripe", "3MiB"], "use 4 KiB, 64 KiB or 2 MiB"),
        (&["--stripe", "2"], "unit"),
        (&["--gpu-memory", "1TiB"], "ask for less"),
        (&["--repeat", "0"], "is 0: use a number of at least 1"),
    ];
    for (arguments, expected) in cases {
        let error = bench(folder.path(), "", arguments).error(2);
        assert!(error.contains(expected), "{arguments:?}: {error}");
    }
}

#[test]
fn a_kernel_that_fails_fails_the_run() {
    let Some(folder) = driver(&[]) else { return };
    let error = bench(folder.path(), "fail-launch", &["--gpu-memory", "16MiB"]).error(1);
    assert!(error.contains("CUDA_ERROR_LAUNCH_FAILED"), "{error}");
    assert!(
        error.contains("grid-stride lock-step, on-demand"),
        "{error}"
    );
    assert!(!error.contains("fake CUDA"), "{error}");
}

#[test]
fn every_pattern_and_strategy_is_measured_and_compared() {
    let Some(folder) = driver(&[]) else { return };
    let strategies = "on-demand,zero-copy,stripe,stripe-even,bulk-prefetch,read-mostly";
    let arguments = [
        "--gpu-memory",
        "16MiB",
        "--factor",
        "0.5,1.5,3",
        "--variant",
        "lock-step,free-running",
        "--strategy",
        strategies,
        "--stripe",
        "64KiB,2MiB",
        "--machine",
        "stand-in",
        "--out",
        "measured",
        "--format",
        "json",
    ];
    let finished = bench(folder.path(), "", &arguments);
    assert!(
        !finished.stderr.contains("fake CUDA"),
        "{}",
        finished.stderr
    );
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let results: Value = serde_json::from_str(&finished.stdout).expect("JSON");
    let rows = results["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 3 * 2 * 6 * 2 * 3);
    for row in rows {
        assert_eq!(row["machine"], "stand-in");
        assert_eq!(row["loops"], 3);
        assert_eq!(row["blocks"], 32);
        let factor = row["oversubscription_factor"].as_f64().expect("a number");
        let data = row["allocated_bytes"].as_f64().expect("a number");
        let gpu = row["gpu_bytes"].as_f64().expect("a number");
        assert!(
            data >= gpu * factor && data < gpu * factor + (2 << 20) as f64,
            "{row}"
        );
        if row["pattern"] == "random-warp" {
            assert_eq!(gpu as u64, 4 << 20, "a third, in blocks of 2 MiB");
        } else {
            assert_eq!(gpu as u64, 16 << 20);
            // A launch of the stand-in takes a millisecond.
            assert_eq!(row["time_ns"], 1_000_000);
            assert_eq!(
                row["bandwidth_bytes_per_second"].as_f64(),
                Some(data * 1000.0)
            );
        }
    }
    let results = "measured/results.json";
    let mut command = pagemill(folder.path());
    command.args(["report", "compare", results, results, "--format", "json"]);
    let compared = Finished::from(command.output().expect("the command starts")).result();
    let compared: Value = serde_json::from_str(&compared).expect("JSON");
    assert_eq!(compared["summary"]["facts"]["points_compared"], rows.len());
    assert_eq!(compared["summary"]["facts"]["time_ns_worst_error"], 0.0);
}

#[test]
fn tables_tell_what_was_measured() {
    let Some(folder) = driver(&[]) else { return };
    let arguments = [
        "--gpu-memory",
        "32MiB",
        "--pattern",
        "grid-stride",
        "--factor",
        "2",
        "--repeat",
        "1",
    ];
    let finished = bench(folder.path(), "", &arguments);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(
        finished
            .stdout
            .starts_with("Unified memory on NVIDIA Stand-In 300\n")
    );
    assert!(
        finished.stdout.contains("machine = stand-in-300"),
        "{}",
        finished.stdout
    );
    assert!(
        finished
            .stderr
            .contains("4 of 4: grid-stride lock-step, bulk-prefetch")
    );
}
