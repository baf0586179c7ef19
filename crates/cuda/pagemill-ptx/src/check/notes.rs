//! What findings say of accesses.

use super::block::partner;
use super::cells::{Conflict, SEVERAL};
use super::sites::Site;
use super::{Checker, Defect, Place};
use pagemill_ptx_ir::address::window;
use pagemill_ptx_ir::code::AccessKind;

fn verb(kind: AccessKind) -> &'static str {
    match kind {
        AccessKind::Load => "load",
        AccessKind::Store => "store",
        AccessKind::Atomic | AccessKind::Reduction => "atomic access",
    }
}

/// An address, or an offset in shared memory.
fn spot((address, is_shared): (u64, bool)) -> String {
    match is_shared {
        true => format!("offset {:#x} of shared memory", address % window::BYTES),
        false => format!("{address:#x}"),
    }
}

impl Checker {
    pub(super) fn site(&self, instruction: u32) -> Option<Site> {
        self.current.as_ref()?.sites.site(instruction).copied()
    }

    pub(super) fn note_unset(
        &mut self,
        place: Place,
        kind: AccessKind,
        at: (u64, bool),
        bytes: usize,
    ) {
        self.note(Defect::Uninitialized, place, || {
            format!(
                "{} of {bytes} bytes at {}, which nothing has written",
                verb(kind),
                spot(at)
            )
        });
    }

    pub(super) fn note_free(
        &mut self,
        place: Place,
        kind: AccessKind,
        at: (u64, bool),
        bytes: usize,
    ) {
        self.note(Defect::FreedMemory, place, || {
            format!(
                "{} of {bytes} bytes at {} on the heap of malloc in kernels, which was freed or never handed out",
                verb(kind),
                spot(at)
            )
        });
    }

    pub(super) fn note_race(
        &mut self,
        place: Place,
        kind: AccessKind,
        at: (u64, bool),
        conflict: Conflict,
    ) {
        let (_, is_shared) = at;
        let earlier = if conflict.after_write {
            "write"
        } else {
            "read"
        };
        let other = conflict.other;
        let who = match is_shared && !conflict.after_write {
            true => partner(other, place.thread),
            false => (other.thread(), other.line()),
        };
        let block = u64::from(other.actor() % SEVERAL);
        let is_own = block == place.block % u64::from(SEVERAL);
        let other = match is_shared {
            true => self.describe(None, who),
            false if other.is_of_several() && is_own => "threads of several blocks".to_owned(),
            false => self.describe(Some(block), who),
        };
        let (defect, missing) = match is_shared {
            true => (Defect::SharedRace, "no barrier"),
            false => (Defect::GlobalRace, "no fence and atomic"),
        };
        self.note(defect, place, || {
            format!(
                "{} at {} after a {earlier} by {other}, with {missing} between them",
                verb(kind),
                spot(at)
            )
        });
    }
}
