//! Points in parallel: the same results, and the same error, for any number of jobs.

use std::any::Any;
use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Why a point failed.
#[derive(Debug)]
pub enum PointError {
    /// The program trapped, went astray or computed something wrong.
    Failed(String),
    /// What was asked for cannot be done with this program or machine.
    Refused(String),
    /// The run was asked to end.
    Stopped,
    /// A defect of pagemill.
    Panicked(String),
}

impl fmt::Display for PointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(message) | Self::Refused(message) => f.write_str(message),
            Self::Stopped => f.write_str("stopped on request"),
            Self::Panicked(message) => {
                write!(f, "internal error, a defect of pagemill: {message}")
            }
        }
    }
}

/// How many points run at the same time when nothing is said.
pub fn available_cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// Runs `work` on every item, `jobs` at a time, and gives the results in the order of the items.
///
/// # Errors
/// The first item in order whose work failed: items before it are still run, so that the answer
/// does not depend on `jobs`.
pub fn run_all<T: Sync, R: Send>(
    items: &[T],
    jobs: usize,
    work: impl Fn(&T) -> Result<R, PointError> + Sync,
) -> Result<Vec<R>, (usize, PointError)> {
    let _hook = QuietPanics::install();
    let next = AtomicUsize::new(0);
    let failed_at = AtomicUsize::new(usize::MAX);
    let done = Mutex::new(Vec::with_capacity(items.len()));
    std::thread::scope(|scope| {
        for _ in 0..jobs.min(items.len()) {
            scope.spawn(|| {
                loop {
                    // Items are handed out in order: after a failure, all that are left come later.
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= items.len() || index > failed_at.load(Ordering::Relaxed) {
                        return;
                    }
                    let result = catch(|| work(&items[index]));
                    if result.is_err() {
                        failed_at.fetch_min(index, Ordering::Relaxed);
                    }
                    done.lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push((index, result));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter()
        .map(|(index, result)| result.map_err(|error| (index, error)))
        .collect()
}

pub(crate) fn catch<R>(work: impl FnOnce() -> Result<R, PointError>) -> Result<R, PointError> {
    // Everything a point changes is its own, and is dropped with it.
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|payload| Err(PointError::Panicked(panic_message(&*payload))))
}

thread_local! {
    static PANIC_PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

fn panic_message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("a panic without a message");
    match PANIC_PLACE.take() {
        Some(place) => format!("{text} ({place})"),
        None => text.to_owned(),
    }
}

type Hook = Box<dyn Fn(&PanicHookInfo<'_>) + Sync + Send>;

/// While it lives, a panic is noted where it happens instead of being printed.
struct QuietPanics {
    before: Option<Hook>,
}

impl QuietPanics {
    fn install() -> Self {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(|info| {
            PANIC_PLACE.set(info.location().map(ToString::to_string));
        }));
        Self {
            before: Some(before),
        }
    }
}

impl Drop for QuietPanics {
    fn drop(&mut self) {
        if let Some(before) = self.before.take().filter(|_| !std::thread::panicking()) {
            std::panic::set_hook(before);
        }
    }
}

#[cfg(test)]
mod tests;
