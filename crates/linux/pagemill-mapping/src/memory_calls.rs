use std::ops::Range;

use crate::call::Call;
use crate::kernel::Answer;

/// What a preload library does with its program's calls on memory.
pub trait MemoryCalls: Sync {
    /// The kernel's answer, or what stands for it.
    ///
    /// # Safety
    /// As the call itself.
    unsafe fn answer(&self, call: &Call) -> Answer {
        // SAFETY: nothing is lent: the kernel gets what the program gave it.
        unsafe { call.perform() }
    }

    /// Makes what of `range` is lent plain: the kernel is about to keep references to its pages.
    ///
    /// # Errors
    /// The error number of the call that needs it.
    fn make_plain(&self, _range: Range<usize>) -> Result<(), i32> {
        Ok(())
    }

    /// As [`MemoryCalls::answer`], for calls on descriptors and on the process: `close`, `close_range`, `dup2`, `dup3`, `unshare`, `setns`,
    /// `seccomp`, `prctl`, `setrlimit` and `prlimit`.
    ///
    /// # Safety
    /// As the call itself.
    unsafe fn answer_process(&self, call: &Call) -> Answer {
        // SAFETY: the call is about the process, not memory: the kernel gets what the program gave it.
        unsafe { call.perform() }
    }

    /// Right before the first thread of a child of `clone` ends with `_code`.
    fn before_end(&self, _code: i32) {}

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
