//! The start of a program.

use pagemill_linux::process::end_now;
use pagemill_mapping::dispatch;
use pagemill_mapping::next;
use pagemill_mapping::own::Own;
use pagemill_pager::{SETUP_VARIABLE, Setup};

use crate::callers::find_libraries;
use crate::calls::CALLS;
use crate::symbols::JUMPS;
use crate::{descriptors, paged, threads};

/// Exit code for wrong settings, as that of the command.
const BAD_SETUP: i32 = 2;

/// Before the program's `main`: starts the pager that the environment asks for, or ends the program.
#[used]
#[unsafe(link_section = ".init_array")]
static START: extern "C" fn() = start;

extern "C" fn start() {
    let Some(text) = std::env::var_os(SETUP_VARIABLE) else {
        return next::settle();
    };
    if let Err(cause) = dispatch::begin(&CALLS, &JUMPS) {
        eprintln!(
            "pagemill pager: {cause}, so that calls on memory could pass unseen: memory of this process stays ordinary"
        );
        return;
    }
    let _own = Own::calls();
    let setup = Setup::from_json(&text.to_string_lossy());
    let started = setup.and_then(|setup| {
        let pager = descriptors::keep_new(|| setup.start())?;
        Ok((pager, setup.least_bytes, setup.to == "compressed"))
    });
    match started {
        Ok((pager, least_bytes, in_memory)) => {
            find_libraries();
            threads::watch_the_first();
            paged::begin(pager, least_bytes, in_memory);
        }
        Err(error) => end_now(&format!("pagemill pager: {error}"), BAD_SETUP),
    }
}
