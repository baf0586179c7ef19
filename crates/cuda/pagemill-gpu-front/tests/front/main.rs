//! Programs behind the library, over a stand-in for the driver that says what it is asked for.

use std::path::{Path, PathBuf};
use std::process::Command;

use pagemill_gpu::{FRONT_FOLDER, FRONT_MANAGED, FrontReport, HINTS_FILE, Outcome};
use pagemill_linux::library;
use pagemill_testkit::skip;

const HINTS: &str = r#"
program = "program"
machine = ""
allocation = [{ number = 1, bytes = 8192, name = "a" }, { number = 2, bytes = 4096, name = "b" }]
call = [
    { allocation = 1, action = "read-mostly" },
    { allocation = 2, action = "prefer-cpu" },
    { allocation = 2, action = "accessed-by-gpu" },
    { allocation = 1, action = "prefetch-gpu", before_launch = 2, ranges = [[0, 4096], [6144, 8192]] },
]
"#;

/// What the stand-in says of the program with these hints.
const WITH_HINTS: &str = "init 0 0 0 0
allocate 1048576 8192 1 0
advise 1048576 8192 1 0
allocate 2097152 4096 1 0
advise 2097152 4096 3 -1
advise 2097152 4096 5 0
launch 1 3 0 0
prefetch 1048576 4096 0 4
prefetch 1054720 2048 0 4
launch 2 3 0 4
wait 0 0 0 0
future 42 0 0 0
free 2097152 0 0 0
";

/// What it says of a program that asks for memory of the GPU in every way: as it is, and with managed memory.
const OF_THE_GPU: &str = "init 0 0 0 0
device 100 0 0 0
device 600 3 4 0
pitch 600
pool 200 0 0 4
pool 300 0 0 4
free to the pool 983040 0 0 4
pool 200 0 0 7
pool 300 0 0 7
free to the pool 983040 0 0 7
";
const MANAGED: &str = "init 0 0 0 0
allocate 1048576 100 1 0
allocate 2097152 3072 1 0
pitch 1024
allocate 3145728 200 1 0
allocate 4194304 300 1 0
wait 0 0 0 4
free 4194304 0 0 0
pool 200 0 0 7
pool 300 0 0 7
free to the pool 983040 0 0 7
";

/// A folder with the stand-in and a program.
struct Setup {
    folder: tempfile::TempDir,
}

/// What a program left.
struct Left {
    said: String,
    reports: Vec<FrontReport>,
}

fn compile(folder: &Path, out: &str, source: &str, flags: &[&str]) -> bool {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/front")
        .join(source);
    let mut command = Command::new("cc");
    command
        .args(["-Wall", "-Werror", "-o", out])
        .arg(source)
        .args(flags)
        .current_dir(folder);
    let Ok(status) = command.status() else {
        skip("there is no C compiler called cc");
        return false;
    };
    assert!(status.success(), "{out} compiles");
    true
}

impl Setup {
    fn new(driver: &[&str], program: &[&str]) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let shared = ["-shared", "-fPIC", "-Wl,-Bsymbolic,-soname,libcuda.so.1"];
        let flags: Vec<&str> = shared.iter().chain(driver).copied().collect();
        let libraries = ["-ldl", "-lpthread"];
        let of_program: Vec<&str> = program.iter().chain(&libraries).copied().collect();
        let done = compile(folder.path(), "libcuda.so.1", "driver.c", &flags)
            && compile(folder.path(), "program", "program.c", &of_program);
        done.then_some(Self { folder })
    }

    fn run(&self, hints: Option<&str>, words: &[&str], variables: &[(&str, &str)]) -> Left {
        let reports = tempfile::tempdir().expect("a folder");
        if let Some(hints) = hints {
            std::fs::write(reports.path().join(HINTS_FILE), hints).expect("written");
        }
        let mut command = Command::new(self.folder.path().join("program"));
        command
            .args(words)
            .env("LD_LIBRARY_PATH", self.folder.path())
            .env("LD_PRELOAD", front())
            .env(FRONT_FOLDER, reports.path())
            .envs(variables.iter().copied());
        let output = command.output().expect("the program starts");
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(
            output.status.success(),
            "{:?}: {said}{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
        let reports = FrontReport::read_all(reports.path()).expect("reports");
        Left { said, reports }
    }
}

