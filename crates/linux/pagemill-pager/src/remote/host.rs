use std::fmt;
use std::io;
use std::time::Duration;

use pagemill_linux::clock::monotonic_ns;
use rustix::rand::{GetRandomFlags, getrandom};

/// Time and chance of a server. [`Kernel`] has the kernel's; a test may have simulated ones.
pub trait Host: Send + Sync + fmt::Debug {
    /// Time since some moment in the past.
    fn now(&self) -> Duration;

    /// Fills `bytes` with random numbers that a client cannot guess.
    ///
    /// # Errors
    /// There are none.
    fn fill_random(&self, bytes: &mut [u8]) -> io::Result<()>;
}

/// The kernel's clock and random numbers.
#[derive(Debug)]
pub struct Kernel;

impl Host for Kernel {
    fn now(&self) -> Duration {
        Duration::from_nanos(monotonic_ns())
    }

    fn fill_random(&self, bytes: &mut [u8]) -> io::Result<()> {
        getrandom(bytes, GetRandomFlags::empty())?;
        Ok(())
    }
}
