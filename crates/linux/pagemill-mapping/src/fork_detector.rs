//! Distinguishes a forked child from its parent, and from a `vfork` child, which shares its parent's memory: a word that the kernel clears
//! in each child that has memory of its own.

use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::call::PAGE_BYTES;
use crate::kernel;

pub struct ForkDetector {
    /// Address of the word; 0 where there is none yet.
    word: AtomicUsize,
}

impl ForkDetector {
    pub const fn new() -> Self {
        Self {
            word: AtomicUsize::new(0),
        }
    }

    /// Marks this process. Not from two threads at once.
    pub fn set(&self) {
        if self.word.load(Ordering::Relaxed) == 0 {
            let Ok(page) = kernel::map_plain(PAGE_BYTES) else {
                return;
            };
            // SAFETY: the page is fresh and ours.
            unsafe { kernel::advise(page, PAGE_BYTES, libc::MADV_WIPEONFORK) };
            self.word.store(page, Ordering::Relaxed);
        }
        if let Some(word) = self.word() {
            word.store(1, Ordering::Relaxed);
        }
    }

    /// Whether this is a child of the process that was marked.
    pub fn is_wiped(&self) -> bool {
        self.word()
            .is_some_and(|word| word.load(Ordering::Relaxed) == 0)
    }

    fn word(&self) -> Option<&AtomicU32> {
        let word: *const AtomicU32 =
            ptr::with_exposed_provenance(self.word.load(Ordering::Relaxed));
        // SAFETY: null, or a page that is never unmapped.
        unsafe { word.as_ref() }
    }
}
