//! Unchanged programs under the library, at a fraction of their memory.

mod meaning;
mod programs;
mod real;
mod ways;

use std::path::PathBuf;
use std::process::{Command, Output};

use pagemill_pager::{SETUP_VARIABLE, Setup};
use pagemill_testkit::skip;

/// Where cargo puts the library: beside this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("this program");
    let folder = test.parent().expect("a folder");
    let library = folder.join("libpagemill_pager_preload.so");
    assert!(library.is_file(), "no {}", library.display());
    library
}

fn has_userfault() -> bool {
    use pagemill_linux::userfault::{Feature, Support};
    let is_there =
        Support::probe().is_some_and(|support| support.system_calls && support.has(Feature::Move));
    if !is_there {
        skip("there is no userfaultfd with UFFDIO_MOVE for this user");
    }
    is_there
}

fn preload(command: &mut Command, setup: &Setup) {
    command.env("LD_PRELOAD", library());
    command.env(SETUP_VARIABLE, setup.to_json());
}

fn run(mut command: Command, setup: &Setup) -> Output {
    preload(&mut command, setup);
    command.output().expect("it runs")
}