fn front() -> PathBuf {
    library::find("libpagemill_gpu_front.so").expect("the library is beside the tests")
}

/// Why calls were left out.
fn reasons(left: &Left) -> Vec<String> {
    let outcomes = left.reports[0].outcomes.iter();
    outcomes
        .filter_map(|outcome| match outcome {
            Outcome::LeftOut(reason) => Some(reason.clone()),
            _ => None,
        })
        .collect()
}

#[test]
fn hints_are_carried_out_however_the_driver_is_found() {
    let Some(setup) = Setup::new(&[], &[]) else {
        return;
    };
    for (how, variables) in [
        ("symbols", &[][..]),
        ("addresses", &[]),
        ("addresses", &[("FAR", "1")]),
    ] {
        let left = setup.run(Some(HINTS), &[how], variables);
        assert_eq!(left.said, WITH_HINTS, "{how} {variables:?}");
        let report = &left.reports[0];
        assert_eq!((report.allocations.len(), report.launches), (2, 2));
        assert_eq!(report.outcomes, vec![Outcome::Made; 4]);
        assert!(report.gpu_ns > 0);
    }
}

#[test]
fn a_program_that_is_linked_with_the_driver_is_seen() {
    let Some(setup) = Setup::new(&[], &[]) else {
        return;
    };
    let driver = setup.folder.path().join("libcuda.so.1");
    let driver = driver.to_str().expect("a name");
    if !compile(
        setup.folder.path(),
        "program",
        "program.c",
        &["-DLINKED", driver, "-ldl", "-lpthread"],
    ) {
        return;
    }
    assert_eq!(setup.run(Some(HINTS), &["linked"], &[]).said, WITH_HINTS);
}

#[test]
fn without_hints_the_driver_hears_what_the_program_says() {
    let Some(setup) = Setup::new(&[], &[]) else {
        return;
    };
    let plain: String = (WITH_HINTS.lines())
        .filter(|line| !line.starts_with("advise") && !line.starts_with("prefetch"))
        .map(|line| format!("{line}\n"))
        .collect();
    let left = setup.run(None, &["addresses"], &[]);
    assert_eq!(left.said, plain);
    assert_eq!(
        (left.reports[0].launches, left.reports[0].failed.len()),
        (2, 0)
    );
}

#[test]
fn a_driver_that_finds_the_front_under_its_own_names_does_not_go_round() {
    let Some(setup) = Setup::new(&["-Wl,-Bno-symbolic"], &[]) else {
        return;
    };
    let left = setup.run(Some(HINTS), &["addresses"], &[]);
    assert_eq!(left.said, WITH_HINTS);
}

#[test]
fn many_copies_are_one_call_where_the_driver_has_it() {
    let Some(setup) = Setup::new(&["-DBATCH"], &[]) else {
        return;
    };
    let left = setup.run(Some(HINTS), &["symbols"], &[]);
    assert!(
        left.said
            .contains("batch 1048576 4096 1 4\nbatch 1054720 2048 1 4\nlaunch 2"),
        "{}",
        left.said
    );
    let left = setup.run(Some(HINTS), &["symbols"], &[("NO_BATCH", "1")]);
    assert_eq!(left.said, WITH_HINTS);
}

#[test]
fn a_null_stream_of_the_thread_stays_one() {
    let Some(setup) = Setup::new(&[], &[]) else {
        return;
    };
    let hints = HINTS.replace("before_launch = 2", "before_launch = 1");
    for variables in [&[][..], &[("FAR", "1")]] {
        let left = setup.run(Some(&hints), &["threads"], variables);
        // CU_STREAM_PER_THREAD is 2.
        assert!(
            left.said
                .contains("prefetch 1054720 2048 0 2\nlaunch_ptsz 1 3 0 0\n"),
            "{}",
            left.said
        );
    }
}

#[test]
fn what_is_newer_than_the_table_goes_through_unseen() {
    let Some(setup) = Setup::new(&[], &[]) else {
        return;
    };
    let left = setup.run(Some(HINTS), &["newer"], &[("FAR", "1")]);
    assert!(
        left.said.contains("launch 1 3 0 0\nlaunch 2 3 0 4\n"),
        "{}",
        left.said
    );
    let report = &left.reports[0];
    assert!(
        report.failed[0].contains("cuLaunchKernel of CUDA 99.0 is newer"),
        "{:?}",
        report.failed
    );
    assert_eq!(report.outcomes[3], Outcome::NotReached);
}

