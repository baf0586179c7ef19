//! Clusters on the SMs: which slots take the blocks of one, and when the barrier of a cluster opens. A grid without clusters
//! has clusters of one block.

use pagemill_types::Picos;

/// Cycles from an SM to the shared memory of another one, beyond those to its own: 180 in all on an H100, whose own takes 29
/// (Luo et al., Benchmarking and Dissecting the Nvidia Hopper GPU Architecture, arXiv 2402.13499).
pub(crate) const REMOTE_SHARED_CYCLES: u64 = 151;

/// Cycles from the last arrival at the barrier of a cluster to the others' leaving: an estimate, one crossing of that network.
pub(crate) const BARRIER_CYCLES: u64 = 180;

// Groups for clusters of two blocks, on three SMs with room for two blocks each:
//
//   SM                0   1   2
//   its first slot    0   0   1
//   its second slot   1   2   2
/// The slots of all SMs, in groups that hold one cluster at a time. The blocks of a cluster lie on SMs side by side.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClusterSlots {
    /// Blocks of a cluster.
    blocks: u32,
    per_sm: u32,
    sms: u32,
    groups: Vec<Group>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Group {
    live_blocks: u32,
    end: Picos,
    last_arrival: Picos,
    opens_at: Picos,
}

impl ClusterSlots {
    pub(crate) fn new(blocks: u32, per_sm: u32, sms: u32) -> Self {
        // Slots that are left over hold no whole cluster, and stay empty.
        let groups = per_sm * sms / blocks.max(1);
        Self {
            blocks,
            per_sm,
            sms,
            groups: vec![Group::default(); groups as usize],
        }
    }

    /// Clusters that are resident at once.
    pub(crate) fn groups(&self) -> u32 {
        self.groups.len() as u32
    }

    /// The slot of the block of rank `rank` in `group`: slots are dealt to the SMs in turn.
    pub(crate) fn slot(&self, group: u32, rank: u32) -> u32 {
        let turn = group * self.blocks + rank;
        // Turns go over the SMs first, slots are numbered within them: ranks that follow each other lie on neighbors.
        turn % self.sms * self.per_sm + turn / self.sms
    }

    pub(crate) fn group_of(&self, slot: u32) -> u32 {
        let turn = slot % self.per_sm * self.sms + slot / self.per_sm;
        turn / self.blocks
    }

    /// A cluster begins in `group`.
    pub(crate) fn start(&mut self, group: u32, at: Picos) {
        self.groups[group as usize] = Group {
            live_blocks: self.blocks,
            end: at,
            ..Group::default()
        };
    }

    /// A block of the cluster in `group` has ended; with the last one, when all of them had.
    pub(crate) fn end_block(&mut self, group: u32, at: Picos) -> Option<Picos> {
        let group = &mut self.groups[group as usize];
        group.live_blocks -= 1;
        group.end = group.end.max(at);
        (group.live_blocks == 0).then_some(group.end)
    }

    /// A warp arrives at the barrier, or ends.
    pub(crate) fn arrive(&mut self, group: u32, at: Picos) {
        let last = &mut self.groups[group as usize].last_arrival;
        // Warps come in the order of their steps, which end at any time.
        *last = at.max(*last);
    }

    /// All have arrived: when those that wait may go on.
    pub(crate) fn open(&mut self, group: u32, crossing: Picos) -> Picos {
        let group = &mut self.groups[group as usize];
        group.opens_at = std::mem::take(&mut group.last_arrival) + crossing;
        group.opens_at
    }

    /// When the barrier opened last.
    pub(crate) fn opened_at(&self, group: u32) -> Picos {
        self.groups[group as usize].opens_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_slot_is_in_one_group_and_clusters_lie_on_neighbors() {
        for (blocks, per_sm, sms) in [(1, 3, 5), (2, 1, 7), (4, 2, 6), (16, 3, 11), (8, 1, 4)] {
            let slots = ClusterSlots::new(blocks, per_sm, sms);
            assert_eq!(slots.groups(), per_sm * sms / blocks);
            let mut seen = vec![false; (per_sm * sms) as usize];
            for group in 0..slots.groups() {
                for rank in 0..blocks {
                    let slot = slots.slot(group, rank);
                    assert!(!std::mem::replace(&mut seen[slot as usize], true));
                    assert_eq!(slots.group_of(slot), group);
                    let sm = |rank| slots.slot(group, rank) / per_sm;
                    assert!(rank == 0 || sm(rank) == (sm(rank - 1) + 1) % sms);
                }
            }
        }
    }
}
