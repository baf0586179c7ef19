//! When copies that count at barrier objects have arrived: a phase is not over before.

use pagemill_ptx::BarrierPhase;
use pagemill_types::Picos;

/// By place of a resident block, the phases of its barrier objects and when the last bytes for each arrive.
#[derive(Clone, Debug, Default)]
pub(crate) struct BarrierArrivals {
    of_block: Vec<Vec<(u32, bool, Picos)>>,
}

impl BarrierArrivals {
    /// Room for `slots` blocks.
    pub(crate) fn restart(&mut self, slots: usize) {
        self.of_block.clear();
        self.of_block.resize(slots, Vec::new());
    }

    /// Another block is in `slot`.
    pub(crate) fn clear(&mut self, slot: u32) {
        self.of_block[slot as usize].clear();
    }

    /// Bytes that count in `phase` of an object of the block in `slot` arrive at `at`.
    pub(crate) fn note(&mut self, slot: u32, phase: BarrierPhase, at: Picos) {
        let known = &mut self.of_block[slot as usize];
        let same =
            |entry: &&mut (u32, bool, Picos)| (entry.0, entry.1) == (phase.offset, phase.is_odd);
        match known.iter_mut().find(same) {
            Some(entry) => entry.2 = entry.2.max(at),
            None => known.push((phase.offset, phase.is_odd, at)),
        }
    }

    /// When all bytes are there that count in `phase` of an object of the block in `slot`.
    pub(crate) fn ready_at(&self, slot: u32, phase: BarrierPhase) -> Picos {
        let known = self.of_block[slot as usize].iter();
        let mut same = known.filter(|entry| (entry.0, entry.1) == (phase.offset, phase.is_odd));
        same.next().map_or(Picos::ZERO, |entry| entry.2)
    }
}
