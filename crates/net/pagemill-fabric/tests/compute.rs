//! Computing takes virtual time when it is asked to: as measured, or the same in every run.

use crate::common::{Finished, Programs, lacks_open_mpi, mpirun, run_with};
use pagemill_fabric::counters::Counter;
use pagemill_fabric::launch::{Behavior, ComputeTime};
use pagemill_linux::library::emulator;
use pagemill_nic::NicMachine;

fn run(program: &std::path::Path, compute: ComputeTime) -> (Finished, String) {
    let behavior = Behavior {
        compute,
        records_compute: true,
        ..Behavior::default()
    };
    let mut command = mpirun(2);
    command.arg(program);
    let (finished, record) = run_with(&NicMachine::pni(), behavior, command);
    (finished, record.expect("it was asked for"))
}

/// Runs whose computing is measured until the order of time is kept. On a loaded machine, a wait can take so much CPU time that it is
/// taken for computing; then the order is lost, and counted.
fn run_measured(program: &std::path::Path, factor: f64) -> (Finished, String) {
    let mut runs = (0..5).map(|_| run(program, ComputeTime::Measured(factor)));
    let is_kept = |(finished, _): &(Finished, String)| finished.sum(Counter::LateSteps) == 0;
    runs.find(is_kept).expect("an order that is kept")
}

/// CPU seconds within the two readings of the virtual clock, seconds of that clock, CPU seconds around them; for each rank.
fn brackets(text: &str) -> Vec<[f64; 3]> {
    let lines = text.lines().filter(|line| line.contains("bracket"));
    let numbers = |line: &str| -> Vec<f64> {
        let words = line.split(' ').skip(3);
        words.map(|word| word.parse().expect("a number")).collect()
    };
    lines
        .map(|line| numbers(line).try_into().expect("three numbers"))
        .collect()
}

fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().filter(|line| line.contains("ends")).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn computing_takes_its_cpu_time_and_replays_exactly() {
    if let Some(lack) = lacks_open_mpi() {
        return pagemill_testkit::skip(lack);
    }
    let programs = Programs::new();
    let program = programs.compile("mpicc", "compute", &[]);

    let (none, record) = run(&program, ComputeTime::None);
    assert_eq!(record.lines().count(), 1, "{record}");
    assert!(none.sum(Counter::ComputeLeftOutNs) > 0);
    for [_, virtual_s, _] in brackets(&none.result()) {
        // The two readings.
        assert!(virtual_s < 1e-7, "{virtual_s}");
    }

    for factor in [1.0, 3.0] {
        let (measured, _) = run_measured(&program, factor);
        let found = brackets(&measured.result());
        assert_eq!(found.len(), 2);
        for [inner, virtual_s, outer] in found {
            let is_within = inner * factor <= virtual_s && virtual_s <= outer * factor;
            assert!(is_within, "{inner} x {factor}, {virtual_s}, {outer}");
        }
    }

    let (measured, record) = run_measured(&program, 1.0);
    let file = programs.path().join("record");
    std::fs::write(&file, &record).expect("a file");
    let ends = measured.result();
    for _ in 0..2 {
        let (replayed, again) = run(&program, ComputeTime::Recorded(file.clone()));
        assert_eq!(replayed.sum(Counter::ComputeUnreached), 0);
        assert_eq!(again, record);
        assert_eq!(sorted(&replayed.result()), sorted(&ends));
    }

    // A record of another program is noticed.
    let other = format!("{record}0,999999,1\n");
    std::fs::write(&file, other).expect("a file");
    let (replayed, _) = run(&program, ComputeTime::Recorded(file));
    assert_eq!(replayed.sum(Counter::ComputeUnreached), 1);
}

#[test]
fn counted_instructions_take_the_same_time_in_every_run() {
    let lack = lacks_open_mpi().or_else(lacks_emulator);
    if let Some(lack) = lack {
        return pagemill_testkit::skip(lack);
    }
    let programs = Programs::new();
    let program = programs.compile("mpicc", "compute", &[]);
    let counted = |instruction_ps| {
        let compute = ComputeTime::Counted {
            instruction_ps,
            emulator: emulator("this test").expect("it was found"),
        };
        run(&program, compute)
    };
    let (finished, record) = counted(500);
    assert_eq!(finished.sum(Counter::LateSteps), 0);
    let (again, other) = counted(500);
    assert_eq!(other, record);
    let text = finished.result();
    assert_eq!(sorted(&again.result()), sorted(&text));

    // A shell that starts the program runs in QEMU itself, and keeps the variable that says so.
    let mut command = mpirun(2);
    command.args(["bash", "-c", "exec \"$0\""]).arg(&program);
    let behavior = Behavior {
        compute: ComputeTime::Counted {
            instruction_ps: 500,
            emulator: emulator("this test").expect("it was found"),
        },
        records_compute: true,
        ..Behavior::default()
    };
    let (_, by_shell) = run_with(&NicMachine::pni(), behavior, command);
    assert_eq!(by_shell.expect("it was asked for"), record);

    // A step is a load, a multiplication, an addition, a store, and the loop's end: 5 to 10 instructions at any level of optimization.
    let [first, _] = brackets(&text)[..] else {
        panic!("two ranks")
    };
    let instructions = first[1] / 500e-12;
    assert!(
        (5.0 * STEPS..10.0 * STEPS).contains(&instructions),
        "{instructions}"
    );
    // All that is charged is instructions.
    let (_, slower) = counted(1500);
    let picoseconds = |record: &str| -> Vec<u64> {
        let charges = record
            .lines()
            .skip(1)
            .filter_map(|line| line.rsplit(',').next());
        charges
            .map(|text| text.parse().expect("a number"))
            .collect()
    };
    let tripled: Vec<u64> = picoseconds(&record).iter().map(|ps| 3 * ps).collect();
    assert_eq!(picoseconds(&slower), tripled);
}

/// Steps of the loop between the two readings of the clock in `compute.c`.
const STEPS: f64 = 3e6;

fn lacks_emulator() -> Option<&'static str> {
    emulator("this test")
        .is_err()
        .then_some("there is no QEMU in user mode")
}
