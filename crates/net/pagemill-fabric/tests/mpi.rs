//! Real MPI programs: right bytes, and the same times whenever and wherever they run.

use std::path::Path;
use std::process::Command;

use crate::common::{Finished, Programs, lacks_open_mpi, mpirun, run, succeeds};
use pagemill_fabric::counters::Counter;
use pagemill_fabric::launch::Clocks;
use pagemill_nic::NicMachine;

fn run_ranks(ranks: u32, program: &Path) -> Finished {
    let mut command = mpirun(ranks);
    command.arg(program);
    run(&NicMachine::pni(), Clocks::Mpi, command)
}

/// Processes print when they like: what one prints is in order, who comes first is not.
fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    lines
}

#[test]
fn latency_is_the_same_in_every_run() {
    if let Some(lack) = lacks_open_mpi() {
        return pagemill_testkit::skip(lack);
    }
    let programs = Programs::new();
    let program = programs.compile("mpicc", "latency", &[]);
    let first = run_ranks(2, &program).result();
    assert_eq!(first.lines().count(), 12);
    assert_eq!(first, run_ranks(2, &program).result());
}

#[test]
fn bandwidth_is_the_same_in_every_run_and_below_the_wire() {
    if let Some(lack) = lacks_open_mpi() {
        return pagemill_testkit::skip(lack);
    }
    let programs = Programs::new();
    let program = programs.compile("mpicc", "bandwidth", &[]);
    let first = run_ranks(2, &program).result();
    assert_eq!(first, run_ranks(2, &program).result());
    let wire = NicMachine::pni().wire.bandwidth.bytes_per_second() as f64 / 1e9;
    let rate = |ways: &str| -> f64 {
        let line = first
            .lines()
            .rfind(|line| line.starts_with(ways))
            .expect("a line");
        line.split(' ')
            .nth(2)
            .expect("a rate")
            .parse()
            .expect("a number")
    };
    assert!(rate("one") < wire && rate("one") > 0.8 * wire, "{first}");
    assert!(
        rate("both") < 2.0 * wire && rate("both") > 1.5 * wire,
        "{first}"
    );
}

#[test]
fn programs_that_wait_for_their_clock_come_to_an_end() {
    if let Some(lack) = lacks_open_mpi() {
        return pagemill_testkit::skip(lack);
    }
    let programs = Programs::new();
    let program = programs.compile("mpicc", "clock", &[]);
    let first = run_ranks(2, &program).result();
    let lines = sorted(&first);
    // 10 ns a reading.
    assert!(lines[0].starts_with("rank 0: 99 readings"), "{first}");
    assert!(lines[1].starts_with("rank 1: 100098 readings"), "{first}");
    assert_eq!(lines, sorted(&run_ranks(2, &program).result()));
}

#[test]
fn every_form_of_communication_is_right_and_takes_the_same_time_in_every_run() {
    if let Some(lack) = lacks_open_mpi() {
        return pagemill_testkit::skip(lack);
    }
    let programs = Programs::new();
    let program = programs.compile("mpicc", "collectives", &[]);
    for ranks in [2, 3, 8] {
        let (first, second) = (
            run_ranks(ranks, &program).result(),
            run_ranks(ranks, &program).result(),
        );
        assert_eq!(sorted(&first), sorted(&second), "{ranks} ranks");
        assert_eq!(
            first
                .lines()
                .filter(|line| line.starts_with("rank"))
                .count(),
            ranks as usize
        );
    }
}

