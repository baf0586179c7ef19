//! `madvise`.

use std::ops::Range;

use crate::call::{Call, DONTNEED_LOCKED, Kind, PAGE_BYTES};
use crate::kernel::{self, Answer, has_failed};
use crate::plain;
use crate::range_table::{RangeTable, overlap};
use crate::source::Source;

impl<S: Source> RangeTable<S> {
    /// # Safety
    /// As the call itself.
    pub unsafe fn advise(&mut self, call: &Call) -> Result<Answer, i32> {
        let [start, bytes, ..] = call.arguments;
        let range = call.range();
        let end = bytes.checked_next_multiple_of(PAGE_BYTES);
        let end = end.and_then(|bytes| start.checked_add(bytes));
        // SAFETY: of no bytes, the kernel only says whether it knows the advice.
        let is_known = !has_failed(unsafe { kernel::advise(start, 0, call.third()) });
        if !is_known || end.is_none() {
            // SAFETY: the kernel refuses.
            return Ok(unsafe { call.perform() });
        }
        if call.third() == libc::MADV_NOHUGEPAGE {
            self.refuses_huge.push(range.clone());
        }
        match effect(call.third(), self.source.is_native(Kind::Advise)) {
            // SAFETY: the program asks for this advice on memory that it has, whatever it does there.
            Effect::Unknown => unsafe { self.advise_plain(call, &range) },
            // SAFETY: the program asks for a huge page, which keeps its bytes.
            Effect::Collapse => unsafe { self.collapse(call, &range) },
            // SAFETY: the program asks for this advice, and gives up the bytes where it says so.
            effect => unsafe { self.advise_parts(call, range, effect) },
        }
    }

    /// # Safety
    /// As the call itself.
    unsafe fn advise_plain(&mut self, call: &Call, range: &Range<usize>) -> Result<Answer, i32> {
        self.make_range_plain(range)?;
        // SAFETY: the memory is plain now: the call does what the program asks of the kernel.
        Ok(unsafe { call.perform() })
    }

    /// A source may have kept huge pages away from memory that has become plain: the kernel refuses to make some until they are wanted.
    ///
    /// # Safety
    /// As the call itself.
    unsafe fn collapse(&mut self, call: &Call, range: &Range<usize>) -> Result<Answer, i32> {
        // SAFETY: the program asks for a huge page, which keeps its bytes.
        let answer = unsafe { self.advise_plain(call, range) }?;
        let mut refused = self.refuses_huge.iter();
        let is_refused = refused.any(|refused| !overlap(refused, range).is_empty());
        if answer != -(libc::EINVAL as Answer) || is_refused {
            return Ok(answer);
        }
        // SAFETY: the advice leaves the bytes as they are, as the call does.
        unsafe {
            kernel::advise(range.start, range.len(), libc::MADV_HUGEPAGE);
            Ok(call.perform())
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
                // SAFETY: a part of the range for which the program asks this, clipped to its own memory.
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
        match effect {
            Effect::Discard => return self.discard(extent, part),
            Effect::Inherit(is_inherited) => return self.inherit(extent, &part, is_inherited),
            _ => {}
        }
        // Huge mappings take less advice than others, and the kernel knows which.
        let is_asked = self.is_huge(extent) && call.third() != KEEPONFORK;
        if is_asked || effect == Effect::Native {
            // SAFETY: the advice leaves the bytes as they are.
            let answer = unsafe { kernel::advise(part.start, part.len(), call.third()) };
            if has_failed(answer) {
                return Err(-answer as i32);
            }
        }
        Ok(())
    }

    /// `MADV_DOFORK` and `MADV_DONTFORK`: an extent is inherited as a whole, or not; a part of it becomes plain first.
    fn inherit(
        &mut self,
        extent: &Range<usize>,
        part: &Range<usize>,
        is_inherited: bool,
    ) -> Result<(), i32> {
        let Some(found) = self.extents.get_mut(&extent.start) else {
            return Ok(());
        };
        if found.is_inherited == is_inherited {
            return Ok(());
        }
        if part == extent && self.source.set_inherited(extent.clone(), is_inherited) {
            found.is_inherited = is_inherited;
            return Ok(());
        }
        self.make_range_plain(part)?;
        plain::set_inherited(part, is_inherited);
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

/// `MADV_KEEPONFORK`, which undoes what would have made memory plain.
const KEEPONFORK: i32 = libc::MADV_KEEPONFORK;

/// What advice does to lent memory. What is not named here makes it plain first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// Bytes become zero.
    Discard,
    /// A child of `fork` has the memory, or not.
    Inherit(bool),
    /// None that a program could see.
    None,
    /// That on the kernel's own memory.
    Native,
    /// The kernel makes huge pages of it.
    Collapse,
    Unknown,
}

fn effect(advice: i32, is_native: bool) -> Effect {
    /// Newer than the C library's headers.
    const COLLAPSE: i32 = 25;
    match advice {
        libc::MADV_DONTNEED | DONTNEED_LOCKED => Effect::Discard,
        libc::MADV_DONTFORK => Effect::Inherit(false),
        libc::MADV_DOFORK => Effect::Inherit(true),
        libc::MADV_NORMAL
        | libc::MADV_RANDOM
        | libc::MADV_SEQUENTIAL
        | libc::MADV_WILLNEED
        | libc::MADV_FREE
        | KEEPONFORK
        | libc::MADV_MERGEABLE
        | libc::MADV_UNMERGEABLE
        | libc::MADV_HUGEPAGE
        | libc::MADV_NOHUGEPAGE
        | libc::MADV_COLD
        | libc::MADV_PAGEOUT => Effect::None,
        libc::MADV_DONTDUMP
        | libc::MADV_DODUMP
        | libc::MADV_POPULATE_READ
        | libc::MADV_POPULATE_WRITE
            if is_native =>
        {
            Effect::Native
        }
        libc::MADV_DODUMP | libc::MADV_POPULATE_READ | libc::MADV_POPULATE_WRITE => Effect::None,
        COLLAPSE => Effect::Collapse,
        _ => Effect::Unknown,
    }
}
