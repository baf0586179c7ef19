//! CUDA programs that use more of the runtime than most: conditional graphs, levels of images, memory of other processes.

use std::path::{Path, PathBuf};

use crate::common::{Finished, on, pagemill};
use crate::toolkit::Toolkit;
use serde_json::Value;

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/cuda/{name}.cu"))
}

fn run(program: &Path, options: &[&str], arguments: &[&str]) -> Finished {
    let mut command = pagemill(&std::env::temp_dir());
    command.arg("cuda").args(on("gtx480", options)).arg("--");
    command.arg(program).args(arguments);
    Finished::from(command.output().expect("the command starts"))
}

/// Compiles with `flags` and runs a program under each of `options`, which has to find nothing wrong.
fn finds_nothing_wrong(name: &str, flags: &[&str], options: &[&[&str]]) {
    let Some(toolkit) = Toolkit::find() else {
        return;
    };
    let program = toolkit.compile(&source(name), name, flags);
    for options in options {
        let finished = run(&program, options, &[]);
        let said = format!("{options:?}: {}{}", finished.stdout, finished.stderr);
        assert_eq!(finished.code, Some(0), "{said}");
        assert!(finished.stdout.contains("0 wrong"), "{said}");
    }
}

#[test]
fn kernels_choose_what_a_graph_does() {
    finds_nothing_wrong("conditionals", &[], &[&[], &["--functional"], &["--check"]]);
}

#[test]
fn nodes_of_executable_graphs_change() {
    finds_nothing_wrong("graph_parameters", &[], &[&[], &["--functional"]]);
}

#[test]
fn images_have_levels_faces_and_views() {
    finds_nothing_wrong("levels", &[], &[&[], &["--functional"]]);
}

#[test]
fn copies_and_prefetches_come_in_batches() {
    let driver = ["--machine", "a100-pcie4-x86"];
    finds_nothing_wrong("batches", &[], &[&driver]);
}

#[test]
fn kernels_wait_for_the_host_and_for_each_other() {
    let driver = ["--machine", "a100-pcie4-x86"];
    let options: [&[&str]; 4] = [&[], &["--functional"], &["--check"], &driver];
    finds_nothing_wrong("meet", &[], &options);
}

#[test]
fn processes_share_memory_and_events() {
    finds_nothing_wrong("ipc", &[], &[&[], &["--functional"]]);
}

#[test]
fn resident_blocks_wait_for_each_other() {
    let oversubscribed = ["--oversubscribe", "1", "--machine", "v100-pcie"];
    let options: [&[&str]; 4] = [&[], &["--functional"], &["--check"], &oversubscribed];
    finds_nothing_wrong("turns", &["-std=c++17"], &options);
}

#[test]
fn blocks_meet_by_calls_of_the_device_runtime() {
    finds_nothing_wrong("grids", &["-rdc=true"], &[&[], &["--functional"]]);
}