#[test]
fn python_programs_run() {
    let python = "/usr/bin/python3";
    if let Some(lack) = lacks_open_mpi() {
        return pagemill_testkit::skip(lack);
    }
    if !succeeds(python, &["-c", "import mpi4py"]) {
        return pagemill_testkit::skip("there is no mpi4py");
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/objects.py");
    for ranks in [2, 4] {
        let times = || {
            let mut command = mpirun(ranks);
            command.arg(python).arg(&script);
            run(&NicMachine::pni(), Clocks::Mpi, command).result()
        };
        let (first, second) = (times(), times());
        assert_eq!(sorted(&first), sorted(&second));
        assert_eq!(first.lines().count(), ranks as usize);
    }
}

/// Settings of HPC Challenge for two processes and the smallest of problems. It reads the first word of each line, in this order,
/// and lines 1, 2 and 32 not at all.
const HPCC_SETTINGS: &str = "\
-
-
solver.out
8 to a file
1 size:
32 rows
1 blocking:
16 columns
0 by rows
1 grid:
1 row of processes
2 columns of processes
16.0 residual allowed
1 way to factor a panel:
2 right
1 smallest panel:
4 columns
1 division:
2 parts
1 way to recurse:
1 Crout
1 broadcast:
1 ring
1 depth:
1 panel ahead
2 swapping mixed
64 columns from which it changes
0 first factor transposed
0 second factor transposed
1 balanced
8 doubles aligned
-
0 more sizes to transpose
0 -
0 more blockings to transpose
0 -
";

#[test]
fn hpc_challenge_passes_its_own_checks_and_measures_the_simulated_interface() {
    if let Some(lack) = lacks_open_mpi() {
        return pagemill_testkit::skip(lack);
    }
    if !Path::new("/usr/bin/hpcc").exists() {
        return pagemill_testkit::skip("there is no HPC Challenge");
    }
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("hpccinf.txt"), HPCC_SETTINGS).expect("settings");
    let mut command = mpirun(2);
    command.arg("hpcc").current_dir(folder.path());
    let machine = NicMachine::pni();
    let finished = run(&machine, Clocks::Mpi, command);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let told = std::fs::read_to_string(folder.path().join("hpccoutf.txt")).expect("results");
    let value = |name: &str| -> f64 {
        let line = told
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix('='));
        let line = line.unwrap_or_else(|| panic!("no {name} in {told}"));
        line.parse().expect("a number")
    };
    assert_eq!(value("Success"), 1.0);
    assert!(!told.contains("FAILED"), "{told}");
    let wire = machine.wire.bandwidth.bytes_per_second() as f64 / 1e9;
    let (bandwidth, latency_us) = (
        value("MaxPingPongBandwidth_GBytes"),
        value("MinPingPongLatency_usec"),
    );
    assert!(
        bandwidth > 0.7 * wire && bandwidth < wire,
        "{bandwidth} of {wire}"
    );
    assert!(latency_us > 1.0 && latency_us < 2.0, "{latency_us}");
}

