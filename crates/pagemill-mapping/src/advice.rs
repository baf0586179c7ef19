//! `madvise`.

use std::ops::Range;

use crate::call::{Call, Kind, PAGE_BYTES};
use crate::kernel::{self, Answer, has_failed};
use crate::plain;
use crate::range_table::{RangeTable, overlap};
use crate::source::Source;

impl<S: Source> RangeTable<S> {
    /// # Safety
    /// As the call itself.
    pub unsafe fn advise(&mut self, call: &Call) -> Result<Answer, i32> {
        let range = call.range();
        if !call.arguments[0].is_multiple_of(PAGE_BYTES) {
            // SAFETY: the caller's promise. The kernel refuses.
            return Ok(unsafe { call.perform() });
        }
        match effect(call.third()) {
            // SAFETY: the caller's promise.
            Effect::Unknown => unsafe { self.plain_first(call, &range) },
            // SAFETY: the caller's promise.
            effect => unsafe { self.advise_parts(call, range, effect) },
        }
    }

    /// LentMemory parts here, others by the kernel, in order; as there, what is not mapped stops nothing.
    unsafe fn advise_parts(
        &mut self,
        call: &Call,
        range: Range<usize>,
        effect: Effect,
    ) -> Result<Answer, i32> {
        let mut answer = 0;
        let mut at = range.start;
        let mut touched = self.touched(&range);
        touched.reverse();
        let end = range.end..range.end;
        for extent in touched.into_iter().chain([end]) {
            let part = overlap(&extent, &range);
            if at < part.start {
                // SAFETY: the caller's promise, of a part of its range.
                let result = unsafe { kernel::advise(at, part.start - at, call.third()) };
                match -result as i32 {
                    0 => {}
                    libc::ENOMEM => answer = result,
                    _ => return Ok(result),
                }
            }
            if !part.is_empty() {
                self.advise_lent(call, &extent, part.clone(), effect)?;
            }
            at = part.end;
        }
        Ok(answer)
    }

    fn advise_lent(
        &mut self,
        call: &Call,
        extent: &Range<usize>,
        part: Range<usize>,
        effect: Effect,
    ) -> Result<(), i32> {
        if effect == Effect::Discard {
            return self.discard(extent, part);
        }
        // Pages that the kernel drops by itself may be elsewhere with older bytes.
        if self.source.is_native(Kind::Advise) && call.third() != libc::MADV_FREE {
            // SAFETY: the advice leaves the bytes as they are.
            let answer = unsafe { kernel::advise(part.start, part.len(), call.third()) };
            if has_failed(answer) {
                return Err(-answer as i32);
            }
        }
        Ok(())
    }

    /// `MADV_DONTNEED`: the next read finds zero.
    fn discard(&mut self, extent: &Range<usize>, mut part: Range<usize>) -> Result<(), i32> {
        if self.is_huge(extent) {
            // As the kernel does it: whole huge pages, the rest stays.
            if !part.start.is_multiple_of(S::GRANULE) {
                return Err(libc::EINVAL);
            }
            part.end -= part.end % S::GRANULE;
        } else if part == *extent && !self.source.is_native(Kind::Advise) {
            // SAFETY: the extent's owner gives its bytes up.
            let answer = unsafe { kernel::map_plain_over(part.start, part.len()) };
            if !has_failed(answer) {
                plain::touch(part.start);
                self.forget(part);
                return Ok(());
            }
        }
        self.source.discard(part)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// Bytes become zero.
    Discard,
    /// None that a program could see.
    None,
    Unknown,
}

fn effect(advice: i32) -> Effect {
    /// `MADV_DONTNEED_LOCKED`, newer than the C library's headers.
    const DONTNEED_LOCKED: i32 = 24;
    match advice {
        libc::MADV_DONTNEED | DONTNEED_LOCKED => Effect::Discard,
        libc::MADV_NORMAL
        | libc::MADV_RANDOM
        | libc::MADV_SEQUENTIAL
        | libc::MADV_WILLNEED
        | libc::MADV_FREE
        | libc::MADV_DOFORK
        | libc::MADV_HUGEPAGE
        | libc::MADV_NOHUGEPAGE
        | libc::MADV_DODUMP
        | libc::MADV_COLD
        | libc::MADV_PAGEOUT
        | libc::MADV_POPULATE_READ
        | libc::MADV_POPULATE_WRITE => Effect::None,
        _ => Effect::Unknown,
    }
}
