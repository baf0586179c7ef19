//! The block at hand: its shared memory, and what orders its warps.

use std::collections::VecDeque;

use super::cells::{Cells, Rules, SEVERAL, Stamp, TIME_MAX};
use super::copies::Flying;
use super::order::Order;
use super::shadow::Valid;
use pagemill_ptx_ir::code::warp_group::BARRIERS;
use pagemill_ptx_ir::line::{LANE_BITS, LANES};

/// Readers of several lanes of one warp: this bit, and beside it, as with [`SEVERAL`], another reader than the stamp's own.
const IN_WARP: u32 = 1 << 22;
const LINE_AT: u32 = 10;
/// Meetings of some lanes of a warp that are told apart; before the oldest of them, its lanes pass for ordered.
const MEETINGS_MAX: usize = 64;
/// Places of [`Order`] that are barriers and no addresses.
const BARRIER_PLACES: u64 = 1 << 63;

/// Several lanes of a warp, one of which is `thread`, at a line of that number.
#[inline(always)]
pub(super) fn in_warp(thread: u32, line: u32) -> u32 {
    IN_WARP | another(thread, line)
}

#[inline(always)]
fn another(thread: u32, line: u32) -> u32 {
    thread & 1023 | (line & 511) << LINE_AT
}

/// A reader that `stamp` stands for, and the number of its line: the second one, or the first.
#[inline(always)]
fn reader(stamp: Stamp, is_second: bool) -> (u32, u32) {
    let actor = stamp.actor();
    match is_second {
        true => (actor & 1023, actor >> LINE_AT & 511),
        false => (stamp.thread(), stamp.line()),
    }
}

/// Who did what `other` stands for, seen from `thread`: another thread, of another warp if one of those is known.
pub(super) fn partner(other: Stamp, thread: u32) -> (u32, u32) {
    let is_near = match other.is_of_several() {
        true => other.thread() / LANES as u32 == thread / LANES as u32,
        false => other.thread() == thread && other.actor() & IN_WARP != 0,
    };
    reader(other, is_near)
}

/// What is known of the block that runs at one place.
#[derive(Clone, Debug)]
pub(crate) struct BlockCheck {
    pub(crate) index: u64,
    threads: u32,
    /// The warp that runs.
    pub(super) warp: u32,
    pub(super) cells: Cells,
    pub(super) valid: Valid,
    pub(super) time: u64,
    pub(super) floor: u64,
    pub(super) rules: WarpRules,
    /// Copies that nothing has waited for.
    pub(super) flying: Flying,
    /// Whether a thread has executed a fence, and one whose scope is more than the block.
    pub(super) has_fenced: bool,
    pub(super) has_fenced_widely: bool,
    /// By barrier, the warps that have come, and when.
    arrivals: Vec<(u32, u32, u64)>,
}

/// What orders the warps of a block.
#[derive(Clone, Debug, Default)]
pub(super) struct WarpRules {
    pub(super) order: Order,
    /// By warp, when its lanes last waited for each other.
    synced: Vec<u64>,
    /// By warp, when only some of its lanes did so since, and which.
    met: Vec<VecDeque<(u64, u32)>>,
}

impl WarpRules {
    fn new(warps: usize) -> Self {
        Self {
            order: Order::default(),
            synced: vec![0; warps],
            met: vec![VecDeque::new(); warps],
        }
    }

    /// Whether the lane of `mine` knows what `other` stands for, of readers the first and the last, by meetings of some lanes.
    fn have_met(&self, other: Stamp, mine: Stamp) -> bool {
        let lane = |thread: u32| LANE_BITS[thread as usize % LANES];
        let meetings = self.met.get(mine.thread() as usize / LANES);
        let knows = |thread: u32| {
            let later = meetings.into_iter().flatten();
            let later = later.filter(|(time, _)| other.time() < *time);
            let joined = |who, (_, met): &(u64, u32)| who | (met * u32::from(who & met != 0));
            later.fold(lane(thread), joined) & lane(mine.thread()) != 0
        };
        knows(other.thread()) && (other.actor() & IN_WARP == 0 || knows(reader(other, true).0))
    }
}

impl Rules for WarpRules {
    #[inline(always)]
    fn own_past(&self, mine: Stamp) -> u64 {
        let warp = mine.thread() / LANES as u32;
        self.synced.get(warp as usize).copied().unwrap_or(0)
    }

    fn is_ordered(&self, other: Stamp, mine: Stamp) -> bool {
        let warp = |stamp: Stamp| stamp.thread() / LANES as u32;
        if !other.is_of_several() && warp(other) == warp(mine) {
            let synced = self.synced.get(warp(mine) as usize);
            return synced.is_some_and(|synced| other.time() < *synced)
                || self.have_met(other, mine);
        }
        let by = (!other.is_of_several()).then(|| warp(other));
        !self.order.is_empty() && self.order.knows(warp(mine), by, other.time())
    }

    #[inline(always)]
    fn join(&self, other: Stamp, mine: Stamp) -> Stamp {
        let warp = |stamp: Stamp| stamp.thread() / LANES as u32;
        // Everything is looked at, so that no branch is in the way of vectors.
        let is_one_warp = !other.is_of_several() & (warp(other) == warp(mine));
        let is_near = match is_one_warp {
            true => other.thread() == mine.thread(),
            false => warp(other) == warp(mine),
        };
        let (thread, line) = reader(other, is_near);
        let kind = if is_one_warp { IN_WARP } else { SEVERAL };
        let joined = mine.with_actor(match is_one_warp & (mine.actor() & IN_WARP != 0) {
            true => mine.actor(),
            false => kind | another(thread, line),
        });
        // Of several warps the time of the first stays: what it did may be known to one that reads later, and learns of it
        // only then.
        match is_one_warp {
            true => joined,
            false => joined.at_time_of(other),
        }
    }
}

