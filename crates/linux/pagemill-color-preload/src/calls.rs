//! Calls of the program on memory of a space. The module itself keeps what `fork`, `mprotect` and `munmap` mean (`region.c`), whichever
//! way they are made, and refuses `mremap`. What it does not see is that bytes are given up: its pages live in no page table.

use pagemill_mapping::call::DONTNEED_LOCKED;
use pagemill_mapping::kernel::Answer;
use pagemill_mapping::{Call, Kind, MemoryCalls};

use crate::{fork, source};

struct ColoredMemory;

static MEMORY: ColoredMemory = ColoredMemory;

pagemill_mapping::replace_memory_calls!(advice MEMORY);

impl MemoryCalls for ColoredMemory {
    unsafe fn answer(&self, call: &Call) -> Answer {
        let gives_up = call.kind() == Kind::Advise
            && matches!(
                call.third(),
                libc::MADV_DONTNEED | libc::MADV_FREE | DONTNEED_LOCKED
            );
        if gives_up && source::release(call.range().start, call.range().len()) {
            return 0;
        }
        // SAFETY: the caller's promise.
        unsafe { call.perform() }
    }

    fn before_fork(&self) -> Result<(), i32> {
        fork::before();
        Ok(())
    }

    fn after_fork(&self, is_child: bool) {
        fork::after(is_child);
    }
}
