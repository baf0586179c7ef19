//! Results of `pagemill mpi`: where each rank spent its time.

use std::path::Path;
use std::process::Command;

use crate::common::run_in;
use pagemill_map::Map;
use pagemill_nic::NicMachine;
use serde_json::Value;

const PROGRAM: &str = r#"
#include <mpi.h>
#include <stdio.h>
static char bytes[64 << 10];
int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int turn = 0; turn < 10; turn++) {
        if (rank == 0)
            MPI_Send(bytes, sizeof bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(bytes, sizeof bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    printf("rank %d is done\n", rank);
    MPI_Finalize();
    return 0;
}
"#;

/// Compiles the program as `program`; says whether there is a compiler.
fn compile(folder: &Path) -> bool {
    compile_source(folder, PROGRAM)
}

fn compile_source(folder: &Path, source: &str) -> bool {
    std::fs::write(folder.join("program.c"), source).expect("a file");
    let mut command = Command::new("mpicc");
    command.args(["-o", "program", "program.c"]);
    match command.current_dir(folder).status() {
        Ok(status) => {
            assert!(status.success());
            true
        }
        Err(_) => {
            pagemill_testkit::skip("there is no mpicc");
            false
        }
    }
}

#[test]
fn each_rank_and_each_kind_of_call_has_a_row() {
    let folder = tempfile::tempdir().expect("a folder");
    if !compile(folder.path()) {
        return;
    }
    let sweep = "machine.att.page=[\"8 KiB\", \"2 MiB\"]";
    let options = ["mpi", "--format", "json", "--out", "out", "--set", sweep];
    let command = [
        "--",
        "mpirun",
        "--allow-run-as-root",
        "-n",
        "2",
        "./program",
    ];
    let finished = run_in(folder.path(), &[&options[..], &command].concat());
    // Its output goes beside the results.
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert_eq!(finished.stderr.matches("is done").count(), 4);
    let results: Value = serde_json::from_str(&finished.stdout).expect("JSON");
    let rows = results["rows"].as_array().expect("rows");
    let number = |row: &Value, column: &str| row[column].as_f64().expect("a number");
    let whole: Vec<&Value> = rows.iter().filter(|row| row["table"] == "rank").collect();
    assert_eq!(whole.len(), 4, "two ranks on two machines");
    for row in whole {
        let causes = ["software", "wait", "compute", "clock", "start"];
        let causes = causes.map(|cause| number(row, &format!("{cause}_time_ns")));
        let sum: f64 = causes.iter().sum();
        assert!((sum - number(row, "time_ns")).abs() < 0.001, "{row}");
        assert_eq!(row["late_steps"], 0);
    }
    for row in rows {
        let causes = [
            "partner",
            "wire",
            "table",
            "port",
            "busy",
            "interface",
            "software",
        ];
        let causes = causes.map(|cause| number(row, &format!("{cause}_wait_time_ns")));
        let sum: f64 = causes.iter().sum();
        assert!((sum - number(row, "wait_time_ns")).abs() < 0.001, "{row}");
    }
    let is_of = |row: &&Value, call: &str, rank: u64| row["call"] == call && row["rank"] == rank;
    for (call, rank) in [("send", 0), ("receive", 1)] {
        let row = rows
            .iter()
            .find(|row| is_of(row, call, rank))
            .expect("a row");
        assert!(number(row, "operations") >= 10.0, "{row}");
        assert!(number(row, "bytes") >= f64::from(10 * (64 << 10)), "{row}");
        assert!(number(row, "wait_time_ns") > 0.0, "{row}");
    }
    let read = |name: &str| std::fs::read_to_string(folder.path().join("out").join(name));
    let written: Value =
        serde_json::from_str(&read("results.json").expect("a file")).expect("JSON");
    assert_eq!(written, results);
    let page = read("report.html").expect("a page");
    assert!(page.contains("receive"));
    assert_eq!(page.matches("table of rank").count(), 4);
    let pages = pagemill_report::pages::read(&read("pages.json").expect("maps")).expect("maps");
    for (map, rows) in pages
        .iter()
        .zip(rows.iter().filter(|row| row["table"] == "rank"))
    {
        uses_are_lookups(map, rows);
    }
}

/// Each look-up of a rank is an event of the map of its translation table, and each line that it fetched came once.
fn uses_are_lookups(map: &pagemill_report::PageMap, rank: &Value) {
    let number = |column: &str| rank[column].as_u64().expect("a count");
    let map = Map::decode(&map.data).expect("a map");
    let events = |cause: &str| -> u64 {
        let causes = map.legend.causes.iter();
        let is_it = causes.map(|known| known.name == cause);
        let columns = map.counts.chunks(map.legend.causes.len());
        let of_column = |column: &[u64]| {
            let chosen = column.iter().zip(is_it.clone()).filter(|(_, is_it)| *is_it);
            chosen.map(|(count, _)| count).sum::<u64>()
        };
        columns.map(of_column).sum()
    };
    assert_eq!(events("used"), number("att_lookups"));
    let group = NicMachine::pni().att.layout.group_entries;
    assert_eq!(events("miss"), number("att_misses") * u64::from(group));
}

#[test]
fn a_machine_with_switches_is_refused() {
    let command = ["--machine", "pni-clos-2", "--", "mpirun", "./program"];
    let refused = crate::common::run(&[&["mpi"], &command[..]].concat());
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("of switches"), "{}", refused.stderr);
}

#[test]
fn a_timeline_names_calls_causes_and_senders() {
    let folder = tempfile::tempdir().expect("a folder");
    if !compile(folder.path()) {
        return;
    }
    let command = [
        "mpi",
        "--timeline",
        "times.pftrace",
        "--",
        "mpirun",
        "--allow-run-as-root",
        "-n",
        "2",
        "./program",
    ];
    let finished = run_in(folder.path(), &command);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let trace = std::fs::read(folder.path().join("times.pftrace")).expect("a file");
    let trace = String::from_utf8_lossy(&trace);
    for name in [
        "rank 1",
        "messages to it",
        "wait for a receive",
        "partner",
        "wire",
        "from rank 0",
    ] {
        assert!(trace.contains(name), "{name}");
    }
}

#[test]
fn what_cannot_be_set_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("full")).expect("a folder");
    std::fs::write(folder.path().join("full/letter.txt"), "mine").expect("a file");
    let cases: [(&[&str], &str); 5] = [
        (&["--set", "seed=3"], "values of the machine only"),
        (&["--set", "machine.att.pgae=3"], "machine.att.pgae"),
        (
            &[
                "--compute-out",
                "times.csv",
                "--set",
                "machine.wire.hops=[1, 2]",
            ],
            "makes 2 of them",
        ),
        (
            &[
                "--timeline",
                "times.pftrace",
                "--set",
                "machine.wire.hops=[1, 2]",
            ],
            "--timeline is the record of one run",
        ),
        (&["--out", "full"], "full"),
    ];
    for (options, expected) in cases {
        let command = [&["mpi"], options, &["--", "touch", "started"]].concat();
        let text = run_in(folder.path(), &command).error(2);
        assert!(text.replace('\n', " ").contains(expected), "{text}");
        assert!(!folder.path().join("started").exists());
    }
}

