//! Lanes that take part where the member mask leaves out what they read, or themselves.

use crate::exec::service::Output;
use crate::launch::Launch;
use crate::memory::DeviceMemory;

/// Says where they do so in the block of this `index`; a checker, if there is one, notes it instead.
#[cold]
pub(super) fn name(output: &mut Output, launch: &Launch, index: u64, memory: &mut DeviceMemory) {
    let kernel = &launch.kernel;
    for info in output.take_strays() {
        if let Some(checker) = &mut memory.checker {
            checker.note_stray(index, info);
            continue;
        }
        let line = kernel
            .instructions
            .get(info as usize)
            .map_or(0, |info| info.line);
        output.note(format!(
            "kernel {} at {}:{line}: a lane reads from one that its member mask does not name or that has ended, or its \
             own mask leaves it out; CUDA leaves the value undefined",
            kernel.name, kernel.source_name,
        ));
    }
}
