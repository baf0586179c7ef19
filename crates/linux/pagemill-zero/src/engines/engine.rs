use pagemill_linux::clock;
use pagemill_types::{UnknownName, named};

/// Something that clears memory.
pub trait Engine: Send {
    /// As in [`super::ENGINES`].
    fn name(&self) -> &'static str;

    /// Writes zeroes to every byte of `pages`. When it returns, every CPU sees them.
    ///
    /// Pages start at multiples of 4096 bytes and are multiples of 4096 bytes long; huge pages are.
    ///
    /// # Errors
    /// The device failed: any of the pages may hold anything. After [`EngineError::StillWriting`] the device may go on
    /// to write until this engine is dropped and its process has ended.
    fn zero(&mut self, pages: &mut [&mut [u8]]) -> Result<Timing, EngineError>;
}

/// What clearing took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// Bytes that were cleared.
    pub bytes: u64,
    /// From call to return.
    pub wall_ns: u64,
    /// CPU time of the threads that took part.
    pub cpu_ns: u64,
}

impl Timing {
    /// Bytes a nanosecond, which is GB/s.
    pub fn gb_per_s(self) -> f64 {
        self.bytes as f64 / (self.wall_ns.max(1)) as f64
    }

    /// Runs `work` on the calling thread alone, and times it.
    pub(super) fn of_thread(bytes: u64, work: impl FnOnce()) -> Self {
        let (cpu, wall) = (clock::thread_cpu_ns(), clock::monotonic_ns());
        work();
        Self {
            bytes,
            wall_ns: clock::monotonic_ns() - wall,
            cpu_ns: clock::thread_cpu_ns() - cpu,
        }
    }
}

/// Bytes of all pages together.
pub fn bytes_of(pages: &[&mut [u8]]) -> u64 {
    pages.iter().map(|page| page.len() as u64).sum()
}

/// Why an engine cannot be used, or failed.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// No engine has this name.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// This machine lacks what it needs.
    #[error("engine {engine} cannot run here: {found}; {enable}")]
    Missing {
        /// Which engine.
        engine: &'static str,
        /// What was found.
        found: String,
        /// What would change that.
        enable: String,
    },
    /// The device refused or failed, and has stopped.
    #[error("engine {engine} failed to {what}: {why}")]
    Device {
        /// Which engine.
        engine: &'static str,
        /// What it was doing.
        what: &'static str,
        /// What its driver said.
        why: String,
    },
    /// The device failed in the middle of its work, and nothing says that it has stopped.
    #[error(
        "engine {engine} failed and may still write: {why}; end the process before the pages are used"
    )]
    StillWriting {
        /// Which engine.
        engine: &'static str,
        /// What its driver said.
        why: String,
    },
}

/// Whether an engine can run here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// It can, with this.
    Ready(String),
    /// It cannot.
    Missing {
        /// What was found instead.
        found: String,
        /// What would change that.
        enable: String,
    },
}

impl Probe {
    /// The error of `engine` that goes with a probe that found nothing.
    pub fn missing(self, engine: &'static str) -> Option<EngineError> {
        match self {
            Self::Ready(_) => None,
            Self::Missing { found, enable } => Some(EngineError::Missing {
                engine,
                found,
                enable,
            }),
        }
    }
}

/// How an engine is found and opened.
#[derive(Clone, Copy)]
pub struct EngineEntry {
    /// How command lines name it.
    pub name: &'static str,
    /// What it does, in one line.
    pub summary: &'static str,
    /// Looks whether it can run here; changes nothing.
    pub probe: fn() -> Probe,
    /// Makes it ready.
    pub open: fn() -> Result<Box<dyn Engine>, EngineError>,
}

named!(EngineEntry);
