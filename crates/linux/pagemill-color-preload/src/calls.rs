//! Calls of the program on memory of a space. The module itself keeps what `fork`, `mprotect` and `munmap` mean (`region.c`), whichever
//! way they are made, and refuses `mremap`. What it does not see is that bytes are given up: its pages live in no page table.

use pagemill_mapping::call::DONTNEED_LOCKED;
use pagemill_mapping::kernel::Answer;
use pagemill_mapping::{Call, Heap, KernelPages, Kind, MemoryCalls, dispatch};

use crate::symbols::HEAP_JUMPS;
use crate::{fork, source};

/// Memory of this library itself, which may be called with a lock of the program's allocator held.
#[global_allocator]
static OWN: Heap<KernelPages> = Heap::new(KernelPages);

struct ColoredMemory;

static MEMORY: ColoredMemory = ColoredMemory;

pagemill_mapping::replace_memory_calls!(advice MEMORY);

/// From now on, calls by whatever way are seen. Where they cannot be, those by an instruction keep what the module does not see.
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = {
    extern "C" fn begin() {
        let _ = dispatch::begin(&MEMORY, &[ADVICE_JUMPS, DISPATCH_JUMPS, HEAP_JUMPS]);
    }
    begin
};

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
        // SAFETY: the program makes this call on memory of its own.
        unsafe { call.perform() }
    }

    fn before_fork(&self) -> Result<(), i32> {
        fork::before();
        OWN.hold();
        Ok(())
    }

    fn after_fork(&self, is_child: bool) {
        OWN.let_go();
        fork::after(is_child);
    }
}
