//! Work without the interpreter's lock, which Ctrl-C stops.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;

use crate::error;

/// How often signals are looked for. The end of the work is seen at once.
const TICK: Duration = Duration::from_millis(50);

/// How long to wait for work that was asked to stop. Work that does not stop by then ends by itself, and its result is dropped.
const STOP_TICKS: u32 = 40;

/// Runs `work` on a thread of its own. After Ctrl-C, or when `tick` raises, `stop` is set and the exception goes on.
pub fn run<T: Send + 'static>(
    py: Python<'_>,
    stop: &AtomicBool,
    work: impl FnOnce() -> T + Send + 'static,
    mut tick: impl FnMut(Python<'_>) -> PyResult<()>,
) -> PyResult<T> {
    let (sender, receiver) = channel();
    let started = std::thread::Builder::new()
        .name("pagemill".to_owned())
        .spawn(move || {
            // After Ctrl-C, the listener is gone.
            let _ = sender.send(work());
        });
    started.map_err(|error| error::run(format!("cannot start a thread: {error}")))?;
    let receiver = Mutex::new(receiver);
    loop {
        match wait(py, &receiver) {
            Ok(result) => {
                tick(py)?;
                return Ok(result);
            }
            Err(RecvTimeoutError::Disconnected) => {
                return Err(error::run(
                    "internal error, a defect of pagemill: the work ended in a panic",
                ));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Err(exception) = py.check_signals().and_then(|()| tick(py)) {
            stop.store(true, Ordering::Relaxed);
            for _ in 0..STOP_TICKS {
                if !matches!(wait(py, &receiver), Err(RecvTimeoutError::Timeout)) {
                    break;
                }
            }
            return Err(exception);
        }
    }
}

fn wait<T: Send>(py: Python<'_>, receiver: &Mutex<Receiver<T>>) -> Result<T, RecvTimeoutError> {
    py.detach(|| {
        let receiver = receiver.lock().unwrap_or_else(PoisonError::into_inner);
        receiver.recv_timeout(TICK)
    })
}

/// A flag that stops work, not set.
pub fn new_stop() -> Arc<AtomicBool> {
    Arc::new(AtomicBool::new(false))
}
