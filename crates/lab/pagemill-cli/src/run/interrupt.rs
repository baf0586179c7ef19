//! Ctrl-C ends the process and the programs that it runs, but never in the middle of putting results in place.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pagemill_linux::{children, scratch};

use crate::failure::INTERRUPTED;
use crate::output::note;

static BUSY: Mutex<()> = Mutex::new(());

/// Takes over Ctrl-C. Without a handler Ctrl-C still ends the process, so a refusal is no error.
pub fn install() {
    let _ = ctrlc::set_handler(end);
}

/// As [`install`], but the first Ctrl-C sets the flag, for a run that has something to show before it ends, and ends the programs that
/// run; the second one ends the process.
pub fn stop_programs_first() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&stop);
    let _ = ctrlc::set_handler(move || match seen.swap(true, Ordering::Relaxed) {
        true => end(),
        false => children::end_all(),
    });
    stop
}

/// As [`install`], but the first Ctrl-C only ends the programs that run, for a command that shows what they leave. A later
/// [`install`] has no effect.
pub fn programs_first() {
    let seen = AtomicBool::new(false);
    let _ = ctrlc::set_handler(move || match seen.swap(true, Ordering::Relaxed) {
        true => end(),
        false => children::end_all(),
    });
}

fn end() {
    let _writing = hold();
    // On a line of its own, below a bar.
    note("\ninterrupted: no results; points that --keep DIR has are not run again");
    children::end_all();
    scratch::remove_all();
    std::process::exit(i32::from(INTERRUPTED));
}

/// Until the guard is dropped, Ctrl-C waits.
pub fn hold() -> MutexGuard<'static, ()> {
    BUSY.lock().unwrap_or_else(PoisonError::into_inner)
}
