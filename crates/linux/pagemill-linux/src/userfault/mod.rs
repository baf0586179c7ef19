//! Page faults that threads of this process answer, those of system calls included.
//!
//! * [`FaultWatch`]: who touches pages of shared memory files.
//! * [`Userfault`]: private memory whose pages come and go: [`Paged`] memory, and [`Frames`] that its pages are made of.
//! * [`Answering`]: faults that the faulting thread answers itself, in a signal handler.
//! * [`Support`]: what this kernel has, and lets this user have.
//!
//! See `Documentation/admin-guide/mm/userfaultfd.rst` of the kernel.

mod frames;
mod paged;
pub(crate) mod raw;
mod signal;
mod support;
mod waiter;
mod watch;

pub use frames::{Frames, Taken};
pub use paged::{Paged, PagedFault, Userfault};
pub use signal::{Answer, Answering};
pub use support::{Feature, Support};
pub use waiter::{FaultWaiter, hold_open};
pub use watch::FaultWatch;
