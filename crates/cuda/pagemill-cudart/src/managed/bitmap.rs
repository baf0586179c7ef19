//! A bit for each granule of the managed address range, that a signal handler may read and write.

use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// A large array of bits in memory that is committed only where it is touched.
pub(crate) struct Bitmap {
    words: AtomicPtr<AtomicU64>,
}

/// Bits of a bitmap: one for each CPU page of 16 TiB.
pub(crate) const BITS: u64 = 1 << 32;

impl Bitmap {
    pub(crate) const fn unmapped() -> Self {
        Self {
            words: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// Reserves the memory, once; all bits are clear.
    pub(crate) fn map(&self) -> std::io::Result<()> {
        if !self.words.load(Ordering::Acquire).is_null() {
            return Ok(());
        }
        // SAFETY: a new anonymous mapping wherever there is room disturbs nothing.
        let mapped = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                (BITS / 8) as usize,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if mapped == libc::MAP_FAILED {
            return Err(std::io::Error::last_os_error());
        }
        self.words.store(mapped.cast(), Ordering::Release);
        Ok(())
    }

    fn word(&self, index: u64) -> Option<&AtomicU64> {
        let words = self.words.load(Ordering::Acquire);
        if words.is_null() || index >= BITS / 64 {
            return None;
        }
        // SAFETY: the mapping has BITS / 64 words, is zero at first, lives as long as the process, and is only used
        // through these atomics.
        Some(unsafe { &*words.add(index as usize) })
    }

    pub(crate) fn get(&self, bit: u64) -> bool {
        self.word(bit / 64)
            .is_some_and(|word| word.load(Ordering::Acquire) & (1 << (bit % 64)) != 0)
    }

    pub(crate) fn set(&self, bit: u64, value: bool) {
        let Some(word) = self.word(bit / 64) else {
            return;
        };
        let mask = 1 << (bit % 64);
        if value {
            word.fetch_or(mask, Ordering::AcqRel);
        } else {
            word.fetch_and(!mask, Ordering::AcqRel);
        }
    }

    /// Clears a bit; returns whether it was set.
    pub(crate) fn take(&self, bit: u64) -> bool {
        let mask = 1 << (bit % 64);
        self.get(bit)
            && self
                .word(bit / 64)
                .is_some_and(|word| word.fetch_and(!mask, Ordering::AcqRel) & mask != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_apart() {
        let bitmap = Bitmap::unmapped();
        bitmap.set(3, true);
        assert!(!bitmap.get(3), "nothing is mapped yet");
        bitmap.map().expect("there is address space");
        for bit in [0, 63, 64, BITS - 1] {
            assert!(!bitmap.get(bit));
            bitmap.set(bit, true);
            assert!(bitmap.get(bit));
        }
        assert!(bitmap.take(63) && !bitmap.take(63));
        assert!(bitmap.get(64) && bitmap.get(0));
        bitmap.set(BITS, true);
        assert!(!bitmap.get(BITS));
    }
}
