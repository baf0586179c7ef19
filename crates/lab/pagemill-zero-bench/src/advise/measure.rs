use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use pagemill_linux::children::{self, AtKill};
use pagemill_linux::process::Usage;
use pagemill_linux::scratch::Scratch;
use pagemill_linux::transparent::{huge_faults, without_transparent_pages};
use pagemill_zero_client::protocol::Status;
use pagemill_zero_client::{Client, ClientError, SOCKET_VARIABLE};

use super::machine::{Machine, PoolPlace};
use super::setting::Setting;
use crate::BenchPool;

/// How the preload library's message of a fall-back begins.
const FELL_BACK: &str = "pagemill zero: process ";

/// How long a run waits for the pool to clear its pages.
const CLEARING: Duration = Duration::from_secs(5);

/// Lines of a program's standard error that are shown when it fails.
const LAST_LINES: usize = 5;

/// A program that is run again and again. It reads nothing, and what it writes is thrown away.
pub struct Program {
    words: Vec<OsString>,
    folder: Scratch,
}

/// One run to a good end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// What it used.
    pub usage: Usage,
    /// Page faults of the whole machine meanwhile that got a transparent huge page.
    pub huge_faults: u64,
    /// What the preload library said about memory that was not what it was asked for.
    pub fell_back: Option<String>,
    /// What the pool did for it; `None` without a pool.
    pub pool: Option<PoolUse>,
}

/// What the pool did during a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolUse {
    /// Pages lent.
    pub lent_pages: u64,
    /// Requests refused.
    pub refused: u64,
    /// CPU time of clearing, which the program does not wait for.
    pub cleaner_cpu_ns: u64,
}

/// Why a run has no result.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// There is no such program, or it cannot be run.
    #[error("cannot run {program}: {error}")]
    Start {
        /// Its name.
        program: String,
        /// What the kernel said.
        error: io::Error,
    },
    /// It did not end well.
    #[error("{program} {how}{last_lines}")]
    Ended {
        /// Its name.
        program: String,
        /// Exit code or signal.
        how: String,
        /// The end of its standard error.
        last_lines: String,
    },
    /// There is no pool for it.
    #[error("the pool failed: {0}")]
    Pool(String),
}

impl Program {
    /// A program and its arguments.
    ///
    /// # Errors
    /// There is no temporary folder.
    pub fn new(words: &[OsString]) -> Result<Self, pagemill_linux::OsError> {
        Ok(Self {
            words: words.to_vec(),
            folder: Scratch::new("advise")?,
        })
    }

    /// Its name.
    pub fn name(&self) -> String {
        let first = self.words.first().map(Path::new);
        let name = first.and_then(Path::file_name).unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    /// Runs it once on a kind of memory. A pool of this process has `pool_pages` pages.
    ///
    /// # Errors
    /// It cannot be started, or does not end well.
    pub fn run(
        &self,
        setting: Setting,
        machine: &Machine,
        pool_pages: usize,
    ) -> Result<Run, Failed> {
        if setting != Setting::Pool {
            return self.run_with(setting, machine, None);
        }
        let failed = |error: &dyn std::fmt::Display| Failed::Pool(error.to_string());
        let (mut client, own);
        let socket = match &machine.pool {
            PoolPlace::Served(socket) => {
                client = Client::connect(socket).map_err(|error| failed(&error))?;
                socket.clone()
            }
            PoolPlace::Own => {
                own = BenchPool::on_stock(pool_pages).map_err(|error| failed(&error))?;
                client = Client::connect(own.socket()).map_err(|error| failed(&error))?;
                own.socket().to_owned()
            }
        };
        let before = once_cleared(&mut client).map_err(|error| failed(&error))?;
        let run = self.run_with(setting, machine, Some(&socket))?;
        let after = once_cleared(&mut client).map_err(|error| failed(&error))?;
        let pool = Some(PoolUse::between(&before, &after));
        Ok(Run { pool, ..run })
    }

    fn run_with(
        &self,
        setting: Setting,
        machine: &Machine,
        socket: Option<&Path>,
    ) -> Result<Run, Failed> {
        let start = |error| Failed::Start {
            program: self.name(),
            error,
        };
        let errors = self.folder.path().join("stderr");
        let mut command = self.command(setting, machine);
        command.stderr(File::create(&errors).map_err(start)?);
        command.envs(socket.map(|socket| (SOCKET_VARIABLE, socket)));
        let before = huge_faults();
        let (status, usage) = children::measure(&mut command, AtKill::Kill).map_err(start)?;
        let huge = huge_faults()
            .zip(before)
            .map_or(0, |(after, before)| after.saturating_sub(before));
        let said = fs::read(&errors).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        if !status.success() {
            return Err(Failed::Ended {
                program: self.name(),
                how: how_it_ended(status),
                last_lines: last_lines(&said),
            });
        }
        Ok(Run {
            usage,
            huge_faults: huge,
            fell_back: said
                .lines()
                .find(|line| line.starts_with(FELL_BACK))
                .map(str::to_owned),
            pool: None,
        })
    }

    fn command(&self, setting: Setting, machine: &Machine) -> Command {
        let (program, rest) = match self.words.split_first() {
            Some((program, rest)) => (program.clone(), rest),
            None => (OsString::new(), &[][..]),
        };
        let mut command = Command::new(program);
        command
            .args(rest)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        if let Some(tunable) = setting.tunable() {
            command.env(
                "GLIBC_TUNABLES",
                before_own("GLIBC_TUNABLES", tunable.into()),
            );
        }
        if let (Some(source), Ok(library)) = (setting.source(), &machine.library) {
            command.env("PAGEMILL_ZERO_SOURCE", source);
            command.env_remove("PAGEMILL_ZERO_QUIET");
            command.env("LD_PRELOAD", before_own("LD_PRELOAD", library.into()));
        }
        if setting == Setting::Small {
            without_transparent_pages(&mut command);
        }
        command
    }
}

/// `value`, followed by what this process has in a list of the environment.
fn before_own(variable: &str, mut value: OsString) -> OsString {
    if let Some(own) = std::env::var_os(variable).filter(|own| !own.is_empty()) {
        value.push(":");
        value.push(own);
    }
    value
}

fn how_it_ended(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with exit code {code}"),
        (None, signal) => format!("was ended by signal {}", signal.unwrap_or_default()),
    }
}

