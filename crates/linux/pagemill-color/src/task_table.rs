//! Who runs, and who has which colors: the coordinator without its sockets and clocks.

use std::collections::BTreeMap;

use pagemill_policy::coloring::quota::QuotaPolicyEntry;
use pagemill_policy::coloring::{AssignError, Claim, ColorRange, Wish, assign};
use pagemill_types::{Invariants, first_broken};

/// A running task.
#[derive(Clone, Debug)]
pub struct Task {
    /// What it asks for.
    pub wish: Wish,
    /// Its colors: the last ones assigned, or those it had before the coordinator was started.
    pub colors: Option<ColorRange>,
    /// Pages that it has.
    pub pages: u64,
}

/// The running tasks by number.
#[derive(Debug)]
pub struct TaskTable {
    colors: u16,
    policy: &'static QuotaPolicyEntry,
    tasks: BTreeMap<u64, Task>,
}

impl TaskTable {
    /// A table without tasks, for a cache of `colors`.
    pub fn new(colors: u16, policy: &'static QuotaPolicyEntry) -> Self {
        Self {
            colors,
            policy,
            tasks: BTreeMap::new(),
        }
    }

    /// Colors of the cache.
    pub fn colors(&self) -> u16 {
        self.colors
    }

    /// How they are divided.
    pub fn policy(&self) -> &'static str {
        self.policy.name
    }

    /// The task called `number`.
    pub fn task(&self, number: u64) -> Option<&Task> {
        self.tasks.get(&number)
    }

    /// The numbers of all tasks, in order.
    pub fn numbers(&self) -> impl Iterator<Item = u64> {
        self.tasks.keys().copied()
    }

    /// Enters a task. Colors that it says it has count only if the cache has them and no other task does.
    ///
    /// # Errors
    /// There are too few colors for one more; then it is not entered.
    pub fn join(&mut self, number: u64, mut task: Task) -> Result<(), AssignError> {
        let is_free = |own: &ColorRange| {
            let mut others = self.tasks.values().filter_map(|task| task.colors);
            own.end().0 <= self.colors && others.all(|other| other.overlap(*own) == 0)
        };
        task.colors = task.colors.filter(is_free);
        self.tasks.insert(number, task);
        let fits = self.assigned().map(|_| ());
        if fits.is_err() {
            self.tasks.remove(&number);
        }
        fits
    }

    /// Whether there was such a task, which is no longer.
    pub fn leave(&mut self, number: u64) -> bool {
        self.tasks.remove(&number).is_some()
    }

    /// Notes how many pages a task has.
    pub fn note_pages(&mut self, number: u64, pages: u64) {
        if let Some(task) = self.tasks.get_mut(&number) {
            task.pages = pages;
        }
    }

    /// Assigns the colors that the policy chooses; returns the tasks whose colors have changed.
    pub fn reassign(&mut self) -> Vec<(u64, ColorRange)> {
        // What has joined fits.
        let assigned = self.assigned().unwrap_or_default();
        let mut changed = Vec::new();
        for ((number, task), range) in self.tasks.iter_mut().zip(assigned) {
            if task.colors != Some(range) {
                task.colors = Some(range);
                changed.push((*number, range));
            }
        }
        self.debug_check();
        changed
    }

    fn assigned(&self) -> Result<Vec<ColorRange>, AssignError> {
        let claims: Vec<Claim<'_>> = self
            .tasks
            .values()
            .map(|task| Claim {
                wish: &task.wish,
                former: task.colors,
                pages: task.pages,
            })
            .collect();
        assign(self.colors, &claims, self.policy)
    }
}

impl Invariants for TaskTable {
    fn broken_invariant(&self) -> Option<String> {
        let ranges: Vec<ColorRange> = self.tasks.values().filter_map(|task| task.colors).collect();
        let overlaps = |(index, range): (usize, &ColorRange)| {
            ranges[..index]
                .iter()
                .any(|other| other.overlap(*range) > 0)
        };
        first_broken([
            (
                ranges.iter().all(|range| range.end().0 <= self.colors),
                "a task has a color that the cache has not",
            ),
            (
                !ranges.iter().enumerate().any(overlaps),
                "two tasks have the same color",
            ),
        ])
    }
}

#[cfg(test)]
mod tests;
