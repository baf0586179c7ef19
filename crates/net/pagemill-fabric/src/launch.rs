//! Starting a job: the board, and the environment in which MPI programs find the provider. Used by `pagemill mpi`.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use pagemill_linux::scratch::Scratch;
use pagemill_nic::{NicMachine, NodeSpec};

use crate::board::segment::SharedBoard;
use crate::board::{JOB_VARIABLE, SegmentError, StationView};
use crate::compute::Record;
use crate::counted::EMULATOR_VARIABLE;
use crate::events::RankEvents;
use crate::ffi::PROVIDER_NAME;
use crate::job::{
    COMPUTE_COUNTED, COMPUTE_FACTOR, COMPUTE_VARIABLE, PATIENCE_VARIABLE, RECORD_VARIABLE,
    TABLES_VARIABLE, TIMELINE_VARIABLE, record_name, table_name, timeline_name,
};
use crate::machine::{self, MachineTextError};
use crate::preload::CLOCK_VARIABLE;

/// The library's file, as cargo builds it of this crate.
pub const LIBRARY: &str = "libpagemill_fabric.so";

/// The name under which libfabric finds it.
const PROVIDER_FILE: &str = "libpagemill-fi.so";

/// Settings of Open MPI: messages go through libfabric and this provider, and nothing goes around it.
const OPEN_MPI: &[(&str, &str)] = &[
    ("OMPI_MCA_pml", "cm"),
    ("OMPI_MCA_mtl", "ofi"),
    ("OMPI_MCA_mtl_ofi_provider_include", PROVIDER_NAME),
    ("OMPI_MCA_btl", "self,vader"),
    // `sm` for shared windows only (`windows.rs`).
    ("OMPI_MCA_osc", "pt2pt,sm"),
    // Virtual time does not mind that cores are shared.
    ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
    ("OMPI_MCA_hwloc_base_binding_policy", "none"),
    // A process with nothing to do sleeps in this library; to give its core away at every look would make it wait for all others.
    ("OMPI_MCA_mpi_yield_when_idle", "0"),
];

/// Which clocks of the program show virtual time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clocks {
    /// `MPI_Wtime`.
    #[default]
    Mpi,
    /// Also `gettimeofday`, when the program itself calls it, not one of its libraries.
    Program,
}

/// How computing becomes virtual time.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum ComputeTime {
    /// It takes none.
    #[default]
    None,
    /// It takes its CPU time, times a factor.
    Measured(f64),
    /// Each instruction takes the same time; QEMU's user mode counts them.
    Counted {
        /// Picoseconds of an instruction.
        instruction_ps: u64,
        /// QEMU's user mode for this computer's processor.
        emulator: PathBuf,
    },
    /// It takes what an earlier job recorded in a file ([`Job::compute_record`]).
    Recorded(PathBuf),
}

/// What a job's processes do beside calling.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Behavior {
    /// Which clocks show virtual time.
    pub clocks: Clocks,
    /// How computing takes time.
    pub compute: ComputeTime,
    /// Whether it is recorded.
    pub records_compute: bool,
    /// Whether events are recorded for a timeline.
    pub records_events: bool,
    /// Whether the use of translation tables is recorded for maps.
    pub records_tables: bool,
    /// Real time that others wait for a process that makes no progress, if not the default.
    pub patience: Option<Duration>,
}

/// Why a job cannot start.
#[derive(Debug)]
pub enum LaunchError {
    /// The shared memory cannot be made.
    Segment(SegmentError),
    /// The machine cannot be told to the processes.
    Machine(MachineTextError),
    /// The folder in which libfabric looks cannot be made.
    Folder(String),
}

impl fmt::Display for LaunchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Segment(error) => error.fmt(f),
            Self::Machine(error) => error.fmt(f),
            Self::Folder(error) => write!(f, "cannot make a temporary folder: {error}"),
        }
    }
}

impl std::error::Error for LaunchError {}

/// A job: its board and the folder that libfabric searches. Both are gone with it.
pub struct Job {
    shared: SharedBoard,
    library: PathBuf,
    folder: Scratch,
}

impl Job {
    /// A job whose processes each have an interface of `machine`.
    ///
    /// # Errors
    /// If memory or folder cannot be made.
    pub fn new(machine: &NicMachine, library: &Path) -> Result<Self, LaunchError> {
        Self::on_nodes(machine, NodeSpec::ALONE, library)
    }

