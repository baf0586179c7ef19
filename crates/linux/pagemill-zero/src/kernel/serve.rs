use std::sync::atomic::{AtomicBool, Ordering};

use pagemill_linux::zero_module::{ENTRIES, PIECE_BYTES, ZeroModule};
use pagemill_linux::{Backing, Mapping, OsError, clock};

use crate::engines::{Engine, EngineError};

/// How often an idle helper says that it is alive.
const ALIVE_MS: u32 = 100;

/// How a helper waits.
#[derive(Clone, Copy, Debug)]
pub struct HelperSettings {
    /// Look at the ring without ever sleeping: a whole CPU, for the shortest answer.
    pub busy: bool,
    /// Pieces given to the engine at once, at least one.
    pub batch_pieces: usize,
}

/// Why a helper ended.
#[derive(Debug, thiserror::Error)]
pub enum HelperError {
    /// The kernel refused something.
    #[error(transparent)]
    Os(#[from] OsError),
    /// The engine failed and may still write: this process must end before the pages are used, and with it the window.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Cleans what the module posts until `stop` is set. Returns how many pieces were cleaned.
///
/// # Errors
/// The module cannot be attached to, or the engine cannot be stopped.
pub fn serve(
    engine: &mut dyn Engine,
    settings: HelperSettings,
    stop: &AtomicBool,
) -> Result<u64, HelperError> {
    warm_up(engine)?;
    let mut module = ZeroModule::open()?;
    let mut cleaned = 0;
    let mut said_alive_ns = clock::monotonic_ns();
    while !stop.load(Ordering::Relaxed) {
        let count = clean_batch(&mut module, engine, settings)?;
        cleaned += count;
        if count == 0 {
            rest(&mut module, settings, &mut said_alive_ns)?;
        }
    }
    Ok(cleaned)
}

/// A first call may compile something, which no caller should wait for.
fn warm_up(engine: &mut dyn Engine) -> Result<(), HelperError> {
    let mut memory = Mapping::new(Backing::Anonymous, PIECE_BYTES, false)?;
    engine.zero(&mut [memory.bytes_mut()])?;
    Ok(())
}

/// Cleans what is posted, up to a batch; returns how many pieces were posted.
fn clean_batch(
    module: &mut ZeroModule,
    engine: &mut dyn Engine,
    settings: HelperSettings,
) -> Result<u64, HelperError> {
    let pieces = module.take(settings.batch_pieces.clamp(1, ENTRIES));
    if pieces.is_empty() {
        return Ok(0);
    }
    let count = pieces.len() as u64;
    match engine.zero(&mut module.memory(&pieces)) {
        Ok(_) => module.done(pieces)?,
        Err(error @ EngineError::StillWriting { .. }) => return Err(error.into()),
        // Nothing is said about these pieces: their deadline passes, and the CPU cleans them.
        Err(error) => eprintln!("pagemill: {error}"),
    }
    Ok(count)
}

fn rest(
    module: &mut ZeroModule,
    settings: HelperSettings,
    said_alive_ns: &mut u64,
) -> Result<(), HelperError> {
    if settings.busy {
        std::hint::spin_loop();
    } else {
        module.wait(ALIVE_MS)?;
    }
    let now_ns = clock::monotonic_ns();
    if now_ns - *said_alive_ns >= u64::from(ALIVE_MS) * 1_000_000 {
        *said_alive_ns = now_ns;
        module.reap()?;
    }
    Ok(())
}
