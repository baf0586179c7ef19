//! The policy against what NVIDIA's `uvm_perf_thrashing.c` does for one page, written from lists of times.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// Small enough that steps of chance meet each bound, and one beyond it.
const SPEC: ThrashingSpec = ThrashingSpec {
    lapse: Picos(5),
    threshold: 3,
    nap: Picos(4),
    pin_threshold: 2,
    pin: Picos(20),
    epoch: Picos(30),
};

/// One page: when it had events since it was last forgotten or pinned, and when faults on it were put off.
#[derive(Default)]
struct Page {
    moves: Vec<u64>,
    events: Vec<u64>,
    throttled: Vec<u64>,
    /// When it was last pinned.
    pinned: Option<u64>,
}

impl Page {
    fn last(&self) -> Option<u64> {
        self.events.last().copied().or(self.pinned)
    }

    /// Events at the end of the list, none of them more than a lapse from the next.
    fn streak(&self) -> usize {
        let gaps = self.events.windows(2).rev();
        let close = gaps.take_while(|pair| pair[1] - pair[0] <= SPEC.lapse.0);
        close.count() + usize::from(!self.events.is_empty())
    }

    fn migrate(&mut self, now: u64) {
        if self
            .moves
            .last()
            .is_some_and(|last| now - last <= SPEC.lapse.0)
        {
            self.events.push(now);
        }
        self.moves.push(now);
    }

    fn forget(&mut self) {
        let moves = std::mem::take(&mut self.moves);
        *self = Self {
            moves,
            ..Self::default()
        };
    }

    fn hint(&mut self, now: u64) -> ThrashingHint {
        let Some(last) = self.last() else {
            return ThrashingHint::None;
        };
        if now - last > SPEC.epoch.0 {
            self.forget();
            return ThrashingHint::None;
        }
        if self.streak() < SPEC.threshold as usize {
            return ThrashingHint::None;
        }
        let nap_end = self.throttled.last().map(|start| start + SPEC.nap.0);
        match nap_end {
            Some(end) if now < end => return ThrashingHint::Throttle(Picos(end)),
            _ if self.throttled.len() == SPEC.pin_threshold as usize => {
                self.forget();
                self.pinned = Some(now);
                return ThrashingHint::Pin(Picos(now) + SPEC.pin);
            }
            Some(end) if last <= end => return ThrashingHint::None,
            _ => self.throttled.push(now),
        }
        ThrashingHint::Throttle(Picos(now) + SPEC.nap)
    }
}

#[derive(Clone, Copy, Debug)]
enum Deed {
    Migrate,
    Fault,
    Release,
}

/// Time since the deed before, what is done, and the page of one of two blocks.
fn deeds() -> impl Strategy<Value = Vec<(u64, Deed, u32, u32)>> {
    let gap = prop_oneof![8 => 0..8u64, 1 => 18..33u64];
    let deed = prop_oneof![
        6 => Just(Deed::Migrate),
        6 => Just(Deed::Fault),
        1 => Just(Deed::Release),
    ];
    prop::collection::vec((gap, deed, 0..2u32, 0..2u32), 0..120)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn thrashing_is_as_the_drivers((steps, alone) in (deeds(), any::<bool>())) {
        let mut policy = Thrashing::new(SPEC);
        policy.grow(2);
        let mut pages: BTreeMap<(u32, u32), Page> = BTreeMap::new();
        let mut pins: Vec<(u64, (u32, u32))> = Vec::new();
        let mut now = 1000;
        for (gap, deed, block, page) in steps {
            now += gap;
            // One page alone has longer streaks.
            let at = if alone { (0, 0) } else { (block, page) };
            let own = pages.entry(at).or_default();
            match deed {
                Deed::Migrate => {
                    policy.migrated(at.0, &PageMask::range(at.1..at.1 + 1), Picos(now));
                    own.migrate(now);
                }
                Deed::Fault => {
                    let hint = own.hint(now);
                    prop_assert_eq!(policy.hint(at.0, at.1, Picos(now)), hint, "at {}", now);
                    if let ThrashingHint::Pin(until) = hint {
                        pins.push((until.0, at));
                        pins.sort_unstable();
                    }
                }
                Deed::Release => {
                    let due = pins.first().copied().filter(|(until, _)| *until <= now);
                    prop_assert_eq!(policy.release(Picos(now)), due.map(|(_, at)| at));
                    if let Some((_, at)) = due {
                        pins.remove(0);
                        pages.entry(at).or_default().forget();
                    }
                }
            }
            prop_assert_eq!(policy.next_release(), pins.first().map(|(until, _)| Picos(*until)));
            for (&(block, page), model) in &pages {
                prop_assert_eq!(policy.pinned(block, page), model.pinned.is_some());
            }
            let is_quiet = pages.values().all(|page| page.last().is_none());
            prop_assert_eq!(policy.is_quiet(), is_quiet);
        }
    }
}
