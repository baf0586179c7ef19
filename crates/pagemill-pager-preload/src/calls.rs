//! What calls on memory mean to the pager, beside what they mean to `pagemill-mapping`.

use std::ops::Range;

use pagemill_linux::process::end_now;
use pagemill_mapping::kernel::Answer;
use pagemill_mapping::{Call, MemoryCalls};

use crate::allocator;
use crate::paged::{LENT, become_plain, pager};
use crate::{descriptors, threads};

/// The calls of this process.
pub static CALLS: Calls = Calls;

/// Forgets bytes that are about to be unmapped: a worker must not be moving a page while another mapping takes its address.
pub fn give_up(range: Range<usize>) {
    if let Some(pager) = pager() {
        pager.discard(range.start as u64..range.end as u64);
    }
}

/// Makes all memory plain where a child could not answer its page faults.
fn become_plain_for_children() -> Result<(), i32> {
    match pager() {
        Some(pager) if !pager.can_be_inherited() => become_plain("a child of fork"),
        _ => Ok(()),
    }
}

/// Notifies the pager before its memory goes, and around each `fork`.
pub struct Calls;

impl MemoryCalls for Calls {
    unsafe fn answer(&self, call: &Call) -> Answer {
        if let Some(gone) = call.replaces()
            && gone.start.is_multiple_of(4096)
            && !gone.is_empty()
        {
            give_up(gone);
        }
        // SAFETY: the caller's promise.
        unsafe { LENT.answer(call) }
    }

    unsafe fn answer_process(&self, call: &Call) -> Answer {
        // SAFETY: by the contract of this function, the program asks for this call.
        unsafe { descriptors::answer(call) }
    }

    fn before_end(&self, code: i32) {
        if pager().is_some() {
            threads::end_with_the_last(code);
        }
    }

    fn prepare_fork(&self) -> Result<(), i32> {
        become_plain_for_children()?;
        LENT.prepare_fork()
    }

    fn before_fork(&self) -> Result<(), i32> {
        become_plain_for_children()?;
        LENT.before_fork()?;
        if let Some(pager) = pager() {
            pager.before_fork();
        }
        allocator::hold();
        Ok(())
    }

    fn after_fork(&self, is_child: bool) {
        allocator::let_go();
        if let Some(pager) = pager() {
            if !is_child {
                pager.in_parent();
            } else if let Err(error) = descriptors::keep_new(|| pager.in_child()) {
                end_now(
                    &format!("pagemill pager: a forked child cannot go on: {error}"),
                    1,
                );
            }
        }
        LENT.after_fork(is_child);
    }
}
