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
mod tests {
    use pagemill_policy::coloring::quota::QUOTA_POLICIES;
    use pagemill_policy::coloring::{Color, Sensitivity};

    use super::*;

    fn range(first: u16, count: u16) -> ColorRange {
        ColorRange::new(Color(first), count).expect("a range")
    }

    fn task(class: Sensitivity, has: Option<ColorRange>) -> Task {
        Task {
            wish: Wish::Curve(class.typical_curve(64)),
            colors: has,
            pages: 1,
        }
    }

    fn task_table() -> TaskTable {
        TaskTable::new(64, QUOTA_POLICIES.find("best-quota").expect("it is there"))
    }

    #[test]
    fn a_sensitive_task_gets_the_most_and_all_when_it_is_alone_again() {
        let mut task_table = task_table();
        task_table
            .join(1, task(Sensitivity::High, None))
            .expect("room");
        assert_eq!(task_table.reassign(), [(1, range(0, 64))]);
        task_table
            .join(2, task(Sensitivity::LowManyMisses, None))
            .expect("room");
        let changed = task_table.reassign();
        assert_eq!(changed.len(), 2);
        assert!(changed[0].1.count() >= 48, "{changed:?}");
        assert!(task_table.leave(2));
        assert_eq!(task_table.reassign(), [(1, range(0, 64))]);
        assert!(!task_table.leave(2));
    }

    #[test]
    fn tasks_that_come_back_after_a_restart_keep_what_they_have() {
        let mut before = task_table();
        for number in 0..4 {
            let class = Sensitivity::ALL[number as usize];
            before.join(number, task(class, None)).expect("room");
        }
        before.reassign();
        let mut after = task_table();
        for number in [2, 0, 3, 1] {
            let class = Sensitivity::ALL[number as usize];
            let has = before.task(number).expect("it runs").colors;
            after.join(number, task(class, has)).expect("room");
        }
        assert_eq!(after.reassign(), []);
    }

    #[test]
    fn colors_that_are_taken_or_not_there_do_not_count() {
        let mut task_table = task_table();
        let ends = [Some(range(0, 10)), Some(range(5, 10)), Some(range(60, 10))];
        for (number, has) in ends.into_iter().enumerate() {
            task_table
                .join(number as u64, task(Sensitivity::Medium, has))
                .expect("room");
        }
        let had = |number| task_table.task(number).expect("it runs").colors;
        assert_eq!((had(0), had(1), had(2)), (Some(range(0, 10)), None, None));
    }

    #[test]
    fn a_task_too_many_is_refused_and_changes_nothing() {
        let mut task_table = task_table();
        let fixed = |count| Task {
            wish: Wish::Colors(count),
            colors: None,
            pages: 0,
        };
        task_table.join(1, fixed(60)).expect("room");
        task_table.reassign();
        let error = task_table.join(2, fixed(5)).expect_err("only 4 are left");
        assert_eq!(
            error,
            AssignError::Full {
                needed: 65,
                colors: 64
            }
        );
        assert_eq!(task_table.reassign(), []);
        task_table.join(3, fixed(4)).expect("room");
        assert_eq!(task_table.reassign(), [(3, range(60, 4))]);
    }
}
