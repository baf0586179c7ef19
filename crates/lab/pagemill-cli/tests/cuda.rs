//! Unmodified CUDA programs, compiled by CUDA's own compilers, on the simulated GPU.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{Finished, on, pagemill};
use crate::toolkit::{Toolkit, root};
use serde_json::Value;

fn example(name: &str) -> PathBuf {
    root().join(format!("examples/cuda/{name}.cu"))
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/cuda/{name}"))
}

fn run(program: &Path, options: &[&str], arguments: &[&str]) -> Finished {
    run_with(program, options, arguments, "any")
}

/// The same, with touches of managed pages seen in the way of `faults`.
fn run_with(program: &Path, options: &[&str], arguments: &[&str], faults: &str) -> Finished {
    let mut command = pagemill(&std::env::temp_dir());
    command.env("PAGEMILL_CUDA_FAULTS", faults).arg("cuda");
    command.args(on("gtx480", options)).arg("--").arg(program);
    Finished::from(
        command
            .args(arguments)
            .output()
            .expect("the command starts"),
    )
}

/// The rows of a run, and what the program printed.
fn rows(program: &Path, options: &[&str], arguments: &[&str]) -> (Vec<Value>, String) {
    let options = [&["--format", "json"], options].concat();
    let finished = run(program, &options, arguments);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let results: Value = serde_json::from_str(&finished.stdout).expect("JSON");
    let rows = results["rows"].as_array().expect("rows").clone();
    (rows, finished.stderr)
}

fn number(row: &Value, metric: &str) -> u64 {
    row[metric]
        .as_u64()
        .unwrap_or_else(|| panic!("{metric} of {row}"))
}

/// Compiles and runs an example under `options`, which has to agree with its CPU reference, and returns its rows.
fn agrees(name: &str, options: &[&str], arguments: &[&str]) -> Option<Vec<Value>> {
    let program = Toolkit::find()?.compile(&example(name), name, &[]);
    let (rows, printed) = rows(&program, options, arguments);
    assert!(printed.contains("values agree with the CPU"), "{printed}");
    Some(rows)
}

#[test]
fn managed_vector_add() {
    let Some(rows) = agrees("managed_vector_add", &[], &[]) else {
        return;
    };
    let bytes = 3 * 100_000 * 4;
    assert_eq!(rows[0]["table"], "program");
    assert_eq!(rows[1]["kernel"], "add");
    assert_eq!(number(&rows[0], "allocated_bytes"), bytes);
    // In units of 1 KiB: the inputs move to the GPU once, the sums begin there, and all moves back once.
    for (metric, arrays) in [
        ("migrated_bytes", 2),
        ("populated_bytes", 1),
        ("returned_bytes", 3),
    ] {
        let (moved, least) = (number(&rows[0], metric), arrays * bytes / 3);
        assert!(
            (least..least + 3 * 1024).contains(&moved),
            "{metric} {moved}"
        );
    }
    assert!(number(&rows[1], "time_ns") < number(&rows[0], "time_ns"));
}

#[test]
fn streams_overlap() {
    let Some(rows) = agrees("streams", &[], &[]) else {
        return;
    };
    assert_eq!(number(&rows[0], "launches"), 8);
    assert_eq!(number(&rows[0], "migrated_bytes"), 2 * 4 * 16384 * 4);
}

#[test]
fn bfs_moves_the_flag_back_for_every_level() {
    let Some(rows) = agrees("bfs", &["--policy", "whole-page"], &[]) else {
        return;
    };
    let launches = number(&rows[1], "launches");
    assert!(launches > 5);
    assert!(number(&rows[0], "migrations") >= launches);
}

#[test]
fn clusters_share_a_histogram() {
    let Some(toolkit) = Toolkit::find() else {
        return;
    };
    let flags = ["-gencode", "arch=compute_90,code=compute_90"];
    let program = toolkit.compile(&source("cluster_histogram.cu"), "cluster_histogram", &flags);
    let (timed, printed) = rows(&program, &["--machine", "h100"], &[]);
    assert!(printed.contains("values agree with the CPU"), "{printed}");
    let (again, _) = rows(&program, &["--machine", "h100"], &[]);
    assert_eq!(timed, again);
    let (_, printed) = rows(&program, &["--machine", "gh200", "--functional"], &[]);
    assert!(printed.contains("values agree with the CPU"), "{printed}");
    let older = run(&program, &["--machine", "a100-pcie4-x86"], &[]);
    assert_eq!(older.code, Some(3), "{}", older.stderr);
}

