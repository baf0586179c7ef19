//! The way of a message through time: what each part of it was spent on, from the call of its sender on.

use pagemill_nic::{Cause, Moment, Traced};

/// Parts that a trail keeps. Where there are more, the oldest become one.
pub const PARTS_MAX: usize = 24;

/// No way is longer: 13 days. Sums of a few such times do not overflow.
const LONGEST_PS: u64 = 1 << 60;

/// Bits of a part's word that say its cause.
const CAUSE_BITS: u32 = 3;

/// The order of causes while a transfer leaves its interface. Where they overlap it is a convention.
const OUTGOING: [Cause; 6] = [
    Cause::Software,
    Cause::Interface,
    Cause::Port,
    Cause::Busy,
    Cause::Table,
    Cause::Wire,
];

/// The same while the other interface receives it.
const INCOMING: [Cause; 5] = [
    Cause::Wire,
    Cause::Port,
    Cause::Busy,
    Cause::Table,
    Cause::Interface,
];

/// The latest parts of a way, up to a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trail {
    end_ps: u64,
    parts: [(Cause, u64); PARTS_MAX],
    /// How many of them there are.
    len: usize,
}

impl Trail {
    /// A way that starts at `at_ps`.
    pub fn new(at_ps: u64) -> Self {
        Self {
            end_ps: at_ps,
            parts: [(Cause::Partner, 0); PARTS_MAX],
            len: 0,
        }
    }

    /// Where it ends.
    pub fn end_ps(&self) -> u64 {
        self.end_ps
    }

    /// Where the first of its parts starts.
    pub fn start_ps(&self) -> u64 {
        let whole_ps: u64 = self.parts[..self.len].iter().map(|(_, ps)| ps).sum();
        self.end_ps.saturating_sub(whole_ps)
    }

    /// Goes on until `until_ps`, if that is later.
    pub fn go_on(&mut self, until_ps: u64, cause: Cause) {
        let span_ps = until_ps.saturating_sub(self.end_ps);
        if span_ps == 0 {
            return;
        }
        self.end_ps = until_ps;
        if let Some((latest, latest_ps)) = self.parts[..self.len].last_mut()
            && *latest == cause
        {
            *latest_ps += span_ps;
            return;
        }
        if self.len == PARTS_MAX {
            self.parts[1].1 += self.parts[0].1;
            self.parts.copy_within(1.., 0);
            self.len -= 1;
        }
        self.parts[self.len] = (cause, span_ps);
        self.len += 1;
    }

    /// Forgets what is after `at_ps`.
    pub fn cut_to(&mut self, at_ps: u64) {
        while self.end_ps > at_ps {
            let Some((_, latest_ps)) = self.parts[..self.len].last_mut() else {
                self.end_ps = at_ps;
                return;
            };
            let span_ps = (*latest_ps).min(self.end_ps - at_ps);
            self.end_ps -= span_ps;
            *latest_ps -= span_ps;
            if *latest_ps == 0 {
                self.len -= 1;
            }
        }
    }

    /// Goes on with the software of a message library until it hands a transfer to its interface, and with what this does until the
    /// end of `way`.
    pub fn leave(&mut self, rung_ps: u64, way: &Traced) {
        self.go_on(rung_ps, Cause::Software);
        self.follow(way, &OUTGOING);
    }

    /// Goes on with what the interface does at which the transfer arrives.
    pub fn arrive(&mut self, way: &Traced) {
        self.follow(way, &INCOMING);
    }

    fn follow(&mut self, way: &Traced, order: &[Cause]) {
        self.cut_to(way.from().0);
        // Only where the order of time was given up.
        self.go_on(way.from().0, Cause::Partner);
        for cause in order {
            self.go_on(self.end_ps.saturating_add(way.span(*cause).0), *cause);
        }
        debug_assert_eq!(self.end_ps, way.at().0, "{way:?}");
    }

    /// What the last `span_ps` were spent on, the latest part first. Before the call of the sender, that is the partner.
    pub fn latest(&self, span_ps: u64) -> impl Iterator<Item = (Cause, u64)> {
        let parts = self.parts[..self.len].iter().rev().copied();
        let before = std::iter::once((Cause::Partner, u64::MAX));
        let mut left_ps = span_ps;
        parts.chain(before).map_while(move |(cause, part_ps)| {
            let share_ps = left_ps.min(part_ps);
            left_ps -= share_ps;
            (share_ps > 0).then_some((cause, share_ps))
        })
    }

    /// Its parts, a word for each; 0 where there is none.
    pub fn words(&self) -> [u64; PARTS_MAX] {
        let mut words = [0; PARTS_MAX];
        for (word, (cause, part_ps)) in words.iter_mut().zip(&self.parts[..self.len]) {
            *word = part_ps << CAUSE_BITS | *cause as u64;
        }
        words
    }

    /// The way up to `end_ps` with these parts; `None` if no way has them.
    pub fn of_words(end_ps: u64, words: &[u64]) -> Option<Self> {
        let mut trail = Self::new(end_ps);
        let mut whole_ps = 0_u64;
        for word in words.iter().take_while(|word| **word != 0) {
            let cause = Cause::ALL.get((word & ((1 << CAUSE_BITS) - 1)) as usize)?;
            *trail.parts.get_mut(trail.len)? = (*cause, word >> CAUSE_BITS);
            trail.len += 1;
            whole_ps = whole_ps.saturating_add(word >> CAUSE_BITS);
        }
        (whole_ps <= LONGEST_PS).then_some(trail)
    }
}

#[cfg(test)]
mod tests;
