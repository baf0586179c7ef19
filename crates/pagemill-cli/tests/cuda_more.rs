//! CUDA programs that use more of the runtime than most: conditional graphs, levels of images, memory of other processes.

#[allow(dead_code, reason = "each test program uses its part")]
#[path = "common/mod.rs"]
mod common;
#[allow(dead_code, reason = "each test program uses its part")]
#[path = "common/cuda.rs"]
mod toolkit;

use std::path::Path;

use common::{Finished, pagemill};
use toolkit::Toolkit;

/// Compiles with `flags` and runs a program under each of `options`, which has to find nothing wrong.
fn finds_nothing_wrong(name: &str, flags: &[&str], options: &[&[&str]]) {
    let Some(toolkit) = Toolkit::find() else {
        return;
    };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/cuda/{name}.cu"));
    let program = toolkit.compile(&source, name, flags);
    for options in options {
        let mut command = pagemill(&std::env::temp_dir());
        command.arg("cuda").args(*options).arg("--").arg(&program);
        let finished = Finished::from(command.output().expect("the command starts"));
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
fn nodes_of_graphs_are_read_and_changed() {
    finds_nothing_wrong("graph_parameters", &[], &[&[], &["--functional"]]);
}

#[test]
fn images_have_levels_faces_and_views() {
    finds_nothing_wrong("levels", &[], &[&[], &["--functional"]]);
}

#[test]
fn processes_share_memory_and_events() {
    finds_nothing_wrong("ipc", &[], &[&[], &["--functional"]]);
}

#[test]
fn blocks_meet_by_calls_of_the_device_runtime() {
    finds_nothing_wrong("grids", &["-rdc=true"], &[&[], &["--functional"]]);
}
