//! How this process finds its job: from the environment that `pagemill mpi` and the MPI launcher set.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pagemill_linux::{children, scratch};
use pagemill_map::Limits;
use pagemill_nic::NicMachine;

use crate::board::{JoinError, SegmentError, segment};
use crate::compute::{Compute, Mode, Record};
use crate::machine::{self, MachineTextError};
use crate::memory::Memory;
use crate::process::{self, Process};
use crate::records::Files;
use crate::station::{Settings, SpecError, Station};

/// Real seconds that a station waits for others that make no progress before it gives up their order.
pub const PATIENCE_VARIABLE: &str = "PAGEMILL_FABRIC_PATIENCE";

/// What it is where the variable is not set.
pub const PATIENCE_DEFAULT: Duration = Duration::from_secs(20);

/// How computing becomes virtual time: a factor of CPU time, the time of an instruction, or the path of a record. Not set, it takes none.
pub const COMPUTE_VARIABLE: &str = "PAGEMILL_FABRIC_COMPUTE";

/// What the value starts with where a factor follows, not a path.
pub const COMPUTE_FACTOR: &str = "factor=";

/// What the value starts with where the picoseconds of an instruction follow.
pub const COMPUTE_COUNTED: &str = "counted=";

/// What a launcher says a rank's number by.
pub const RANK_VARIABLES: [&str; 3] = ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"];

/// The folder that each rank writes its charges for computing to.
pub const RECORD_VARIABLE: &str = "PAGEMILL_FABRIC_RECORD";

/// The folder that each rank writes its events to.
pub const TIMELINE_VARIABLE: &str = "PAGEMILL_FABRIC_TIMELINE";

/// The folder that each rank writes the map of its translation table to.
pub const TABLES_VARIABLE: &str = "PAGEMILL_FABRIC_TABLES";

/// Bounds of the maps of all ranks together: what a browser opens.
const TABLE_MAPS: Limits = Limits {
    rows: 4096,
    columns: 256,
    events: 600_000,
    launches: 0,
};

/// Events of all ranks together that a timeline keeps: as much as Perfetto shows fluently.
const TIMELINE_EVENTS_MAX: usize = 2_000_000;

/// Why this process has no part in a job.
#[derive(Debug)]
pub enum JobError {
    /// The shared memory cannot be used.
    Segment(SegmentError),
    /// The job is full.
    Join(JoinError),
    /// The board's machine cannot be read.
    MachineText(MachineTextError),
    /// The machine cannot be.
    Machine(SpecError),
    /// How computing takes time cannot be read.
    Compute(String),
}

impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Segment(error) => error.fmt(f),
            Self::MachineText(error) => error.fmt(f),
            Self::Machine(error) => error.fmt(f),
            Self::Compute(error) => write!(f, "the times of computing cannot be used: {error}"),
            Self::Join(JoinError::Full) => write!(
                f,
                "the job has more processes than the {} that one board holds",
                crate::board::STATIONS_MAX
            ),
            Self::Join(JoinError::RankTaken { rank }) => write!(
                f,
                "two processes of the job have rank {rank}: run one job at a time under one `pagemill mpi`"
            ),
        }
    }
}

impl std::error::Error for JobError {}

/// Makes sure that this process has a station.
///
/// # Errors
/// If the job's board cannot be opened or is full.
pub fn enter(
    memory: impl FnOnce() -> Box<dyn Memory>,
    has_start_line: bool,
) -> Result<(), JobError> {
    let mut slot = process::lock();
    if slot.is_some() {
        return Ok(());
    }
    let board = segment::of_this_process().map_err(JobError::Segment)?;
    let rank = number(&RANK_VARIABLES);
    let size = number(&["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"]);
    if let Some(folder) = std::env::var_os("FI_PROVIDER_PATH")
        && let Some(owner) = scratch::owner(Path::new(&folder))
    {
        children::end_with(&owner);
    }
    let text = board.machine();
    let machine = match text.as_str() {
        // Without `pagemill mpi`, the process is alone: any machine will do.
        "" => NicMachine::pni(),
        text => machine::read(text).map_err(JobError::MachineText)?,
    };
    let index = board.join(rank, size).map_err(JobError::Join)?;
    let patience = number(&[PATIENCE_VARIABLE]).map_or(PATIENCE_DEFAULT, |seconds| {
        Duration::from_secs(u64::from(seconds))
    });
    let timeline = std::env::var_os(TIMELINE_VARIABLE).map(PathBuf::from);
    let tables = std::env::var_os(TABLES_VARIABLE).map(PathBuf::from);
    let ranks = size.unwrap_or(board.stations()).max(1) as usize;
    let settings = Settings {
        patience,
        has_start_line,
        events_max: timeline.as_ref().map_or(0, |_| TIMELINE_EVENTS_MAX / ranks),
        table_map: tables.as_ref().map(|_| Limits {
            rows: (TABLE_MAPS.rows / ranks).clamp(64, 512),
            events: (TABLE_MAPS.events / ranks).clamp(1_000, 100_000),
            ..TABLE_MAPS
        }),
    };
    let station =
        Station::new(board, index, &machine, settings, memory()).map_err(JobError::Machine)?;
    let compute = Compute::new(compute_mode(index).map_err(JobError::Compute)?);
    let folder = std::env::var_os(RECORD_VARIABLE).map(PathBuf::from);
    let files = Files {
        compute: folder.map(|folder| folder.join(record_name(index))),
        events: timeline.map(|folder| folder.join(timeline_name(index))),
        table: tables.map(|folder| folder.join(table_name(index))),
    };
    *slot = Some(Process::new(station, compute, files));
    Ok(())
}

/// The file in the folder of records that is `rank`'s.
pub fn record_name(rank: u32) -> String {
    format!("compute-{rank}")
}

/// The file in the folder of timelines that is `rank`'s.
pub fn timeline_name(rank: u32) -> String {
    format!("events-{rank}")
}

/// The file in the folder of maps that is `rank`'s.
pub fn table_name(rank: u32) -> String {
    format!("table-{rank}")
}

fn compute_mode(rank: u32) -> Result<Mode, String> {
    let Some(value) = std::env::var_os(COMPUTE_VARIABLE) else {
        return Ok(Mode::None);
    };
    let text_after = |start| value.to_str().and_then(|text| text.strip_prefix(start));
    if let Some(factor) = text_after(COMPUTE_FACTOR) {
        let factor = factor.parse().map_err(|_| format!("{value:?}"))?;
        return Ok(Mode::Measured(factor));
    }
    if let Some(instruction_ps) = text_after(COMPUTE_COUNTED) {
        let instruction_ps = instruction_ps.parse().map_err(|_| format!("{value:?}"))?;
        return Ok(Mode::Counted(instruction_ps));
    }
    let path = Path::new(&value);
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let record: Record = text.parse()?;
    Ok(Mode::Recorded(record.of_rank(rank)))
}

fn number(variables: &[&str]) -> Option<u32> {
    let values = variables.iter().filter_map(|name| std::env::var(name).ok());
    values.filter_map(|text| text.trim().parse().ok()).next()
}