impl BlockCheck {
    /// For blocks of `threads` threads with `shared_bytes` of shared memory.
    pub(crate) fn new(threads: u32, shared_bytes: usize) -> Self {
        let warps = threads.div_ceil(LANES as u32);
        Self {
            threads,
            index: 0,
            warp: 0,
            cells: Cells::new(shared_bytes, true),
            valid: Valid::none(shared_bytes),
            time: 1,
            floor: 1,
            rules: WarpRules::new(warps as usize),
            flying: Flying::default(),
            has_fenced: false,
            has_fenced_widely: false,
            arrivals: Vec::new(),
        }
    }

    /// Block `index` begins.
    pub(crate) fn start(&mut self, index: u64) {
        self.index = index;
        self.valid.clear();
        self.has_fenced = false;
        self.has_fenced_widely = false;
        self.flying.clear();
        self.arrivals.clear();
        self.meet();
    }

    /// Warp `number` goes on.
    pub(crate) fn run(&mut self, number: u32) {
        self.warp = number;
    }

    pub(super) fn tick(&mut self) {
        self.time += 1;
        if self.time > TIME_MAX {
            self.cells.clear();
            self.rules = WarpRules::new(self.rules.synced.len());
            (self.time, self.floor) = (1, 1);
        }
    }

    /// All threads have met: everything until now is before everything from now on.
    fn meet(&mut self) {
        self.tick();
        self.floor = self.time;
        self.rules.order = Order::default();
        self.rules.synced.fill(0);
        self.rules.met.iter_mut().for_each(VecDeque::clear);
    }

    /// The lanes of warp `number` have waited for each other.
    pub(crate) fn sync_warp(&mut self, number: u32) {
        self.tick();
        self.synced(number, self.time);
    }

    /// The lanes of `mask` of the warp that runs have waited for those that their `members` name.
    pub(crate) fn sync_members(&mut self, members: &[u32; LANES], mask: u32) {
        let mut rest = mask;
        while rest != 0 {
            let lane = rest.trailing_zeros() as usize & (LANES - 1);
            let group = members[lane] | LANE_BITS[lane];
            self.sync_lanes(self.warp, group);
            rest &= !group;
        }
    }

    /// The lanes `group` of warp `number` have waited for each other.
    pub(crate) fn sync_lanes(&mut self, number: u32, group: u32) {
        if self.lanes_of_warp(number) & !group == 0 {
            self.sync_warp(number);
            return;
        }
        self.tick();
        let Some(met) = self.rules.met.get_mut(number as usize) else {
            return;
        };
        met.push_back((self.time, group));
        if met.len() > MEETINGS_MAX
            && let Some((oldest, _)) = met.pop_front()
        {
            self.synced(number, oldest);
        }
    }

    pub(super) fn synced(&mut self, number: u32, time: u64) {
        let at = number as usize;
        let rules = &mut self.rules;
        if let (Some(synced), Some(met)) = (rules.synced.get_mut(at), rules.met.get_mut(at)) {
            *synced = time.max(*synced);
            met.retain(|(later, _)| later > synced);
        }
    }

    /// Lanes that the warp that runs had at its start.
    pub(crate) fn lanes(&self) -> u32 {
        self.lanes_of_warp(self.warp)
    }

    fn lanes_of_warp(&self, number: u32) -> u32 {
        let threads = self.threads - (number * LANES as u32).min(self.threads);
        u32::MAX
            .checked_shr(32u32.saturating_sub(threads))
            .unwrap_or(0)
    }

    /// A thread has executed a fence, whose scope may be its block only.
    pub(crate) fn fence(&mut self, is_of_block: bool) {
        self.has_fenced = true;
        self.has_fenced_widely |= !is_of_block;
    }

    /// Warp `number` arrives at barrier `id`.
    pub(crate) fn arrive(&mut self, number: u32, id: u32) {
        self.arrivals.push((id, number, self.time));
        self.sync_warp(number);
    }

    /// The warps of `released` leave barrier `id` (any, if it was completed by the end of a warp); `alive` are all that have
    /// not ended.
    pub(crate) fn leave(&mut self, id: Option<u32>, released: u64, alive: u64) {
        if alive & !released == 0 {
            self.arrivals
                .retain(|(other, ..)| Some(*other) != id && id.is_some());
            self.meet();
            return;
        }
        let (done, rest) = self
            .arrivals
            .iter()
            .partition(|(other, ..)| id.is_none_or(|id| *other == id));
        let done: Vec<(u32, u32, u64)> = done;
        self.arrivals = rest;
        for (id, warp, time) in done {
            let place = BARRIER_PLACES | u64::from(id);
            self.rules.order.release(place, warp, time);
        }
        self.tick();
        let ids: Vec<u64> = match id {
            Some(id) => vec![BARRIER_PLACES | u64::from(id)],
            None => (0..BARRIERS as u64).map(|id| BARRIER_PLACES | id).collect(),
        };
        for warp in (0..64).filter(|warp| released >> warp & 1 != 0) {
            for &place in &ids {
                self.rules.order.acquire(place, warp, self.time);
            }
        }
        self.tick();
    }
}

#[cfg(test)]
mod tests;
