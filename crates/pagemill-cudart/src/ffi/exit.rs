//! The end of the process: the last results are written after the last call that is possible.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Once, PoisonError};

use super::{STATE, State, complain, print};
use crate::results::{DefectFound, ResultsError};

/// Runs after the destructors of the program, which was loaded on top of this library.
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_EXIT: extern "C" fn() = at_exit;

/// Set in a child of `fork`, which has a copy of the GPU that belongs to its parent.
static FORKED: AtomicBool = AtomicBool::new(false);

extern "C" fn in_child() {
    FORKED.store(true, Ordering::Relaxed);
}

/// Notices forks from now on.
pub(super) fn watch_forks() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: the handler only stores to an atomic. Without room for it, children are not told apart.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
}

/// Whether this process is a child of one that used the GPU before it forked.
pub(super) fn is_forked() -> bool {
    FORKED.load(Ordering::Relaxed)
}

extern "C" fn at_exit() {
    if is_forked() {
        return;
    }
    let _ = std::panic::catch_unwind(|| {
        let mut state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
        let last = std::mem::replace(&mut *state, State::Finished);
        drop(state);
        if let State::Ready(mut runtime) = last {
            print(&runtime.take_output());
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