#[test]
fn matmul() {
    agrees("matmul", &["--mode", "single-range"], &[]);
}

#[test]
fn reduction_has_a_row_for_each_template() {
    let Some(rows) = agrees("reduction", &["--policy", "ideal-overlap"], &[]) else {
        return;
    };
    let kernels: Vec<_> = rows[1..]
        .iter()
        .map(|row| row["kernel"].as_str().unwrap_or(""))
        .collect();
    assert_eq!(kernels, ["sum<int>", "sum<float>", "sum<double>"]);
}

#[test]
fn histogram() {
    agrees("histogram", &["--mode", "programmer-copy"], &[]);
}

#[test]
fn lookup() {
    agrees("lookup", &["--set", "transfer.page_size=4 KiB"], &[]);
}

#[test]
fn a_small_gpu_streams_over_more_than_it_has() {
    let small = ["--set", "machine.dram.capacity=4 MiB"];
    for policy in ["multi-range", "whole-page"] {
        let options = [&small[..], &["--policy", policy]].concat();
        let Some(rows) = agrees("oversubscribed", &options, &["8"]) else {
            return;
        };
        assert!(number(&rows[0], "evictions") > 0, "{policy}");
        let touched = 8 << 20;
        assert!(
            number(&rows[0], "migrated_bytes") >= 2 * touched,
            "{policy}"
        );
    }
}

#[test]
fn a_programmer_cannot_copy_more_than_the_gpu_has() {
    let Some(toolkit) = Toolkit::find() else {
        return;
    };
    let program = toolkit.compile(&example("oversubscribed"), "oversubscribed_copied", &[]);
    let options = [
        "--mode",
        "programmer-copy",
        "--set",
        "machine.dram.capacity=4 MiB",
    ];
    let finished = run(&program, &options, &["8"]);
    assert_ne!(finished.code, Some(0));
    for part in [
        "8388608 bytes",
        "GPU's 4194304 bytes",
        "raise machine.dram.capacity",
    ] {
        assert!(finished.stderr.contains(part), "{}", finished.stderr);
    }
}

#[test]
fn every_compression_of_device_code_runs() {
    let Some(toolkit) = Toolkit::find() else {
        return;
    };
    for mode in ["none", "speed", "size"] {
        let flag = format!("-compress-mode={mode}");
        let program = toolkit.compile(
            &example("managed_vector_add"),
            &format!("add_{mode}"),
            &[&flag],
        );
        let (_, printed) = rows(&program, &[], &[]);
        assert!(printed.contains("100000 of 100000"), "{mode}: {printed}");
    }
}

#[test]
fn calls_do_what_cuda_says() {
    let Some(toolkit) = Toolkit::find() else {
        return;
    };
    let program = toolkit.compile(&source("calls.cu"), "calls", &[]);
    let finished = run(&program, &[], &[]);
    let expected = "thread 0 of kernel 1\nthread 1 of kernel 1\nafter the kernels\n0 wrong\n";
    assert_eq!(
        (finished.code, finished.stdout.as_str()),
        (Some(0), expected),
        "{}",
        finished.stderr
    );
}

/// Compiles and runs a program of the tests, which says at the end that nothing was wrong, and returns its rows.
fn is_right(name: &str, flags: &[&str], said: &str) -> Option<Vec<Value>> {
    let program = Toolkit::find()?.compile(&source(&format!("{name}.cu")), name, flags);
    let (rows, printed) = rows(&program, &[], &[]);
    assert!(printed.contains(said), "{printed}");
    Some(rows)
}

#[test]
fn textures_give_what_the_programming_guide_says() {
    let quiet = ["-Wno-deprecated-declarations"];
    is_right("textures", &quiet, "0 of 47273 wrong");
}

#[test]
fn graphs_do_what_was_noted() {
    is_right("graphs", &[], "graphs, 0 wrong");
}

#[test]
fn graphs_allocate_memory() {
    is_right("graph_memory", &[], "memory of graphs, 0 wrong");
}

