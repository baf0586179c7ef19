//! Points in the order of work: when they are, and what has happened before them.

use std::collections::BTreeMap;

use pagemill_types::Picos;

/// A point in the order of work.
#[derive(Clone, Debug, Default)]
pub struct Moment {
    /// When it is.
    pub(super) at: Picos,
    /// What has happened before, where the order is looked at.
    pub(super) knows: Knows,
}

impl Moment {
    pub(super) fn at(at: Picos) -> Self {
        let knows = Knows::default();
        Self { at, knows }
    }

    /// The first point that is behind both.
    #[must_use]
    pub fn join(mut self, other: &Self) -> Self {
        self.wait_for(other);
        self
    }

    /// Is behind `other` too from now on.
    pub(super) fn wait_for(&mut self, other: &Self) {
        self.at = self.at.max(other.at);
        self.knows.learn(&other.knows);
    }
}

/// A vector clock: of each line of work, the number of its last deed that is known. Numbers rise over all lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Knows(BTreeMap<u64, u64>);

impl Knows {
    pub(super) fn learn(&mut self, other: &Self) {
        for (&line, &number) in &other.0 {
            self.add(Mark { line, number });
        }
    }

    pub(super) fn add(&mut self, mark: Mark) {
        let known = self.0.entry(mark.line).or_default();
        *known = mark.number.max(*known);
    }

    pub(super) fn has(&self, mark: Mark) -> bool {
        let known = self.0.get(&mark.line);
        known.is_some_and(|known| *known >= mark.number)
    }

    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}

/// One deed of a line of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    pub(super) line: u64,
    pub(super) number: u64,
}
