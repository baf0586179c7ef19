//! Ctrl-C ends the process and the programs that it runs, but never in the middle of putting results in place.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pagemill_linux::{children, scratch};

/// What a shell reports for a process that Ctrl-C ended.
const EXIT_CODE: i32 = 130;

static BUSY: Mutex<()> = Mutex::new(());

/// Takes over Ctrl-C. Without a handler Ctrl-C still ends the process, so a refusal is no error.
pub fn install() {
    let _ = ctrlc::set_handler(|| {
        let _writing = hold();
        children::end_all();
        scratch::remove_all();
        std::process::exit(EXIT_CODE);
    });
}

/// Until the guard is dropped, Ctrl-C waits.
pub fn hold() -> MutexGuard<'static, ()> {
    BUSY.lock().unwrap_or_else(PoisonError::into_inner)
}
