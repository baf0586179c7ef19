//! What happened before what: releases at places, and who has seen them.
//!
//! An actor that fences and then writes a place by a strong access *releases* there: an actor that reads that place by a strong
//! access later knows of everything that the actor did before. What one actor knows, others learn from it in the same way.

use std::collections::BTreeMap;

use super::cells::{Rules, SEVERAL, Stamp};

/// Steps of one search; beyond it, accesses pass for ordered.
const STEPS_MAX: usize = 4096;

#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    /// By place, who released there and when, in the order of time.
    releases: BTreeMap<u64, Vec<(u32, u64)>>,
    /// By actor, at which place it looked and when, in the order of time.
    acquires: BTreeMap<u32, Vec<(u64, u64)>>,
}

impl Order {
    pub(super) fn is_empty(&self) -> bool {
        self.releases.is_empty()
    }

    pub(super) fn release(&mut self, place: u64, actor: u32, time: u64) {
        self.releases.entry(place).or_default().push((actor, time));
    }

    /// `actor` looks at `place`; when it last released there itself, if anything is new.
    pub(super) fn acquire(&mut self, place: u64, actor: u32, time: u64) -> Option<Option<u64>> {
        let releases = self.releases.get(&place)?;
        let (_, newest) = *releases.last()?;
        let seen = self.acquires.entry(actor).or_default();
        let last = seen.iter().rev().find(|(other, _)| *other == place);
        if last.is_some_and(|(_, then)| *then > newest) {
            return None;
        }
        seen.push((place, time));
        let own = releases.iter().rev().find(|(other, _)| *other == actor);
        Some(own.map(|(_, time)| *time))
    }

    /// Whether `actor` knows of what `other` did at `time`; for all others together, of what any of them did.
    pub(super) fn knows(&self, actor: u32, other: Option<u32>, time: u64) -> bool {
        let mut open = vec![(actor, u64::MAX)];
        let mut best: BTreeMap<u32, u64> = BTreeMap::new();
        let mut steps = 0;
        while let Some((who, limit)) = open.pop() {
            let looks = self.acquires.get(&who).into_iter().flatten().rev();
            for &(place, when) in looks.filter(|(_, when)| *when <= limit && *when >= time) {
                let releases = self.releases.get(&place).into_iter().flatten().rev();
                for &(by, released) in releases.skip_while(|(_, then)| *then > when) {
                    steps += 1;
                    if released < time {
                        break;
                    }
                    if other.is_none_or(|other| other == by) || steps > STEPS_MAX {
                        return true;
                    }
                    let known = best.entry(by).or_insert(0);
                    if released > *known {
                        *known = released;
                        open.push((by, released));
                    }
                }
            }
        }
        false
    }
}

/// What orders the blocks of a grid.
pub(super) struct BlockRules<'a>(pub(super) &'a Order);

impl Rules for BlockRules<'_> {
    #[inline(always)]
    fn own_past(&self, _: Stamp) -> u64 {
        0
    }

    fn is_ordered(&self, other: Stamp, mine: Stamp) -> bool {
        let by = (!other.is_of_several()).then(|| other.actor());
        !self.0.is_empty() && self.0.knows(mine.actor(), by, other.time())
    }

    #[inline(always)]
    fn join(&self, other: Stamp, mine: Stamp) -> Stamp {
        // The first is named: a block that reads and then writes is the last one. Its time stays, too: what it did may be known
        // to a block that reads later, and learns of it only then.
        if self.is_ordered(other, mine) {
            return mine;
        }
        other.with_actor(other.actor() | SEVERAL)
    }
}

#[cfg(test)]
mod tests;