#[test]
fn netpipe_measures_the_simulated_interface() {
    if let Some(lack) = lacks_open_mpi() {
        return pagemill_testkit::skip(lack);
    }
    if !Path::new("/usr/bin/NPopenmpi").exists() {
        return pagemill_testkit::skip("there is no NetPIPE for Open MPI");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let measure = |options: &[&str], clocks: Clocks| {
        let table = folder.path().join("np.out");
        let mut command = mpirun(2);
        command
            .arg("NPopenmpi")
            .args(["-u", "70000", "-n", "20", "-o"])
            .arg(&table)
            .args(options);
        let finished = run(&NicMachine::pni(), clocks, command);
        assert_eq!(
            finished.code,
            Some(0),
            "{}\n{}",
            finished.stdout,
            finished.stderr
        );
        (finished, table)
    };
    let read = |(_, table)| std::fs::read_to_string(table).expect("a table");
    let first = read(measure(&[], Clocks::Program));
    assert_eq!(first, read(measure(&[], Clocks::Program)));
    // Bytes, Mbit/s, seconds. One byte takes about a microsecond, the clock's resolution spread over 20 repetitions.
    let seconds: f64 = first
        .lines()
        .next()
        .and_then(|line| line.split_whitespace().nth(2))
        .and_then(|word| word.parse().ok())
        .expect("a time");
    assert!((1e-6..2e-6).contains(&seconds), "{first}");
    // Its own check of every byte.
    let (checked, _) = measure(&["-i"], Clocks::Mpi);
    let said = format!("{}{}", checked.stdout, checked.stderr);
    assert!(
        said.contains("Integrity check") || said.contains("passed"),
        "{said}"
    );
}

#[test]
fn a_killed_rank_leaves_nothing_behind() {
    if let Some(lack) = lacks_open_mpi() {
        return pagemill_testkit::skip(lack);
    }
    let programs = Programs::new();
    let program = programs.compile("mpicc", "killed", &[]);
    let finished = run_ranks(2, &program);
    assert_ne!(finished.code, Some(0), "{}", finished.stdout);
    assert_eq!(
        finished.stations.len(),
        2,
        "the counters outlive the processes"
    );
    let mapped = |process: &std::fs::DirEntry| {
        let maps = std::fs::read_to_string(process.path().join("maps")).unwrap_or_default();
        let own = process.file_name().to_string_lossy() == std::process::id().to_string();
        let command = std::fs::read_to_string(process.path().join("cmdline")).unwrap_or_default();
        !own && command.contains("killed") && maps.contains("memfd:pagemill-fabric")
    };
    // The launcher reports the death before the last process is gone.
    for _ in 0..200 {
        let processes = std::fs::read_dir("/proc").expect("processes");
        if !processes.flatten().any(|process| mapped(&process)) {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("a process of the job still holds its memory");
}

#[test]
fn a_program_without_mpi_is_left_alone() {
    let mut command = Command::new("date");
    command.arg("+%s");
    let finished = run(&NicMachine::pni(), Clocks::Program, command);
    assert_eq!(finished.code, Some(0));
    assert!(finished.stations.is_empty());
    let seconds: u64 = finished.stdout.trim().parse().expect("a time");
    assert!(seconds > 1_700_000_000);
}

#[test]
fn shared_windows_are_shared_memory_and_others_go_through_the_interface() {
    if let Some(lack) = lacks_open_mpi() {
        return pagemill_testkit::skip(lack);
    }
    let programs = Programs::new();
    let program = programs.compile("mpicc", "windows", &[]);
    let finished = run_ranks(3, &program);
    assert_eq!(
        (finished.code, sorted(&finished.stdout)),
        (
            Some(0),
            vec!["rank 0: right", "rank 1: right", "rank 2: right"]
        ),
        "{}",
        finished.stderr
    );
}

#[test]
fn windows_over_messages_for_several_threads_are_refused_with_the_way_out() {
    if let Some(lack) = lacks_open_mpi() {
        return pagemill_testkit::skip(lack);
    }
    let programs = Programs::new();
    let program = programs.compile("mpicc", "threads", &[]);
    for (level, outcome, told) in [("multiple", "refused", 3), ("funneled", "made", 0)] {
        let mut command = mpirun(2);
        command.arg(&program).arg(level);
        let finished = run(&NicMachine::pni(), Clocks::Mpi, command);
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        let end = format!(": {outcome}");
        let outcomes = finished.stdout.lines().filter(|line| line.ends_with(&end));
        assert_eq!(outcomes.count(), 6, "{}", finished.stdout);
        // One rank says so, for each way.
        let lines = finished.stderr.matches("under MPI_THREAD_MULTIPLE");
        assert_eq!(lines.count(), told, "{}", finished.stderr);
        let ways = finished.stderr.matches("MPI4PY_RC_THREAD_LEVEL=funneled");
        assert_eq!(ways.count(), told, "{}", finished.stderr);
    }
}

#[test]
fn another_mpi_library_is_refused_by_name() {
    let lacks = ["mpicc.mpich", "mpirun.mpich"].map(|program| !succeeds(program, &["--version"]));
    if lacks.contains(&true) {
        return pagemill_testkit::skip("there is no MPICH");
    }
    let programs = Programs::new();
    let program = programs.compile("mpicc.mpich", "threads", &[]);
    let mut command = Command::new("mpirun.mpich");
    command.args(["-n", "2"]).arg(&program);
    let finished = run(&NicMachine::pni(), Clocks::Mpi, command);
    assert_eq!(finished.code, Some(2), "{}", finished.stderr);
    let told = finished
        .stderr
        .matches("the program's MPI library is MPICH ");
    assert_eq!(told.count(), 1, "{}", finished.stderr);
}

#[test]
fn every_picosecond_of_a_clock_has_one_cause() {
    if let Some(lack) = lacks_open_mpi() {
        return pagemill_testkit::skip(lack);
    }
    let causes = [
        Counter::SendSoftwarePs,
        Counter::ReceiveSoftwarePs,
        Counter::WriteSoftwarePs,
        Counter::ReadSoftwarePs,
        Counter::SendWaitPs,
        Counter::ReceiveWaitPs,
        Counter::WriteWaitPs,
        Counter::ReadWaitPs,
        Counter::ProbeWaitPs,
        Counter::ClockPs,
        Counter::StartPs,
        Counter::ComputePs,
    ];
    let programs = Programs::new();
    for name in ["collectives", "clock"] {
        let program = programs.compile("mpicc", name, &[]);
        for station in run_ranks(2, &program).stations {
            let of = |counter: &Counter| station.counters[*counter as usize];
            let sum: u64 = causes.iter().map(of).sum();
            assert_eq!(sum, station.clock_ps, "{name}, rank {}", station.index);
            assert!(of(&Counter::ReceiveWaitPs) > 0, "{name}");
        }
    }
}
