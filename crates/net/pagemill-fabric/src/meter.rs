//! CPU time that a thread of the program uses between two calls of the library.
//!
//! Reading a thread's CPU time is a system call, as expensive as a poll is otherwise. So it is read at every border only where computing
//! takes virtual time. Elsewhere the sum of long gaps is enough, and the monotonic clock, which costs no system call, shows which are long.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

use crate::board::asleep_ns;
use crate::compute::Gap;
use crate::counted::reader;

/// Gaps that are worth a system call. An estimate: some times what an MPI library does between two polls.
const LONG: Duration = Duration::from_micros(20);

/// Whether every gap is measured.
static IS_EXACT: AtomicBool = AtomicBool::new(false);

/// A border of a thread between program and library.
#[derive(Clone, Copy)]
struct Border {
    at: Instant,
    /// CPU time when it was last read.
    cpu_ns: u64,
    /// Real time in the library since then, but for sleeps: no less than the CPU time there.
    inside_ns: u64,
}

thread_local! {
    /// The end of this thread's last call.
    static LEFT: Cell<Option<Border>> = const { Cell::new(None) };
}

/// From now on, every gap is measured.
pub fn measure_all() {
    IS_EXACT.store(true, Ordering::Relaxed);
}

/// A call of the library.
#[derive(Clone, Copy)]
pub struct Meter {
    entered: Instant,
    /// CPU time at the last border where it was read.
    cpu_ns: Option<u64>,
    /// Time in the library since then, and for how long this thread had slept at the beginning of the call.
    inside_ns: u64,
    asleep_ns: u64,
    /// What this thread did since its last call.
    pub gap: Gap,
}

impl Meter {
    /// The program calls.
    pub fn enter() -> Self {
        let entered = Instant::now();
        let mut meter = Self {
            entered,
            cpu_ns: None,
            inside_ns: 0,
            asleep_ns: asleep_ns(),
            gap: Gap {
                cpu_ns: 0,
                instructions: reader::since_last_call(),
            },
        };
        let Some(left) = LEFT.get() else {
            return meter;
        };
        let gap = entered.saturating_duration_since(left.at);
        let is_exact = IS_EXACT.load(Ordering::Relaxed);
        if !is_exact && gap < LONG {
            meter.cpu_ns = Some(left.cpu_ns);
            meter.inside_ns = left.inside_ns;
            return meter;
        }
        let now_ns = cpu_ns();
        let used_ns = now_ns.saturating_sub(left.cpu_ns);
        meter.cpu_ns = Some(now_ns);
        meter.gap.cpu_ns = match is_exact {
            true => used_ns,
            // The last reading is older than the gap.
            false => (used_ns.saturating_sub(left.inside_ns)).min(nanoseconds(gap)),
        };
        meter
    }

    /// The library returns.
    pub fn leave(self) {
        let at = Instant::now();
        let is_exact = IS_EXACT.load(Ordering::Relaxed);
        let known_ns = self.cpu_ns.filter(|_| !is_exact);
        let inside_ns = nanoseconds(at.saturating_duration_since(self.entered));
        let slept_ns = asleep_ns() - self.asleep_ns;
        LEFT.set(Some(Border {
            at,
            cpu_ns: known_ns.unwrap_or_else(cpu_ns),
            inside_ns: match known_ns {
                Some(_) => self.inside_ns + inside_ns.saturating_sub(slept_ns),
                None => 0,
            },
        }));
    }
}

/// Whether every gap is measured.
pub fn is_exact() -> bool {
    IS_EXACT.load(Ordering::Relaxed)
}

fn nanoseconds(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// CPU time that the calling thread has used.
fn cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
