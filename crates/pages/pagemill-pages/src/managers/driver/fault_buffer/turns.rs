//! Batches that take from each first-level TLB in turn.

/// Chooses entries for a batch: the oldest of each first-level TLB, then the second of each, and so on. The first TLB of a
/// batch is the one behind the last of the batch before.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    next: u32,
    /// Entries of each TLB so far. Reused.
    counts: Vec<u32>,
    /// Rank and number of each entry. Reused.
    entries: Vec<(Rank, u32)>,
}

/// Place among the entries of a TLB, and the turn of that TLB, in one number: no two entries have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank(u64);

impl Rank {
    fn new(place: u32, turn: u32) -> Self {
        Self(u64::from(place) << 32 | u64::from(turn))
    }

    fn turn(self) -> u32 {
        self.0 as u32
    }
}

impl Turns {
    pub(super) fn new(utlbs: u32) -> Self {
        Self {
            next: 0,
            counts: vec![0; utlbs as usize],
            entries: Vec::new(),
        }
    }

    /// The numbers of at most `limit` of `entries`, which are numbers and TLBs in order of age.
    pub(super) fn choose(
        &mut self,
        entries: impl Iterator<Item = (u32, u32)>,
        limit: usize,
    ) -> impl Iterator<Item = u32> {
        let utlbs = self.counts.len() as u32;
        self.counts.fill(0);
        self.entries.clear();
        for (number, utlb) in entries {
            let count = &mut self.counts[utlb as usize];
            // How far the TLB is behind the one that goes first.
            let turn = (utlb + utlbs - self.next) % utlbs;
            self.entries.push((Rank::new(*count, turn), number));
            *count += 1;
        }
        // Rank is (place within its TLB, turn of the TLB): the `limit` smallest are what a round robin would take, without walking it.
        if self.entries.len() > limit {
            self.entries
                .select_nth_unstable_by_key(limit, |&(rank, _)| rank);
            self.entries.truncate(limit);
        }
        self.entries.sort_unstable_by_key(|&(rank, _)| rank);
        if let Some((rank, _)) = self.entries.last() {
            self.next = (self.next + rank.turn() + 1) % utlbs;
        }
        self.entries.iter().map(|(_, number)| *number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_tlb_has_its_turn_and_the_next_batch_goes_on_behind_the_last() {
        let mut turns = Turns::new(3);
        let mut choose = |entries: &[(u32, u32)], limit| -> Vec<u32> {
            turns.choose(entries.iter().copied(), limit).collect()
        };
        let entries = [(10, 0), (11, 0), (12, 0), (20, 1), (21, 1), (30, 2)];
        assert_eq!(choose(&entries, 4), [10, 20, 30, 11]);
        assert_eq!(choose(&entries, 2), [20, 30]);
        assert_eq!(choose(&entries, 9), [10, 20, 30, 11, 21, 12]);
        assert!(choose(&[], 4).is_empty());
        assert_eq!(choose(&[(30, 2), (31, 2)], 1), [30]);
    }
}