#[test]
fn the_driver_maps_memory_and_binds_textures() {
    is_right("driver_memory", &[], "memory of the driver, 0 wrong");
}

#[test]
fn blocks_of_a_cooperative_launch_meet() {
    let Some(rows) = is_right("cooperative", &[], "cooperative groups, 0 wrong") else {
        return;
    };
    assert_eq!(rows[1]["kernel"], "sum");
}

#[test]
fn blocks_of_a_cooperative_launch_meet_without_time() {
    let Some(toolkit) = Toolkit::find() else {
        return;
    };
    let program = toolkit.compile(&source("cooperative.cu"), "cooperative_functional", &[]);
    let finished = run(&program, &["--functional"], &[]);
    assert!(
        finished.stdout.contains("cooperative groups, 0 wrong"),
        "{}",
        finished.stderr
    );
}

#[test]
fn the_sorts_and_scans_of_the_toolkit_run_as_they_are() {
    is_right("cub", &["--extended-lambda"], "CUB and Thrust, 0 wrong");
}

#[test]
fn system_calls_reach_pages_that_are_on_the_gpu() {
    if let Err(refused) = pagemill_linux::userfault::FaultWatch::open() {
        pagemill_testkit::skip(&format!(
            "faults of system calls cannot be handled: {refused}"
        ));
        return;
    }
    let Some(rows) = is_right("system_calls", &[], "system calls, 0 wrong") else {
        return;
    };
    // Every page came back at least twice: to be written to the file, and to be read.
    assert!(number(&rows[0], "returned_bytes") >= 2 * (3 << 20));
}

#[test]
fn pinned_memory_is_used_over_the_link() {
    let Some(rows) = is_right("pinned", &[], "pinned, 0 wrong") else {
        return;
    };
    let time = |kernel: &str| {
        let row = rows.iter().find(|row| row["kernel"] == kernel);
        number(row.expect("the kernel has a row"), "time_ns")
    };
    // 4 MiB over 16 GB/s take longer than in GPU memory at more than ten times that.
    assert!(time("scale_pinned") > 4 * time("scale"), "{rows:?}");
}

#[test]
fn managed_variables_have_one_address() {
    is_right("managed", &[], "0 wrong");
}

#[test]
fn programs_of_textbooks_are_right() {
    is_right("samples", &[], "samples, 0 wrong");
}

#[test]
fn translation_units_are_linked() {
    let other = source("parts_other.cu").display().to_string();
    let said = "one: other\none: other\ntwo: other\nparts, 0 wrong, no error";
    is_right("parts_main", &["-rdc=true", &other], said);
}

#[test]
fn launches_that_fail_have_a_row_and_come_first() {
    let Some(toolkit) = Toolkit::find() else {
        return;
    };
    let program = toolkit.compile(&source("faults.cu"), "faults_rows", &[]);
    let finished = run(&program, &["--format", "json"], &["threads"]);
    let results: Value = serde_json::from_str(&finished.stdout).expect("JSON");
    assert_eq!(results["summary"]["failed_launches"], 4);
    let rows = results["rows"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["kernel"] == "nothing");
    let row = row.expect("the kernel has a row");
    assert_eq!(
        (number(row, "launches"), number(row, "failed_launches")),
        (1, 4)
    );
    assert_eq!(row["status"], "cudaErrorInvalidValue");

    let finished = run(&program, &[], &["refused"]);
    assert_eq!(
        finished
            .stderr
            .lines()
            .filter(|line| line.starts_with("pagemill: "))
            .count(),
        1,
        "{}",
        finished.stderr
    );
    let first = finished
        .stderr
        .lines()
        .find(|line| line.starts_with("warning: "));
    let first = first.unwrap_or_else(|| panic!("{}", finished.stderr));
    assert!(
        first.starts_with("warning: 5 launches of refused failed (cudaErrorInvalidPtx): "),
        "{first}"
    );
}

/// The codes that the program got, and the lines of pagemill.
fn faults(what: &str) -> Option<(String, String)> {
    let program = Toolkit::find()?.compile(&source("faults.cu"), &format!("faults_{what}"), &[]);
    let finished = run(&program, &[], &[what]);
    assert_eq!(finished.code, Some(0), "{what}: {}", finished.stderr);
    let codes = finished.stdout.replace("cudaError", "").replace("cuda", "");
    let lines: Vec<&str> = finished
        .stderr
        .lines()
        .filter(|line| line.starts_with("pagemill: "))
        .collect();
    Some((
        codes.split_whitespace().collect::<Vec<_>>().join(" "),
        lines.join("\n"),
    ))
}