fn last_lines(said: &str) -> String {
    let lines: Vec<&str> = said.lines().collect();
    let first = lines.len().saturating_sub(LAST_LINES);
    let shown: Vec<String> = lines[first..]
        .iter()
        .map(|line| format!("\n  {line}"))
        .collect();
    match shown.is_empty() {
        true => String::new(),
        false => format!("; it said last:{}", shown.concat()),
    }
}

/// The pool's state once it has cleared what it got back, or after [`CLEARING`] on a pool that others keep busy.
fn once_cleared(client: &mut Client) -> Result<Status, ClientError> {
    let start = Instant::now();
    loop {
        let status = client.status()?;
        let pages = status.pages;
        if pages.zeroing + pages.dirty + pages.returned == 0 || start.elapsed() > CLEARING {
            return Ok(status);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

impl PoolUse {
    fn between(before: &Status, after: &Status) -> Self {
        let refused = |status: &Status| -> u64 {
            status
                .programs
                .iter()
                .map(|used| used.refused.total())
                .sum()
        };
        let (new, old) = (&after.counters, &before.counters);
        Self {
            lent_pages: new.lent_pages - old.lent_pages,
            refused: refused(after).saturating_sub(refused(before)),
            cleaner_cpu_ns: new.cleaner_cpu_ns - old.cleaner_cpu_ns,
        }
    }
}

/// A setting and its runs.
#[derive(Clone, Debug)]
pub struct Tried {
    /// Which.
    pub setting: Setting,
    /// Runs that ended well; empty if one did not.
    pub runs: Vec<Run>,
    /// Why there are none.
    pub obstacle: Option<String>,
}

/// Runs the program `runs` times on every kind of memory that can be tried, taking turns. `report` is called for each run before it
/// begins.
pub fn measure(
    program: &Program,
    machine: &Machine,
    pool_pages: usize,
    runs: usize,
    report: &mut dyn FnMut(Setting),
) -> Vec<Tried> {
    let mut tried: Vec<Tried> = Setting::ALL
        .into_iter()
        .map(|setting| Tried {
            setting,
            runs: Vec::new(),
            obstacle: machine.obstacle(setting),
        })
        .collect();
    for round in 0..runs {
        // No setting always runs after the same one.
        let turn = round % tried.len();
        for index in (0..tried.len()).map(|index| (index + turn) % Setting::ALL.len()) {
            let one = &mut tried[index];
            if one.obstacle.is_some() {
                continue;
            }
            report(one.setting);
            match program.run(one.setting, machine, pool_pages) {
                Ok(run) => one.runs.push(run),
                Err(error) => {
                    one.runs.clear();
                    one.obstacle = Some(error.to_string());
                }
            }
        }
    }
    tried
}
