//! Compiling and running programs of a job, with a limit of real time.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use pagemill_fabric::board::StationView;
use pagemill_fabric::counters::Counter;
use pagemill_fabric::events::RankEvents;
use pagemill_fabric::launch::{Behavior, Clocks, Job, LIBRARY};
use pagemill_nic::{NicMachine, NodeSpec};

/// Real time that one program may take. Far more than it does; a hang is an error, not a wait.
const LIMIT: Duration = Duration::from_secs(240);

/// Real time that one process may keep others waiting, on a machine that has more to do than this.
const PATIENCE: Duration = Duration::from_secs(120);

/// What is lacking to run MPI programs, if anything.
pub fn lacks_open_mpi() -> Option<&'static str> {
    if !succeeds("mpicc", &["--version"]) {
        return Some("there is no mpicc");
    }
    let components = Command::new("ompi_info")
        .args(["--param", "mtl", "ofi"])
        .output();
    let has_ofi = components.is_ok_and(|output| {
        String::from_utf8_lossy(&output.stdout).contains("mtl ofi")
            || String::from_utf8_lossy(&output.stdout).contains("MCA mtl: ofi")
    });
    (!has_ofi).then_some("there is no Open MPI with the component `mtl ofi`")
}

/// What is lacking to compile against libfabric, if anything.
pub fn lacks_libfabric() -> Option<&'static str> {
    let headers = Path::new("/usr/include/rdma/fabric.h").exists();
    (!headers || !succeeds("cc", &["--version"]))
        .then_some("there are no headers of libfabric, or no C compiler")
}

pub fn succeeds(program: &str, arguments: &[&str]) -> bool {
    let output = Command::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .output();
    output.is_ok_and(|output| output.status.success())
}

/// A folder with compiled programs in it.
pub struct Programs {
    folder: tempfile::TempDir,
}

impl Programs {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self { folder }
    }

    /// Compiles `tests/programs/<name>.c`.
    pub fn compile(&self, compiler: &str, name: &str, libraries: &[&str]) -> PathBuf {
        let source = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/programs")
            .join(format!("{name}.c"));
        let program = self.folder.path().join(name.replace('/', "-"));
        let output = Command::new(compiler)
            .args(["-O1", "-Wall", "-Wextra", "-Werror", "-o"])
            .arg(&program)
            .arg(source)
            .args(libraries)
            .output()
            .expect("the compiler starts");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        program
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// What a job left.
pub struct Finished {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
    pub stations: Vec<StationView>,
    /// What happened at each rank, where that is recorded.
    pub timelines: Vec<(u32, RankEvents)>,
}

impl Finished {
    /// Standard output of a job that has to succeed, in order of time.
    pub fn result(self) -> String {
        assert_eq!(self.code, Some(0), "{}\n{}", self.stdout, self.stderr);
        for station in &self.stations {
            let of = |counter: Counter| station.counters[counter as usize];
            let order = (of(Counter::LateSteps), of(Counter::ForcedSteps));
            assert_eq!(
                order,
                (0, 0),
                "rank {} lost the order of time",
                station.index
            );
        }
        self.stdout
    }

    /// The sum of a counter.
    pub fn sum(&self, counter: Counter) -> u64 {
        self.stations
            .iter()
            .map(|station| station.counters[counter as usize])
            .sum()
    }
}

/// `mpirun` with `ranks` processes, wherever the test runs.
pub fn mpirun(ranks: u32) -> Command {
    let mut command = Command::new("mpirun");
    command.args(["-n", &ranks.to_string()]);
    // Only containers and test machines run as root; there it is meant.
    command
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command
}

/// Runs a command as a job with an interface of `machine` a process.
pub fn run(machine: &NicMachine, clocks: Clocks, command: Command) -> Finished {
    let behavior = Behavior {
        clocks,
        ..Behavior::default()
    };
    run_with(machine, behavior, command).0
}

/// The same for any behavior; also the record of what was computed, where that is asked for.
pub fn run_with(
    machine: &NicMachine,
    behavior: Behavior,
    command: Command,
) -> (Finished, Option<String>) {
    run_on(machine, NodeSpec::ALONE, behavior, command)
}

/// The same for ranks that share interfaces.
pub fn run_on(
    machine: &NicMachine,
    node: NodeSpec,
    behavior: Behavior,
    mut command: Command,
) -> (Finished, Option<String>) {
    let behavior = Behavior {
        patience: Some(PATIENCE),
        ..behavior
    };
    let library = pagemill_linux::library::find(LIBRARY).expect("cargo has built it");
    let job = Job::on_nodes(machine, node, &library).expect("a job");
    job.prepare(&mut command, &behavior);
    // Jobs that start at once trip over each other in the folder that Open MPI makes for all of a user's.
    let sessions = tempfile::tempdir().expect("a folder");
    command.env("OMPI_MCA_orte_tmpdir_base", sessions.path());
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the command starts");
    let stdout = reader(child.stdout.take().expect("piped"));
    let stderr = reader(child.stderr.take().expect("piped"));
    let code = wait(&mut child);
    let finished = Finished {
        code,
        stdout: stdout.join().expect("a reader"),
        stderr: stderr.join().expect("a reader"),
        stations: job.stations(),
        timelines: match behavior.records_events {
            true => job.timelines().expect("events"),
            false => Vec::new(),
        },
    };
    let record = behavior.records_compute.then(|| job.compute_record());
    (finished, record.map(|record| record.expect("a record")))
}

fn reader(mut stream: impl Read + Send + 'static) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("a readable stream");
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn wait(child: &mut Child) -> Option<i32> {
    let until = Instant::now() + LIMIT;
    loop {
        if let Some(status) = child.try_wait().expect("a child") {
            return status.code();
        }
        if Instant::now() >= until {
            child.kill().expect("a child");
            child.wait().expect("a child");
            panic!("the program did not end within {LIMIT:?}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