#[test]
fn faults_give_the_codes_of_cuda_and_a_line_each() {
    let cases = [
        (
            "bounds",
            "Success Success Success IllegalAddress IllegalAddress IllegalAddress IllegalAddress IllegalAddress",
            "is out of bounds",
            1,
        ),
        (
            "misaligned",
            "Success MisalignedAddress",
            "is misaligned",
            1,
        ),
        (
            "assert",
            "Success Assert",
            "assertion `value == 1` failed",
            1,
        ),
        ("trap", "Success LaunchFailure", "trap instruction", 1),
        (
            "threads",
            "Success InvalidValue Success InvalidValue InvalidValue InvalidValue Success",
            "has 2000 threads, this GPU allows 1024",
            4,
        ),
        (
            "free",
            "Success InvalidValue InvalidValue Success InvalidValue Success InvalidValue HostMemoryNotRegistered",
            "no allocation of the GPU starts at",
            5,
        ),
        (
            "copies",
            "Success InvalidValue InvalidValue InvalidValue InvalidMemcpyDirection InvalidValue InvalidValue InvalidValue InvalidSymbol",
            "is no memory of the GPU",
            7,
        ),
        (
            "handles",
            "Success InvalidResourceHandle InvalidResourceHandle Success InvalidResourceHandle InvalidDevice InvalidValue Success InvalidValue MemoryAllocation InvalidDeviceFunction InvalidResourceHandle",
            "there is no device 3",
            9,
        ),
        (
            "unsupported",
            "Success NotSupported NotSupported NotSupported",
            "cudaMemPoolExportPointer: pagemill does not support",
            1,
        ),
        (
            "kernel",
            "Success InvalidPtx Success",
            "instruction `vshl.u32.u32.u32.clamp` is not supported",
            1,
        ),
        (
            "stack",
            "Success InvalidValue Success Success Success Success IllegalAddress",
            "stack overflow: the thread needs",
            2,
        ),
        (
            "pointer",
            "Success Success InvalidPc",
            "call of 0x0, which is no device function",
            1,
        ),
        (
            "texture",
            "Success LaunchFailure",
            "there is no texture or surface object 0x77",
            1,
        ),
        (
            "surface",
            "Success Success Success LaunchFailure",
            "surface store at byte 32 of row 0 of slice 0 is outside of the surface",
            1,
        ),
        (
            "cooperative",
            "Success CooperativeLaunchTooLarge InvalidValue Success",
            "1000 blocks of 256 threads were to be launched together, 15 SMs hold 6 of them each",
            2,
        ),
    ];
    for (what, codes, line, lines) in cases {
        let Some((found, said)) = faults(what) else {
            return;
        };
        assert_eq!(found, codes, "{what}: {said}");
        assert!(said.contains(line), "{what}: {said}");
        assert_eq!(said.lines().count(), lines, "{what}: {said}");
    }
}

#[test]
fn a_handler_for_faults_may_come_after_managed_memory() {
    let Some(toolkit) = Toolkit::find() else {
        return;
    };
    let program = toolkit.compile(&source("handlers.cu"), "handlers", &[]);
    // As on systems where only a signal handler can see touches, and as it is here.
    for faults in ["signal", "any"] {
        let finished = run_with(&program, &["--format", "json"], &[], faults);
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        let said = "own faults 3, old handlers wrong 0, values wrong 0";
        assert!(finished.stderr.contains(said), "{}", finished.stderr);
        let results: Value = serde_json::from_str(&finished.stdout).expect("JSON");
        assert!(
            number(&results["rows"][0], "returned_bytes") > 0,
            "{faults}"
        );
    }
}

#[test]
fn what_went_wrong_names_kernels_as_the_source_does() {
    let Some((_, said)) = faults("bounds") else {
        return;
    };
    assert!(!said.contains("_Z"), "{said}");
}

