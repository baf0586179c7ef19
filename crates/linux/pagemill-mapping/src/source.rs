use std::ops::Range;

use crate::call::{Call, Kind};
use crate::plain;

/// Names what a source lent at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlockId(pub u64);

/// Where memory that stands in for the kernel's comes from.
///
/// Memory of a source is readable and writable, reads as zero when it is lent, and is at multiples of [`Source::GRANULE`]. A call that
/// would mean something else on it than on private anonymous memory is not made on it: the memory becomes *plain*, which is private
/// and anonymous, first ([`Source::make_plain`]). A source says which calls need nothing of this ([`Source::is_native`]).
///
/// All functions run under one lock, with signals of the thread blocked, and may allocate: what they allocate is not lent.
pub trait Source: Send {
    /// Memory is lent, and taken back in parts, in multiples of this many bytes: a power of two, at least 4096.
    const GRANULE: usize;

    /// Whether parts of an extent can become plain: the kernel has the parts as one mapping again once all of them are.
    const PLAIN_IN_PARTS: bool = false;

    /// Maps at least `bytes` bytes, if it has them at once.
    fn lend(&mut self, block: BlockId, bytes: usize) -> Option<Range<usize>>;

    /// Has `place`, mapped afresh and without access, be memory of its own as [`Source::lend`] lends it, if it has so much.
    fn lend_at(&mut self, _block: BlockId, _place: Range<usize>) -> bool {
        false
    }

    /// A part of what it lent is no longer mapped.
    fn unmapped(&mut self, _part: Range<usize>) {}

    /// Nothing of a block is mapped any more.
    fn release_block(&mut self, block: BlockId);

    /// Whether `call` is an `mmap` that it could stand for. Asked of every `mmap`, outside of the lock.
    fn serves(call: &Call) -> bool;

    /// Whether the kernel's own call means on this memory what it means on private anonymous memory. For `Protect` the source must
    /// discard memory that is not writable, too; after `Remap` it is told ([`Source::moved`], [`Source::unmapped`]); for `Fork` the child
    /// must have its own copy; for `Advise`, what is to be dumped or populated is passed on to the kernel.
    fn is_native(&self, _kind: Kind) -> bool {
        false
    }

    /// Makes a part read as zero (`MADV_DONTNEED`). Where a whole extent is discarded and `Advise` is not native, fresh plain memory
    /// takes its place instead.
    ///
    /// # Errors
    /// An error number; the bytes are as before.
    fn discard(&mut self, part: Range<usize>) -> Result<(), i32> {
        plain::clear(part);
        Ok(())
    }

    /// Puts private anonymous memory with the same bytes in the place of `extent`, while other threads go on. [`Source::unmapped`]
    /// follows.
    ///
    /// # Errors
    /// An error number; the memory is as before.
    fn make_plain(&mut self, extent: Range<usize>) -> Result<(), i32> {
        plain::copy_out(extent)
    }

    /// Whether children of `fork` have `extent` from now on (`MADV_DOFORK`), or not (`MADV_DONTFORK`); answers whether it can be so. If
    /// not, the memory becomes plain first. Where `Fork` is not native, no child has it as it is, and only what children are to have
    /// becomes plain before a fork.
    fn set_inherited(&mut self, extent: Range<usize>, is_inherited: bool) -> bool {
        !self.is_native(Kind::Fork) || plain::set_inherited(&extent, is_inherited)
    }

    /// A native `mremap` has moved memory. Where `to` is longer, what is beyond reads as zero.
    fn moved(&mut self, _from: Range<usize>, _to: Range<usize>) {}

    /// Right before a fork, and right after it in both processes: no thread changes what the source allocates between the two.
    fn hold_heap() {}

    /// See [`Source::hold_heap`].
    fn let_go_heap() {}

    /// Called in a forked child. Unless `Fork` is native, nothing that was lent is there. Descriptors are shared with the parent.
    fn reset_in_child(&mut self);
}
