//! `mremap`.

use std::ops::Range;

use crate::call::{Call, Kind, PAGE_BYTES};
use crate::kernel::{Answer, has_failed};
use crate::range_table::{Extent, RangeTable, overlap};
use crate::source::{BlockId, Source};

impl<S: Source> RangeTable<S> {
    /// # Safety
    /// As the call itself.
    pub unsafe fn remap(&mut self, call: &Call) -> Result<Answer, i32> {
        let [start, _, new_bytes, flags, ..] = call.arguments;
        let old = call.range();
        if !start.is_multiple_of(PAGE_BYTES) {
            // SAFETY: the kernel refuses.
            return Ok(unsafe { call.perform() });
        }
        let touched = self.touched(&old);
        if let [extent] = &touched[..]
            && extent.start <= old.start
            && old.end <= extent.end
            && flags & !(libc::MREMAP_MAYMOVE as usize) == 0
        {
            let is_huge = self.is_huge(extent);
            if is_huge && (new_bytes > old.len() || !start.is_multiple_of(S::GRANULE)) {
                // As the kernel: huge mappings do not grow.
                return Err(libc::EINVAL);
            }
            if (1..=old.len()).contains(&new_bytes) {
                let unit = if is_huge { S::GRANULE } else { PAGE_BYTES };
                let new_end = (start + new_bytes).next_multiple_of(unit);
                // SAFETY: the program gives up what is behind the new end.
                return unsafe { self.shrink(&old, new_end) };
            }
        }
        if self.source.is_native(Kind::Remap) {
            // SAFETY: the program moves or grows its mapping, and uses it at the address that it gets.
            return unsafe { self.follow(call, old, new_bytes) };
        }
        self.make_range_plain(&old)?;
        // SAFETY: all of it is plain: the kernel moves what the program names.
        let answer = unsafe { self.replace(call) }?;
        if !has_failed(answer) && answer as usize != start {
            // Shared memory of the source may have moved: it is mapped elsewhere now.
            self.forget(old);
        }
        Ok(answer)
    }

    /// `mremap` to fewer bytes, in place.
    unsafe fn shrink(&mut self, old: &Range<usize>, new_end: usize) -> Result<Answer, i32> {
        if new_end < old.end {
            let tail = Call::new(libc::SYS_munmap, [new_end, old.end - new_end]);
            // SAFETY: this unmaps the tail alone, which the program gives up.
            let answer = unsafe { self.replace(&tail) }?;
            if has_failed(answer) {
                return Ok(answer);
            }
        }
        Ok(old.start as Answer)
    }

    /// Has the kernel move memory of a source that keeps up with it.
    unsafe fn follow(
        &mut self,
        call: &Call,
        old: Range<usize>,
        new_bytes: usize,
    ) -> Result<Answer, i32> {
        let moving: Vec<_> = self.touched(&old);
        // SAFETY: the program gives up the old place, and what is at a fixed new one.
        let answer = unsafe { self.replace(call) }?;
        if has_failed(answer) {
            return Ok(answer);
        }
        let new = answer as usize..answer as usize + new_bytes;
        for extent in moving {
            let from = overlap(&extent, &old);
            let Some(block) = self.extents.get(&extent.start).map(|extent| extent.block) else {
                continue;
            };
            let to_start = new.start + (from.start - old.start);
            let reaches_end = from.end == old.end;
            let to_end = if reaches_end {
                new.end
            } else {
                new.end.min(to_start + from.len())
            };
            self.relocate(block, from, to_start..to_end.max(to_start));
        }
        Ok(answer)
    }

    /// Enters a move within one block.
    fn relocate(&mut self, block: BlockId, from: Range<usize>, to: Range<usize>) {
        self.source.moved(from.clone(), to.clone());
        let mut is_inherited = true;
        for extent in self.touched(&from) {
            let Some(found) = self.extents.remove(&extent.start) else {
                continue;
            };
            is_inherited &= found.is_inherited;
            if extent.start < from.start {
                let end = from.start;
                self.extents.insert(extent.start, Extent { end, ..found });
            }
            if found.end > from.end {
                self.extents.insert(from.end, found);
            }
        }
        if !to.is_empty() {
            let moved = Extent {
                end: to.end,
                block,
                is_inherited,
            };
            self.extents.insert(to.start, moved);
        }
        if let Some(found) = self.blocks.get_mut(&block) {
            found.lent_bytes = found.lent_bytes + to.len() - from.len();
        }
    }
}
