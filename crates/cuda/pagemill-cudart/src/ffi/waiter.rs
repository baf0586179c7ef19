//! Waiting for kernels that wait themselves, and the thread that lets them go on while the program calls nothing.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Once, PoisonError};
use std::time::{Duration, Instant};

use super::{Done, STATE, State, complain, with_runtime};
use crate::error::{CudaError, Fault};
use crate::runtime::Turn;

/// How often it looks at first, and when nothing has changed for long.
const INTERVALS: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(50)];

/// Calls of the runtime so far: while they go on, kernels go on with them.
static CALLS: AtomicU64 = AtomicU64::new(0);

/// The runtime was called, and some kernel waits.
pub(super) fn note_waiting() {
    static STARTED: Once = Once::new();
    CALLS.fetch_add(1, Ordering::Relaxed);
    STARTED.call_once(|| {
        let thread = std::thread::Builder::new().name("pagemill-waits".to_owned());
        // Without it, kernels go on when the program calls something.
        let _ = thread.spawn(look);
    });
}

fn look() {
    crate::managed::refuse_signals();
    let [mut interval, longest] = INTERVALS;
    let mut calls = 0;
    loop {
        std::thread::sleep(interval);
        let now = CALLS.load(Ordering::Relaxed);
        if now != calls {
            (calls, interval) = (now, INTERVALS[0]);
            continue;
        }
        interval = longest.min(interval * 2);
        if !has_waiting() {
            continue;
        }
        // What goes wrong loses the GPU, which the next call of the program says.
        let settled = with_runtime(|runtime| runtime.settle(Turn::All));
        if let Err(Fault {
            message: Some(message),
            ..
        }) = settled
        {
            complain("kernel launch", &message);
        }
    }
}

fn has_waiting() -> bool {
    let state = STATE.lock().unwrap_or_else(PoisonError::into_inner);
    matches!(&*state, State::Ready(runtime) if runtime.streams.has_waiting())
}

/// Between two looks at kernels that only another thread or process can get on.
const LOOK_INTERVAL: Duration = Duration::from_millis(1);
/// For how long they are looked at without a change until they count as stuck.
const PATIENCE: Duration = Duration::from_secs(10);

/// Waits until what `turn` names is done. What goes wrong is said as for the launch that it was.
pub(super) fn settle(turn: Turn) -> Done {
    let settled = wait_until_settled(turn);
    settled.map_err(|fault| match fault {
        Fault {
            sticky: true,
            message: Some(message),
            ..
        } => {
            complain("kernel launch", &message);
            Fault {
                sticky: true,
                ..Fault::silent(fault.code)
            }
        }
        other => other,
    })
}

fn wait_until_settled(turn: Turn) -> Done {
    let begun = Instant::now();
    while !with_runtime(|runtime| runtime.settle(turn))? {
        note_waiting();
        let others_may_help = has_other_threads() && begun.elapsed() < PATIENCE;
        if !others_may_help {
            return with_runtime(|runtime| runtime.settle_alone(turn));
        }
        std::thread::sleep(LOOK_INTERVAL);
    }
    Ok(())
}

/// Whether what `turn` names is done; an error that is none if not.
pub(super) fn is_settled(turn: Turn) -> Done {
    match with_runtime(|runtime| runtime.settle(turn))? {
        true => Ok(()),
        false => Err(Fault::silent(CudaError::NOT_READY)),
    }
}

/// Whether the process has threads beside this one and those of this library: they may write what a kernel waits for.
pub(super) fn has_other_threads() -> bool {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else {
        return true;
    };
    let is_own = |name: &str| name.starts_with("pagemill-");
    let names = threads
        .flatten()
        .map(|thread| std::fs::read_to_string(thread.path().join("comm")));
    names.flatten().filter(|name| !is_own(name)).count() > 1
}
