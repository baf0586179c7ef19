//! The end of the process: the last results are written after the last call that is possible.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Once, PoisonError};

use super::{STATE, State, complain, print};
use pagemill_wire::{DefectFound, ResultsError};

/// Runs after the destructors of the program, which was loaded on top of this library.
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = at_exit;

/// Whether the process has used the GPU, or its parent had when it forked.
static USED: AtomicBool = AtomicBool::new(false);
/// Set in a child of `fork`.
static CHILD: AtomicBool = AtomicBool::new(false);
/// Set in a child of `fork` that has a copy of the GPU that belongs to its parent.
static FORKED: AtomicBool = AtomicBool::new(false);

extern "C" fn in_child() {
    CHILD.store(true, Ordering::Relaxed);
    FORKED.store(USED.load(Ordering::Relaxed), Ordering::Relaxed);
}

/// The process uses the GPU.
pub(super) fn note_use() {
    USED.store(true, Ordering::Relaxed);
}

/// Notices forks from now on.
pub(super) fn watch_forks() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handler only loads and stores atomics. Without room for it, children are not told apart.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
}

/// Whether this process is a child of one that used the GPU before it forked.
pub(super) fn is_forked() -> bool {
    FORKED.load(Ordering::Relaxed)
}

extern "C" fn at_exit() {
    let is_idle_child = CHILD.load(Ordering::Relaxed) && !USED.load(Ordering::Relaxed);
    if is_forked() || is_idle_child {
        return;
    }
    let _ = std::panic::catch_unwind(|| {
        let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
        let last = std::mem::replace(&mut *state, State::Finished);
        drop(state);
        if let State::Ready(mut runtime) = last {
            let waiting = runtime.abandon_waiting();
            waiting.iter().for_each(|line| complain("exit", line));
            print(&runtime.device.gpu.take_output());
            say_defects(&runtime.defects());
            note_kept(runtime.finish_results());
        }
    });
}

/// How many mistakes of kernels there were; nothing if there were none.
fn say_defects(defects: &[DefectFound]) {
    let seen: u64 = defects.iter().map(|defect| defect.count).sum();
    if seen > 0 {
        let lines = match defects.len() {
            1 => "1 defect".to_owned(),
            count => format!("{count} defects"),
        };
        let times = match seen {
            1 => "once".to_owned(),
            times => format!("{times} times"),
        };
        complain("check", &format!("{lines}, seen {times}"));
    }
}

/// Says that results cannot be kept, if so.
pub(super) fn note_kept(kept: Result<(), ResultsError>) {
    if let Err(error) = kept {
        complain("results", &format!("cannot write them: {error}"));
    }
}
