//! What each program asked for and got, also after its end.

use std::collections::VecDeque;

use pagemill_linux::process::command_name;
use pagemill_zero_client::protocol::{ProgramUse, Reason};

/// Programs that are remembered after their end.
const ENDED_MAX: usize = 64;

/// Programs that have ended, the last first.
#[derive(Default)]
pub(super) struct Ended(VecDeque<ProgramUse>);

impl Ended {
    /// Remembers a program whose connection has ended, if it asked for anything.
    pub fn remember(&mut self, used: Option<ProgramUse>) {
        let Some(used) = used else {
            return;
        };
        self.0.truncate(ENDED_MAX - 1);
        self.0.push_front(ProgramUse {
            is_connected: false,
            ..used
        });
    }

    pub fn programs(&self) -> impl Iterator<Item = &ProgramUse> {
        self.0.iter()
    }
}

/// A program that asks for the first time.
pub(super) fn first_use(process: i32) -> ProgramUse {
    let number = u32::try_from(process).ok().filter(|number| *number > 0);
    ProgramUse {
        process,
        command: number.and_then(command_name).unwrap_or_default(),
        is_connected: true,
        ..ProgramUse::default()
    }
}

/// Counts a request that got nothing.
pub(super) fn count_refusal(used: &mut ProgramUse, reason: Reason, pages: u64) {
    used.refused.count(reason);
    used.refused_pages = used.refused_pages.saturating_add(pages);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_programs_are_remembered_and_counts_do_not_overflow() {
        let mut ended = Ended::default();
        ended.remember(None);
        for process in 1..=100 {
            ended.remember(Some(first_use(-process)));
        }
        let processes: Vec<i32> = ended.programs().map(|used| used.process).collect();
        let last: Vec<i32> = (37..=100).rev().map(|process| -process).collect();
        assert_eq!(processes, last);
        let mut used = first_use(0);
        count_refusal(&mut used, Reason::TooLarge, u64::MAX);
        count_refusal(&mut used, Reason::Quota, 1);
        assert_eq!((used.refused_pages, used.refused.total()), (u64::MAX, 2));
    }
}