#[test]
fn a_wrapper_of_another_tool_stays_in_front() {
    let Some(setup) = Setup::new(&[], &[]) else {
        return;
    };
    if !compile(
        setup.folder.path(),
        "libwrapper.so",
        "wrapper.c",
        &["-shared", "-fPIC", "-ldl"],
    ) {
        return;
    }
    let path = setup.folder.path();
    let (wrapper, driver) = (path.join("libwrapper.so"), path.join("libcuda.so.1"));
    let names = [
        wrapper.to_str().expect("a name"),
        driver.to_str().expect("a name"),
    ];
    let flags = [
        "-DLINKED",
        "-Wl,--no-as-needed",
        names[0],
        names[1],
        "-ldl",
        "-lpthread",
    ];
    if !compile(path, "program", "program.c", &flags) {
        return;
    }
    // The program's own calls go to this library first, and from there to the driver.
    let left = setup.run(Some(HINTS), &["linked"], &[]);
    assert_eq!(left.said, WITH_HINTS);
}

#[test]
fn hints_that_cannot_be_kept_are_left_out_with_their_reason() {
    let Some(setup) = Setup::new(&[], &[]) else {
        return;
    };
    let cases = [
        (
            "other-size",
            "allocation 2 has 4097 bytes, and the hints are for one of 4096",
        ),
        ("freed", "allocation 1 is not alive before launch 2"),
        ("graph", "launches a graph"),
        ("capture", "captures launches into a graph"),
    ];
    for (what, reason) in cases {
        let left = setup.run(Some(HINTS), &["symbols", what], &[]);
        let reasons = reasons(&left);
        assert!(
            reasons.iter().any(|own| own.contains(reason)),
            "{what}: {reasons:?}"
        );
    }
    let left = setup.run(Some(HINTS), &["symbols"], &[("REFUSE", "1")]);
    assert_eq!(
        reasons(&left)[0],
        "cuMemAdvise answered CUDA_ERROR_INVALID_VALUE"
    );
}

/// Memory of a graph stays the driver's.
#[test]
fn memory_of_the_gpu_is_managed_where_that_is_asked_for() {
    let Some(setup) = Setup::new(&[], &[]) else {
        return;
    };
    let left = setup.run(None, &["symbols", "device"], &[]);
    assert_eq!(left.said, OF_THE_GPU);
    assert_eq!(left.reports[0].allocations.len(), 0);
    let left = setup.run(None, &["symbols", "device"], &[(FRONT_MANAGED, "1")]);
    assert_eq!(left.said, MANAGED);
    assert_eq!(left.reports[0].allocations.len(), 4);
}

#[test]
fn a_launch_that_the_driver_refuses_is_none() {
    let Some(setup) = Setup::new(&[], &[]) else {
        return;
    };
    let left = setup.run(Some(HINTS), &["symbols", "fails"], &[]);
    assert_eq!(left.said, WITH_HINTS);
    assert_eq!(left.reports[0].launches, 2);
}

#[test]
fn a_child_leaves_no_report_of_its_parent() {
    let Some(setup) = Setup::new(&[], &[]) else {
        return;
    };
    let left = setup.run(Some(HINTS), &["symbols", "fork"], &[]);
    assert_eq!(left.reports.len(), 1);
    assert_eq!(left.said, WITH_HINTS);
}

#[test]
fn threads_launch_at_once() {
    let Some(setup) = Setup::new(&[], &[]) else {
        return;
    };
    let left = setup.run(Some(HINTS), &["symbols", "threads"], &[]);
    assert_eq!(left.reports[0].launches, 9);
    assert_eq!(left.said.matches("prefetch").count(), 2, "{}", left.said);
}

#[test]
fn a_file_that_is_no_hints_is_said_and_changes_nothing() {
    let Some(setup) = Setup::new(&[], &[]) else {
        return;
    };
    let left = setup.run(Some("nonsense"), &["symbols"], &[]);
    assert!(
        left.reports[0].failed[0].contains("hints.toml"),
        "{:?}",
        left.reports[0].failed
    );
    assert!(!left.said.contains("advise"));
}