#[test]
fn machine_code_without_ptx_is_no_kernel_image() {
    let Some(toolkit) = Toolkit::find() else {
        return;
    };
    let flags = ["-gencode", "arch=compute_75,code=sm_75"];
    let program = toolkit.compile(&source("faults.cu"), "faults_cubin", &flags);
    let finished = run(&program, &[], &["nothing"]);
    assert_eq!(
        finished.stdout,
        "cudaSuccess\ncudaErrorNoKernelImageForDevice\n"
    );
    assert!(
        finished.stderr.contains("sm_75 but no PTX"),
        "{}",
        finished.stderr
    );
}

#[test]
fn every_example_runs_as_nvcc_makes_it() {
    let Some(toolkit) = Toolkit::find() else {
        return;
    };
    let examples = std::fs::read_dir(root().join("examples/cuda")).expect("examples");
    let mut count = 0;
    for path in examples.map(|entry| entry.expect("an entry").path()) {
        if path.extension().is_none_or(|kind| kind != "cu") {
            continue;
        }
        let name = path
            .file_stem()
            .and_then(|name| name.to_str())
            .expect("a name");
        let program = toolkit.compile_plainly(&path, &format!("{name}_plain"));
        let finished = run(&program, &[], &[]);
        assert_eq!(finished.code, Some(0), "{name}: {}", finished.stderr);
        let agrees = finished.stdout.contains("values agree with the CPU");
        assert!(agrees, "{name}: {}", finished.stdout);
        count += 1;
    }
    assert!(count >= 16);
}

#[test]
fn a_program_with_its_own_runtime_has_the_same_results_as_one_without() {
    let Some(toolkit) = Toolkit::find() else {
        return;
    };
    let source = example("managed_vector_add");
    let rows = ["shared", "static"].map(|kind| {
        let program = match kind {
            "shared" => toolkit.compile(&source, "add_shared", &[]),
            _ => toolkit.compile_plainly(&source, "add_static"),
        };
        let (mut rows, _) = rows(&program, &[], &[]);
        rows.iter_mut().for_each(|row| row["program"] = Value::Null);
        rows
    });
    assert_eq!(rows[0], rows[1]);
}