    /// A job whose processes share interfaces of `machine`.
    ///
    /// # Errors
    /// If memory or folder cannot be made.
    pub fn on_nodes(
        machine: &NicMachine,
        node: NodeSpec,
        library: &Path,
    ) -> Result<Self, LaunchError> {
        let text = machine::write(machine).map_err(LaunchError::Machine)?;
        let shared = SharedBoard::create(&text).map_err(LaunchError::Segment)?;
        shared.board.set_node(node);
        let failed = |error: std::io::Error| LaunchError::Folder(error.to_string());
        let library = library.canonicalize().map_err(failed)?;
        let folder = Scratch::new("mpi").map_err(|error| LaunchError::Folder(error.to_string()))?;
        std::os::unix::fs::symlink(&library, folder.path().join(PROVIDER_FILE)).map_err(failed)?;
        Ok(Self {
            shared,
            library,
            folder,
        })
    }

    /// Sets the environment of a command whose processes are to belong to the job.
    pub fn prepare(&self, command: &mut Command, behavior: &Behavior) {
        command.env(JOB_VARIABLE, self.shared.path());
        command.env("FI_PROVIDER_PATH", self.folder.path());
        command.env("LD_PRELOAD", self.preloaded(std::env::var_os("LD_PRELOAD")));
        command.envs(OPEN_MPI.iter().copied());
        if behavior.clocks == Clocks::Program {
            command.env(CLOCK_VARIABLE, "program");
        }
        match &behavior.compute {
            ComputeTime::None => {}
            ComputeTime::Measured(factor) => {
                command.env(COMPUTE_VARIABLE, format!("{COMPUTE_FACTOR}{factor}"));
            }
            ComputeTime::Counted {
                instruction_ps,
                emulator,
            } => {
                command.env(
                    COMPUTE_VARIABLE,
                    format!("{COMPUTE_COUNTED}{instruction_ps}"),
                );
                command.env(EMULATOR_VARIABLE, emulator);
            }
            ComputeTime::Recorded(path) => {
                command.env(COMPUTE_VARIABLE, path);
            }
        }
        if behavior.records_compute {
            command.env(RECORD_VARIABLE, self.folder.path());
        }
        if behavior.records_events {
            command.env(TIMELINE_VARIABLE, self.folder.path());
        }
        if behavior.records_tables {
            command.env(TABLES_VARIABLE, self.folder.path());
        }
        if let Some(patience) = behavior.patience {
            command.env(PATIENCE_VARIABLE, patience.as_secs().to_string());
        }
    }

    /// What each process of the job left on the board.
    pub fn stations(&self) -> Vec<StationView> {
        self.shared.board.views()
    }

    /// What all processes computed, as text of a [`Record`], after a job that records it.
    ///
    /// # Errors
    /// A process left no record: it did not end by `MPI_Finalize`.
    pub fn compute_record(&self) -> Result<String, String> {
        Ok(Record::text(
            &self.texts("record of its computing", record_name)?,
        ))
    }

    /// What happened at each rank, after a job that records it.
    ///
    /// # Errors
    /// A process left no events: it did not end by `MPI_Finalize`.
    pub fn timelines(&self) -> Result<Vec<(u32, RankEvents)>, String> {
        let texts = self.texts("events for a timeline", timeline_name)?;
        let ranks = self.stations().into_iter().map(|station| station.index);
        let parsed = |(rank, text): (u32, String)| Ok((rank, text.parse()?));
        ranks.zip(texts).map(parsed).collect()
    }

    /// What each rank wrote in its file, which a message calls `what`.
    fn texts(&self, what: &str, name: fn(u32) -> String) -> Result<Vec<String>, String> {
        let text = |station: &StationView| {
            let path = self.folder.path().join(name(station.index));
            std::fs::read_to_string(path).map_err(|error| {
                format!(
                    "rank {} (process {}) left no {what} ({error}): a rank writes it in MPI_Finalize",
                    station.index, station.process
                )
            })
        };
        self.stations().iter().map(text).collect()
    }

    /// The map of each rank's translation table (crate `pagemill-map`) that wrote one in `MPI_Finalize`, after a job that records them.
    pub fn table_maps(&self) -> Vec<(u32, Vec<u8>)> {
        let map = |station: &StationView| {
            let path = self.folder.path().join(table_name(station.index));
            Some((station.index, std::fs::read(path).ok()?))
        };
        self.stations().iter().filter_map(map).collect()
    }

    fn preloaded(&self, others: Option<OsString>) -> OsString {
        let mut list = self.library.clone().into_os_string();
        if let Some(others) = others.filter(|others| !others.is_empty()) {
            list.push(":");
            list.push(others);
        }
        list
    }
}
