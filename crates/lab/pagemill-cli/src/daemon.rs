//! What the commands that serve at a socket have in common.

use std::path::Path;
use std::sync::mpsc::{Receiver, channel};

use pagemill_linux::stop::Stopper;

use crate::failure::Failure;

/// Signals that ask a daemon to end. They are heard from the start: a client that sees the socket may send one already.
pub struct Signals(Receiver<()>);

impl Signals {
    pub fn hear() -> Result<Self, Failure> {
        let (heard, signals) = channel();
        ctrlc::set_handler(move || {
            // Once is enough.
            let _ = heard.send(());
        })
        .map_err(|error| Failure::Run(format!("cannot wait for signals: {error}")))?;
        Ok(Self(signals))
    }

    pub fn wait(&self) {
        let _ = self.0.recv();
    }

    /// Has the first one end what `stopper` ends.
    pub fn end(self, stopper: Stopper) {
        std::thread::spawn(move || {
            self.wait();
            stopper.stop();
        });
    }
}

/// Who may connect, from text such as `660`.
pub fn socket_mode(text: &str) -> Result<u32, Failure> {
    u32::from_str_radix(text, 8)
        .ok()
        .filter(|mode| *mode <= 0o777)
        .ok_or_else(|| Failure::Usage(format!("{text} is no octal mode such as 660")))
}

/// Makes the folder that a socket is to lie in.
pub fn make_folder_of(socket: &Path) -> Result<(), Failure> {
    match socket.parent() {
        Some(folder) if folder != Path::new("") => std::fs::create_dir_all(folder)
            .map_err(|error| Failure::Run(format!("cannot make {}: {error}", folder.display()))),
        _ => Ok(()),
    }
}