/// A program whose last rank can write no file that is longer than four bytes, as on a full disk.
const FULL_DISK: &str = r#"
#include <mpi.h>
#include <signal.h>
#include <sys/resource.h>
int main(int argc, char **argv)
{
    int rank;
    double sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int turn = 0; turn < 3; turn++) {
        for (int i = 0; i < 3000000; i++)
            sum += 1.0 / (i + 1);
        MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 1) {
        struct rlimit few = {4, 4};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &few);
    }
    MPI_Finalize();
    return sum < 0;
}
"#;

#[test]
fn a_full_disk_leaves_no_part_of_a_record() {
    let folder = tempfile::tempdir().expect("a folder");
    if !compile_source(folder.path(), FULL_DISK) {
        return;
    }
    let command = [
        "--",
        "mpirun",
        "--allow-run-as-root",
        "-n",
        "2",
        "./program",
    ];
    let records: [(&[&str], &str); 2] = [
        (
            &["--compute", "measured", "--compute-out", "kept"],
            "record of its computing",
        ),
        (&["--timeline", "kept"], "events for a timeline"),
    ];
    for (options, lack) in records {
        let finished = run_in(folder.path(), &[&["mpi"], options, &command].concat());
        assert_eq!(finished.code, Some(1), "{}", finished.stderr);
        let said = "cannot write down what was recorded: File too large";
        assert!(finished.stderr.contains(said), "{}", finished.stderr);
        assert!(
            finished.stderr.contains("rank 1 (process "),
            "{}",
            finished.stderr
        );
        assert!(finished.stderr.contains(lack), "{}", finished.stderr);
        assert!(!folder.path().join("kept").exists());
    }
}