#[test]
fn a_program_with_the_runtime_of_cuda_12_runs() {
    let Some(program) = Toolkit::find().and_then(|toolkit| {
        toolkit.compile_plainly_for_12(&source("library.cpp"), "library_plain")
    }) else {
        return;
    };
    let finished = run(&program, &[], &[]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
}

#[test]
fn a_program_without_symbols_says_how_to_build_it() {
    let Some(toolkit) = Toolkit::find() else {
        return;
    };
    let program = toolkit.compile_plainly(&example("managed_vector_add"), "add_stripped");
    let stripped = Command::new("strip").arg(&program).status();
    assert!(stripped.is_ok_and(|status| status.success()));
    let finished = run(&program, &[], &[]);
    assert_ne!(finished.code, Some(0));
    assert!(
        finished.stderr.contains("-cudart shared"),
        "{}",
        finished.stderr
    );
}

/// Compiles a C program without the toolkit's headers, if there is a compiler.
fn compile_c(name: &str) -> Option<PathBuf> {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let compiled = Command::new("gcc")
        .args(["-std=gnu11", "-Wall", "-Werror", "-o"])
        .arg(&program)
        .arg(source(&format!("{name}.c")))
        .args(["-ldl", "-lpthread"])
        .status();
    match compiled {
        Ok(status) => {
            assert!(status.success(), "{name}.c does not compile");
            Some(program)
        }
        Err(_) => {
            pagemill_testkit::skip("there is no gcc");
            None
        }
    }
}

#[test]
fn a_program_of_the_driver_api() {
    let Some(program) = compile_c("driver") else {
        return;
    };
    let (rows, printed) = rows(&program, &[], &[]);
    assert!(printed.contains("the driver answers"), "{printed}");
    // Three ways of launching, in two contexts and in four threads four times; and one from linked code.
    assert_eq!(number(&rows[0], "launches"), 3 * (2 + 4 * 4) + 1);
}

#[test]
fn a_program_of_the_linker() {
    let Some(program) = compile_c("jit_link") else {
        return;
    };
    let (rows, printed) = rows(&program, &[], &[]);
    assert!(printed.contains("the linker answers"), "{printed}");
    assert_eq!(number(&rows[0], "launches"), 4);
}

#[test]
fn the_command_ends_as_the_program_does() {
    let Some(toolkit) = Toolkit::find() else {
        return;
    };
    let program = toolkit.compile(&source("faults.cu"), "faults_exit", &[]);
    assert_eq!(run(&program, &[], &["nothing", "7"]).code, Some(7));
    // The CPU has no business in memory of the GPU: a crash of the program, not of pagemill.
    let crashed = run(&program, &[], &["crash"]);
    assert_eq!(crashed.code, Some(128 + 11), "{}", crashed.stderr);
    let other = run(Path::new("/bin/true"), &[], &[]);
    assert_eq!(other.code, Some(2));
    assert!(
        other
            .stderr
            .contains("neither the CUDA runtime nor the CUDA driver"),
        "{}",
        other.stderr
    );
    assert_eq!(
        run(Path::new("/bin/sh"), &[], &["-c", "exit 5"]).code,
        Some(5)
    );
    let missing = run(Path::new("/nonexistent/program"), &[], &[]);
    assert_eq!(missing.code, Some(2), "{}", missing.stderr);
}

#[test]
fn wrong_settings_are_refused_before_anything_runs() {
    for options in [
        ["--machine", "gtx9999"],
        ["--policy", "magic"],
        ["--set", "transfer.unit=3 B"],
    ] {
        let finished = run(Path::new("/bin/true"), &options, &[]);
        assert_eq!(finished.code, Some(2), "{}", finished.stderr);
    }
}

#[test]
fn a_sweep_runs_the_program_for_each_point() {
    let Some(toolkit) = Toolkit::find() else {
        return;
    };
    let program = toolkit.compile(&example("managed_vector_add"), "add_sweep", &[]);
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out");
    let modes = r#"transfer.mode=["ideal-overlap", "programmer-copy", "multi-range"]"#;
    let (rows, _) = rows(
        &program,
        &["--set", modes, "--out", out.to_str().expect("UTF-8")],
        &[],
    );
    // The program and its kernel three times; pages move for three arrays in the last mode.
    assert_eq!(rows.len(), 9);
    let time = |row: usize| number(&rows[row], "time_ns");
    assert!(
        time(0) < time(4) && time(4) < time(2),
        "{} {} {}",
        time(0),
        time(4),
        time(2)
    );
    let files = crate::common::names(&out);
    assert_eq!(
        files,
        [
            "pages.json",
            "report.html",
            "results.csv",
            "results.json",
            "results.parquet",
            "timeline.pftrace"
        ]
    );
}

#[test]
fn the_library_path_is_all_it_takes() {
    let Some(toolkit) = Toolkit::find() else {
        return;
    };
    let program = toolkit.compile(&example("managed_vector_add"), "add_alone", &[]);
    let folder = tempfile::tempdir().expect("a folder");
    for shim in &pagemill_cudart::api::SHIMS {
        std::fs::write(folder.path().join(shim.file_name), shim.bytes).expect("it can be written");
    }
    let library = Path::new(env!("CARGO_BIN_EXE_pagemill")).with_file_name("deps");
    std::os::unix::fs::symlink(
        library.join(pagemill_cudart::api::LIBRARY),
        folder.path().join(pagemill_cudart::api::LIBRARY),
    )
    .expect("a link");
    let output = Command::new(program)
        .env("LD_LIBRARY_PATH", folder.path())
        .output()
        .expect("it starts");
    let finished = Finished::from(output);
    // The loader warns of symbols without a version; there is nothing to warn of.
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""));
    assert!(finished.stdout.contains("100000 of 100000"));
}

#[test]
fn programs_of_cuda_12_run() {
    let Some(toolkit) = Toolkit::find() else {
        return;
    };
    let Some(program) = toolkit.compile_for_12(&source("library.cpp"), "library12") else {
        return;
    };
    // From PTX, and from what is PTX in place of machine code.
    for arguments in [&[][..], &["machine code"]] {
        let (rows, printed) = rows(&program, &[], arguments);
        assert!(
            printed.contains("CUDA 12, 15 SMs at 1400000 kHz, 0 wrong"),
            "{printed}"
        );
        assert_eq!(rows[1]["kernel"], "square");
        assert_eq!(number(&rows[1], "launches"), 1);
    }
}
