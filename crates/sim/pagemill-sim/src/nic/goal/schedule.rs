use std::sync::Arc;

use super::super::machine::NicMachine;
use super::super::world::{World, WorldError, WorldReport};
use super::GoalRank;

/// A parallel program as a graph of operations for each rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Goal {
    /// One schedule for each rank.
    pub ranks: Vec<Arc<Schedule>>,
}

/// The operations of one rank and what waits for what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// Operations in the order of the file.
    pub operations: Vec<GoalOperation>,
    /// For each operation, where its followers begin in `followers`; one more at the end.
    first_follower: Vec<u32>,
    /// Operations that wait for another, and whether for its start instead of its end.
    followers: Vec<Follower>,
}

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoalOperation {
    /// Send `bytes` bytes to rank `to`.
    Send {
        /// Length in bytes.
        bytes: u64,
        /// The receiving rank.
        to: u32,
        /// What it is matched by.
        tag: u32,
    },
    /// Receive `bytes` bytes.
    Receive {
        /// Length in bytes.
        bytes: u64,
        /// The sending rank; `None` for any.
        from: Option<u32>,
        /// What it is matched by; `None` for any.
        tag: Option<u32>,
    },
    /// Compute for `ns` nanoseconds.
    Compute {
        /// How long.
        ns: u64,
    },
}

/// An operation that waits for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Follower(u32);

impl Follower {
    const AT_START: u32 = 1 << 31;

    pub fn new(operation: u32, at_start: bool) -> Self {
        Self(operation | if at_start { Self::AT_START } else { 0 })
    }

    pub fn operation(self) -> u32 {
        self.0 & !Self::AT_START
    }

    pub fn is_at_start(self) -> bool {
        self.0 & Self::AT_START != 0
    }
}

/// More operations of one rank than can be told apart.
pub(super) const OPERATIONS_MAX: usize = (1 << 31) - 1;

impl Schedule {
    /// A schedule of `operations`; `edges` holds (what is waited for, who waits).
    pub(super) fn new(operations: Vec<GoalOperation>, mut edges: Vec<(u32, Follower)>) -> Self {
        edges.sort_by_key(|&(before, follower)| (before, follower.operation()));
        let mut first_follower = vec![0_u32; operations.len() + 1];
        for &(before, _) in &edges {
            first_follower[before as usize + 1] += 1;
        }
        for place in 1..first_follower.len() {
            first_follower[place] += first_follower[place - 1];
        }
        let followers = edges.into_iter().map(|(_, follower)| follower).collect();
        Self {
            operations,
            first_follower,
            followers,
        }
    }

    /// What waits for `operation`.
    pub(super) fn followers(&self, operation: u32) -> &[Follower] {
        let place = operation as usize;
        let range = self.first_follower[place] as usize..self.first_follower[place + 1] as usize;
        &self.followers[range]
    }

    /// For how many others each operation waits.
    pub(super) fn waits(&self) -> Vec<u32> {
        let mut waits = vec![0; self.operations.len()];
        for follower in &self.followers {
            waits[follower.operation() as usize] += 1;
        }
        waits
    }

    /// An operation that can never start, because it waits for itself through others.
    pub(super) fn find_circle(&self) -> Option<u32> {
        let mut waits = self.waits();
        let mut ready: Vec<u32> = (0..waits.len() as u32)
            .filter(|&place| waits[place as usize] == 0)
            .collect();
        while let Some(operation) = ready.pop() {
            for follower in self.followers(operation) {
                let left = &mut waits[follower.operation() as usize];
                *left -= 1;
                if *left == 0 {
                    ready.push(follower.operation());
                }
            }
        }
        waits
            .iter()
            .position(|&left| left > 0)
            .map(|place| place as u32)
    }
}

impl Goal {
    /// Runs it on nodes of `machine`.
    ///
    /// # Errors
    /// A value of the machine is impossible, or some receive has no send.
    pub fn run(&self, machine: &NicMachine) -> Result<WorldReport, WorldError> {
        World::new(
            machine,
            self.ranks
                .iter()
                .map(|schedule| GoalRank::new(Arc::clone(schedule))),
        )?
        .run()
    }

    /// Messages that all ranks send.
    pub fn messages(&self) -> u64 {
        self.sends().count() as u64
    }

    /// Bytes that all ranks send.
    pub fn bytes(&self) -> u64 {
        self.sends().sum()
    }

    fn sends(&self) -> impl Iterator<Item = u64> + '_ {
        let operations = self.ranks.iter().flat_map(|rank| &rank.operations);
        operations.filter_map(|operation| match operation {
            GoalOperation::Send { bytes, .. } => Some(*bytes),
            _ => None,
        })
    }
}
