use std::fs::File;
use std::os::unix::net::UnixListener;
use std::sync::Arc;

use pagemill_pager::serve_guest;
use pagemill_policy::paging::READ_AHEADS;

use super::arguments::RestoreArguments;
use super::serve::usage;
use crate::failure::Failure;

/// Serves the memory of every virtual machine that is handed over, each in a thread.
pub fn restore(arguments: &RestoreArguments) -> Result<(), Failure> {
    let read_ahead = READ_AHEADS.find(&arguments.read_ahead).map_err(usage)?;
    let path = arguments.file.display();
    let file = File::open(&arguments.file).map_err(|error| usage(format!("{path}: {error}")))?;
    let file = Arc::new(file);
    let socket = arguments.listen.display();
    let listener = UnixListener::bind(&arguments.listen).map_err(|error| {
        usage(format!(
            "cannot listen at {socket}: {error}; remove a socket of an earlier run, or name another"
        ))
    })?;
    eprintln!("serving the memory of {path} at {socket}");
    for number in 1_u64.. {
        let (connection, _) = listener.accept().map_err(|error| {
            Failure::Run(format!("cannot take connections at {socket}: {error}"))
        })?;
        let file = Arc::clone(&file);
        let serve = move || {
            let begun = |bytes: u64| eprintln!("guest {number}: {} MiB of memory", bytes >> 20);
            match serve_guest(connection, &file, read_ahead, begun) {
                Ok(served) => eprintln!(
                    "guest {number} has ended: {} faults, {:.1} MiB read, {:.1} MiB of zeros",
                    served.faults,
                    served.read_units as f64 / 256.0,
                    served.zero_units as f64 / 256.0
                ),
                Err(error) => eprintln!("guest {number} is not served: {error}"),
            }
        };
        let thread = std::thread::Builder::new().name(format!("guest-{number}"));
        (thread.spawn(serve))
            .map_err(|error| Failure::Run(format!("cannot start a thread: {error}")))?;
    }
    Ok(())
}
