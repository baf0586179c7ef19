//! libfabric's interface with bad input, from C.

use std::process::Command;

use crate::common::{Programs, lacks_libfabric, run};
use pagemill_fabric::counters::Counter;
use pagemill_fabric::launch::Clocks;
use pagemill_nic::NicMachine;

#[test]
fn bad_operations_end_with_the_error_of_a_real_interface_and_are_counted() {
    if let Some(lack) = lacks_libfabric() {
        return pagemill_testkit::skip(lack);
    }
    let programs = Programs::new();
    let program = programs.compile("cc", "errors", &["-lfabric"]);
    let finished = run(&NicMachine::pni(), Clocks::Mpi, Command::new(program));
    let lines: Vec<&str> = finished.stdout.lines().collect();
    assert_eq!(finished.code, Some(0), "{lines:?}\n{}", finished.stderr);
    assert_eq!(lines.len(), 16, "{lines:?}");
    // Three outside of the memory, one unregistered, one deregistered, one key of an earlier registration: at the target.
    assert_eq!(finished.sum(Counter::RejectedOutOfBounds), 3);
    assert_eq!(finished.sum(Counter::RejectedUnregistered), 2);
    assert_eq!(finished.sum(Counter::RejectedWrongKey), 1);
    // And with those to a closed port, and the truncated message: at who asked.
    assert_eq!(finished.sum(Counter::ErrorCompletions), 6 + 2 + 1);
}
