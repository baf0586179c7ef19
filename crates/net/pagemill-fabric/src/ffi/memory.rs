use crate::memory::Memory;

struct OwnMemory;

/// The memory of this process. Addresses come from the program by way of libfabric calls whose contract is that they can be read,
/// or written, until the operation completes.
pub fn own_memory() -> Box<dyn Memory> {
    Box::new(OwnMemory)
}

impl Memory for OwnMemory {
    fn load(&self, address: u64, bytes: usize, to: &mut Vec<u8>) {
        if bytes == 0 {
            return;
        }
        let from = std::ptr::with_exposed_provenance::<u8>(address as usize);
        to.reserve(bytes);
        // SAFETY: the program said that `bytes` bytes from `address` can be read (see `own_memory`); the target was just
        // reserved and is no part of the program's buffer.
        unsafe {
            std::ptr::copy_nonoverlapping(from, to.as_mut_ptr().add(to.len()), bytes);
            to.set_len(to.len() + bytes);
        }
    }

    fn store(&mut self, address: u64, from: &[u8]) {
        if from.is_empty() {
            return;
        }
        let to = std::ptr::with_exposed_provenance_mut::<u8>(address as usize);
        // SAFETY: the program said that the buffer can be written (see `own_memory`); `from` is ours, so they do not overlap.
        unsafe { std::ptr::copy_nonoverlapping(from.as_ptr(), to, from.len()) }
    }
}
