use crate::call::Call;
use crate::kernel::Answer;

/// What a preload library does with its program's calls on memory.
pub trait MemoryCalls: Sync {
    /// The kernel's answer, or what stands for it.
    ///
    /// # Safety
    /// As the call itself.
    unsafe fn answer(&self, call: &Call) -> Answer {
        // SAFETY: the caller's promise.
        unsafe { call.perform() }
    }

    /// Some time before a fork, of which it is not known whether it can be refused later.
    ///
    /// # Errors
    /// The error number that the fork fails with.
    fn prepare_fork(&self) -> Result<(), i32> {
        Ok(())
    }

    /// Right before a fork: nothing of this library changes until [`MemoryCalls::after_fork`].
    ///
    /// # Errors
    /// The error number that the fork fails with; there is no `after_fork` then.
    fn before_fork(&self) -> Result<(), i32> {
        Ok(())
    }

    /// Right after a fork, in both processes, also if it failed.
    fn after_fork(&self, _is_child: bool) {}
}