/// Machine code without PTX is the fault of the file that brings it.
#[test]
fn a_library_without_ptx_is_named() {
    let Some(toolkit) = Toolkit::find() else {
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("written");
        path
    };
    let library = "#include <cuda_runtime.h>\n__global__ void one(int* data) { *data = 1; }\n\
        extern \"C\" int launch(int* data) { one<<<1, 1>>>(data); return cudaGetLastError(); }\n";
    let library = write("part.cu", library);
    let flags = [
        "-shared",
        "-Xcompiler",
        "-fPIC",
        "-gencode",
        "arch=compute_75,code=sm_75",
    ];
    let library = toolkit.compile(&library, "libpart.so", &flags);
    let program = "#include <cuda_runtime.h>\nextern \"C\" int launch(int*);\n\
        int main() { int* data; cudaMalloc(&data, 4); return launch(data) != 209; }\n";
    let program = write("whole.cu", program);
    let beside = library.parent().expect("a folder").to_str().expect("UTF-8");
    let rpath = format!("-rpath={beside}");
    let flags = ["-L", beside, "-lpart", "-Xlinker", &rpath];
    let program = toolkit.compile(&program, "whole_with_part", &flags);
    let finished = run(&program, &["--functional"], &[]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let said = finished
        .stderr
        .lines()
        .find(|line| line.contains("but no PTX"));
    let said = said.unwrap_or_else(|| panic!("{}", finished.stderr));
    assert!(
        said.contains("libpart.so, not by the program itself"),
        "{said}"
    );
}

/// For programs with bulk copies.
const HOPPER: [&str; 4] = [
    "-gencode",
    "arch=compute_90,code=compute_90",
    "-std=c++17",
    "-lineinfo",
];

/// Runs a program in each way; with the argument "early", it reads at the line that ends in `// HERE early` what a copy has not
/// brought yet, and the copy changes what was read.
fn copies_arrive_before_they_are_used(name: &str) {
    let machine = ["--machine", "h100"];
    let functional = ["--machine", "h100", "--functional"];
    let check = ["--machine", "h100", "--check"];
    finds_nothing_wrong(name, &HOPPER, &[&machine, &functional, &check]);
    let Some(toolkit) = Toolkit::find() else {
        return;
    };
    let program = toolkit.compile(&source(name), &format!("{name}_early"), &HOPPER);
    let finished = run(&program, &check, &["early"]);
    let text = std::fs::read_to_string(source(name)).expect("the source");
    let line = text
        .lines()
        .position(|line| line.ends_with("// HERE early"));
    let early = format!(
        "uninitialized at {name}.cu:{},",
        line.expect("its line") + 1
    );
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
    for found in [&early[..], &format!("shared-race at {name}.cu:")] {
        assert!(finished.stderr.contains(found), "{}", finished.stderr);
    }
}

#[test]
fn bulk_copies_arrive_before_they_are_used() {
    copies_arrive_before_they_are_used("bulk_copy");
}

#[test]
fn tiles_of_tensors_arrive_before_they_are_used() {
    copies_arrive_before_they_are_used("tensor_copy");
}

/// Behind the wait for a product its tiles have been read for the whole group: one thread may load over them without a barrier.
#[test]
fn warp_groups_multiply_tiles_of_tensors() {
    let name = "warp_groups";
    let flags = [
        "-gencode",
        "arch=compute_90a,code=compute_90a",
        "-std=c++17",
    ];
    let machine = ["--machine", "h100"];
    let functional = ["--machine", "h100", "--functional"];
    let check = ["--machine", "h100", "--check"];
    finds_nothing_wrong(name, &flags, &[&machine, &functional, &check]);
    let Some(toolkit) = Toolkit::find() else {
        return;
    };
    let program = toolkit.compile(&source(name), &format!("{name}_early"), &flags);
    let finished = run(&program, &check, &["early"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(!finished.stderr.contains("check: "), "{}", finished.stderr);
}

#[test]
fn a_time_says_of_which_gpu_and_mode_it_is() {
    let Some(toolkit) = Toolkit::find() else {
        return;
    };
    let source =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples/cuda/managed_vector_add.cu");
    let program = toolkit.compile(&source, "named", &[]);
    let told = |options: &[&str]| {
        let mut command = pagemill(&std::env::temp_dir());
        command.arg("cuda").args(options).arg("--").arg(&program);
        Finished::from(command.output().expect("the command starts"))
    };
    let table = told(&[]).stderr;
    let first = table.lines().next().unwrap_or_default();
    assert!(
        first.contains(" on h100-sxm (H100 SXM5") && first.ends_with("), on-demand"),
        "{table}"
    );
    assert!(
        table.contains("KiB over the link; compare --mode programmer-copy"),
        "{table}"
    );
    let results: Value = serde_json::from_str(&told(&["--format", "json"]).stdout).expect("JSON");
    assert_eq!(results["rows"][0]["gpu"], "h100-sxm");
    assert!(
        results["subject"]
            .as_str()
            .is_some_and(|it| it.ends_with("on-demand"))
    );
    for (options, part) in [
        (["--detail", "pages"], Some("at least ")),
        (["--functional", "--mode=on-demand"], None),
    ] {
        let table = told(&options).stderr;
        let (rows, _) = table.rsplit_once("page_faults").unwrap_or((&table, ""));
        assert!(part.is_none_or(|part| rows.contains(part)), "{table}");
        assert!(!rows.contains(" 0 ns"), "{table}");
    }
}

#[test]
fn a_load_beyond_an_allocation_passes_where_a_card_rounds_memory() {
    let Some(toolkit) = Toolkit::find() else {
        return;
    };
    let program = toolkit.compile(&source("faults"), "faults_beyond", &[]);
    let refused = "cudaErrorIllegalAddress";
    for (options, passes) in [
        (&[][..], true),
        (&["--functional"][..], true),
        (&["--set", "limits.read_granule=0 B"][..], false),
        (&["--check"][..], false),
    ] {
        let finished = run(&program, options, &["beyond"]);
        let codes: Vec<&str> = finished.stdout.lines().take(5).collect();
        assert_eq!(codes[1] == "cudaSuccess", passes, "{options:?}: {codes:?}");
        assert_eq!(codes[4], refused, "{options:?}: {}", finished.stderr);
        let said = format!("{}{}", finished.stdout, finished.stderr);
        let is_noted = said.contains("loads beyond an allocation read zeros: 1, in rows: 1");
        assert_eq!(is_noted, passes, "{options:?}: {said}");
        let is_named = (finished.stderr).contains("kernel read_at: load of 4 bytes at ")
            && finished.stderr.contains(". A card maps memory");
        assert_eq!(is_named, passes, "{options:?}: {said}");
    }
}

#[test]
fn the_environment_can_be_seen() {
    let finished = run(Path::new("/bin/true"), &["--verbose"], &[]);
    for name in [
        "LD_LIBRARY_PATH=FOLDER",
        "LD_PRELOAD=FOLDER/",
        "TRITON_PTXAS_PATH=FOLDER/ptxas",
        "PYTHONPATH=FOLDER/python",
        "TORCHINDUCTOR_MAX_AUTOTUNE_GEMM_BACKENDS=TRITON",
    ] {
        assert!(finished.stderr.contains(name), "{}", finished.stderr);
    }
}
