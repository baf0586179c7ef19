//! This process: its hints, what it has allocated and launched, and the report that it leaves.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock};

use pagemill_gpu::recording::RECORD;
use pagemill_gpu::{Deed, FRONT_FOLDER, FRONT_MANAGED, Front, HINTS_FILE, Hints};

use crate::{calls, record};

/// No launch has this number.
const NEVER: u32 = u32::MAX;

/// Launches that the driver took.
static LAUNCHES: AtomicU64 = AtomicU64::new(0);
/// The launch before which something is to be done next.
static NEXT_DUE: AtomicU32 = AtomicU32::new(NEVER);
/// When the first launch began and the last call ended, in nanoseconds; 0: not yet.
static FIRST_NS: AtomicU64 = AtomicU64::new(0);
static LAST_NS: AtomicU64 = AtomicU64::new(0);

/// What is known from the first call on.
struct Process {
    folder: PathBuf,
    /// A child that has its parent's memory is not this one.
    id: u32,
    front: Mutex<Front>,
    failed: Mutex<Vec<String>>,
}

/// `None` where no folder is named, and nothing is to be done.
fn process() -> Option<&'static Process> {
    static PROCESS: OnceLock<Option<Process>> = OnceLock::new();
    PROCESS.get_or_init(start).as_ref()
}

fn start() -> Option<Process> {
    // Programs change their folder.
    let folder = std::path::absolute(std::env::var_os(FRONT_FOLDER)?).ok()?;
    let (hints, failed) = match read(&folder) {
        Ok(hints) => (hints, Vec::new()),
        Err(error) => (Hints::default(), vec![error]),
    };
    let front = Front::new(hints);
    NEXT_DUE.store(front.next_due().unwrap_or(NEVER), Ordering::Relaxed);
    // SAFETY: the function takes no arguments and lives as long as the process.
    unsafe { libc::atexit(at_exit) };
    Some(Process {
        folder,
        id: std::process::id(),
        front: Mutex::new(front),
        failed: Mutex::new(failed),
    })
}

fn read(folder: &Path) -> Result<Hints, String> {
    let path = folder.join(HINTS_FILE);
    if !path.exists() {
        return Ok(Hints::default());
    }
    let told = |error: String| format!("{}: {error}", path.display());
    let text = std::fs::read_to_string(&path).map_err(|error| told(error.to_string()))?;
    Hints::parse(&text).map_err(told)
}

impl Process {
    fn front(&self) -> MutexGuard<'_, Front> {
        // What a panic left is whole: nothing is changed after the last thing that can fail.
        self.front
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn make(&self, deeds: &[Deed], stream: *mut c_void) {
        for deed in deeds {
            let result = calls::make(deed, stream);
            self.front().ended(deed, result);
        }
    }
}

/// Runs `work` for this process. A mistake of this library ends its work, and not the program.
fn guarded(work: impl FnOnce(&Process)) {
    static HAS_FAILED: AtomicBool = AtomicBool::new(false);
    if HAS_FAILED.load(Ordering::Relaxed) {
        return;
    }
    let Some(process) = process() else { return };
    if catch_unwind(AssertUnwindSafe(|| work(process))).is_err() {
        HAS_FAILED.store(true, Ordering::Relaxed);
        NEXT_DUE.store(NEVER, Ordering::Relaxed);
        let mut failed = process
            .failed
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        failed.push("an internal error; the rest of the program ran without hints".to_owned());
    }
}

/// Whether the program gets managed memory for all memory of the GPU that it asks for.
pub fn is_managed() -> bool {
    static MANAGED: OnceLock<bool> = OnceLock::new();
    *MANAGED.get_or_init(|| std::env::var_os(FRONT_MANAGED).is_some_and(|value| value == "1"))
}

/// The driver has started for this process.
pub fn started() {
    static IS_FIRST: AtomicBool = AtomicBool::new(true);
    let is_recorded = || std::env::var_os(RECORD).is_some_and(|value| value == "1");
    guarded(|_| {
        if IS_FIRST.swap(false, Ordering::Relaxed) && is_recorded() {
            record::start();
        }
    });
}

/// The program has got managed memory.
pub fn allocated(address: u64, bytes: usize) {
    guarded(|process| {
        let deeds = process.front().allocated(address, bytes as u64);
        process.make(&deeds, std::ptr::null_mut());
    });
}

/// The program is about to free memory.
pub fn freeing(address: u64) {
    guarded(|process| process.front().freed(address));
}

/// The program is about to launch a kernel in `stream`.
pub fn launching(stream: *mut c_void) {
    note_first();
    let due = NEXT_DUE.load(Ordering::Relaxed);
    if due == NEVER {
        return;
    }
    // A launch that goes into a graph is none, and would move the numbers of all that follow.
    if calls::is_capturing(stream) {
        let reason = "the program captures launches into a graph, so that they cannot be counted";
        return guarded(|process| stop_counting(process, reason));
    }
    let number = LAUNCHES.load(Ordering::Relaxed) + 1;
    if number < u64::from(due) {
        return;
    }
    guarded(|process| {
        let deeds = {
            let mut front = process.front();
            let deeds = front.before_launch(number.min(u64::from(NEVER - 1)) as u32);
            NEXT_DUE.store(front.next_due().unwrap_or(NEVER), Ordering::Relaxed);
            deeds
        };
        process.make(&deeds, stream);
    });
}

/// The driver has taken a launch.
pub fn launched() {
    LAUNCHES.fetch_add(1, Ordering::Relaxed);
}

/// The program is about to launch a graph.
pub fn launching_graph() {
    note_first();
    if NEXT_DUE.load(Ordering::Relaxed) != NEVER {
        guarded(|process| {
            stop_counting(
                process,
                "the program launches a graph, whose kernels cannot be counted",
            )
        });
    }
}

/// Notes when the first launch began.
fn note_first() {
    if FIRST_NS.load(Ordering::Relaxed) == 0 {
        guarded(|_| {});
        // Another thread may have been the first.
        let _ = FIRST_NS.compare_exchange(0, now_ns(), Ordering::Relaxed, Ordering::Relaxed);
    }
}

fn stop_counting(process: &Process, reason: &str) {
    process.front().stop_counting(reason);
    NEXT_DUE.store(NEVER, Ordering::Relaxed);
}

/// A call of the program that may have waited for the GPU has ended.
pub fn ended() {
    if FIRST_NS.load(Ordering::Relaxed) != 0 {
        LAST_NS.store(now_ns(), Ordering::Relaxed);
    }
}

/// The program asked for a form of a function that is newer than the table.
pub fn unknown_form(name: &str, version: i32) {
    guarded(|process| {
        let mut failed = process
            .failed
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let text = format!(
            "{name} of CUDA {}.{} is newer than this version of pagemill knows, and went to the driver unseen",
            version / 1000,
            version % 1000 / 10
        );
        if !failed.contains(&text) {
            failed.push(text);
        }
    });
}

fn now_ns() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the clock is always there, and the answer has room.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

extern "C" fn at_exit() {
    guarded(|process| {
        if std::process::id() != process.id {
            return;
        }
        record::finish(&process.folder);
        let gpu_ns = LAST_NS
            .load(Ordering::Relaxed)
            .saturating_sub(FIRST_NS.load(Ordering::Relaxed));
        let failed = process
            .failed
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .clone();
        let report =
            process
                .front()
                .report(process.id, LAUNCHES.load(Ordering::Relaxed), gpu_ns, failed);
        // Without the report the command says that there is none.
        let _ = report.write(&process.folder);
    });
}
