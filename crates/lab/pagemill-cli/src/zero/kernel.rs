//! `pagemill zero serve --kernel`: the helper of the kernel module.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pagemill_zero::engines::Engine;
use pagemill_zero::kernel::{HelperSettings, serve};

use super::arguments::ServeArguments;
use crate::failure::Failure;

/// Clears what the module posts until a signal comes.
pub fn help(mut engine: Box<dyn Engine>, arguments: &ServeArguments) -> Result<(), Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let stopper = Arc::clone(&stop);
    ctrlc::set_handler(move || stopper.store(true, Ordering::Relaxed))
        .map_err(|error| Failure::Run(format!("cannot wait for signals: {error}")))?;
    let settings = HelperSettings {
        busy: arguments.busy,
        batch_pieces: arguments.batch.get(),
    };
    eprintln!(
        "clearing for the kernel module, engine {}, {}",
        engine.name(),
        if settings.busy {
            "never sleeping"
        } else {
            "sleeping between pages"
        }
    );
    let cleaned =
        serve(engine.as_mut(), settings, &stop).map_err(|error| Failure::Run(error.to_string()))?;
    eprintln!("{cleaned} pieces cleared");
    Ok(())
}
