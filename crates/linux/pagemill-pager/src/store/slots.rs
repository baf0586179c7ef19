use crate::store::Slot;

/// Numbers that are handed out and taken back. New ones ascend, so that units kept together lie together.
#[derive(Debug, Default)]
pub(super) struct Slots {
    next: Slot,
    free: Vec<Slot>,
}

impl Slots {
    /// `count` free numbers from 0 on.
    pub fn take(&mut self, count: usize, taken: &mut Vec<Slot>) {
        let reused = self.free.len().saturating_sub(count)..;
        taken.extend(self.free.drain(reused).rev());
        while taken.len() < count {
            taken.push(self.next);
            self.next += 1;
        }
    }

    pub fn give_back(&mut self, slot: Slot) {
        self.free.push(slot);
    }

    /// Below which all numbers lie once `count` more are taken.
    pub fn end_after(&self, count: usize) -> Slot {
        self.next + count.saturating_sub(self.free.len()) as Slot
    }

    pub fn in_use(&self) -> u64 {
        self.next - self.free.len() as u64
    }
}
