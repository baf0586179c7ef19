/// A structure whose parts have to agree with each other, and which can say whether they do.
pub trait Invariants {
    /// The first invariant that does not hold, in plain words; `None` while all hold. It may look at the whole structure.
    fn broken_invariant(&self) -> Option<String>;

    /// Checks in builds with debug assertions, as those of tests are.
    ///
    /// # Panics
    /// With the broken invariant, in those builds only.
    #[track_caller]
    #[inline]
    fn debug_check(&self) {
        if cfg!(debug_assertions) {
            let broken = self.broken_invariant();
            assert!(broken.is_none(), "{}", broken.unwrap_or_default());
        }
    }
}

/// The first of `rules` that does not hold; each is whether it holds, and what is wrong otherwise.
pub fn first_broken<const RULES: usize>(rules: [(bool, &str); RULES]) -> Option<String> {
    let broken = rules.into_iter().find(|(holds, _)| !holds);
    broken.map(|(_, wrong)| wrong.to_owned())
}

/// When a large structure checks itself: at its 1st, 2nd, 4th, 8th change and so on. So all checks together cost no more than a few
/// changes that look at everything, whatever the number of changes. Builds without debug assertions never check.
#[derive(Clone, Debug, Default)]
pub struct CheckSchedule {
    changes: u64,
}

impl CheckSchedule {
    /// Counts a change; whether to check now.
    #[inline]
    pub fn is_due(&mut self) -> bool {
        if !cfg!(debug_assertions) {
            return false;
        }
        self.changes += 1;
        self.changes.is_power_of_two()
    }
}

#[cfg(test)]
mod tests;
