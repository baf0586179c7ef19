use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use pagemill_types::Picos;

use super::super::packet::{Completion, Receive, Request, Send};
use super::super::program::{Action, Program};
use super::schedule::{GoalOperation, Schedule};

/// One rank of a schedule: whatever can start is started, in the order in which it could.
#[derive(Debug)]
pub struct GoalRank {
    schedule: Arc<Schedule>,
    /// For how many others each operation still waits.
    waits: Vec<u32>,
    ready: VecDeque<u32>,
    /// Messages under way.
    under_way: BTreeMap<Request, u32>,
    /// The operation whose action was returned last.
    current: Option<u32>,
}

impl GoalRank {
    /// A rank at the start of `schedule`.
    pub fn new(schedule: Arc<Schedule>) -> Self {
        let waits = schedule.waits();
        let ready = (0..waits.len() as u32)
            .filter(|&place| waits[place as usize] == 0)
            .collect();
        Self {
            schedule,
            waits,
            ready,
            under_way: BTreeMap::new(),
            current: None,
        }
    }

    /// Lets those start that wait for the start, or the end, of `operation`.
    fn release(&mut self, operation: u32, at_start: bool) {
        for follower in self.schedule.followers(operation) {
            if follower.is_at_start() == at_start {
                let left = &mut self.waits[follower.operation() as usize];
                *left -= 1;
                if *left == 0 {
                    self.ready.push_back(follower.operation());
                }
            }
        }
    }
}

impl Program for GoalRank {
    fn next(&mut self, _now: Picos) -> Action {
        // A computation has no request: it is over when the next action is asked for.
        if let Some(computed) = self.current.take() {
            self.release(computed, false);
        }
        let Some(operation) = self.ready.pop_front() else {
            return if self.under_way.is_empty() {
                Action::Exit
            } else {
                Action::Wait
            };
        };
        self.current = Some(operation);
        self.release(operation, true);
        match self.schedule.operations[operation as usize] {
            GoalOperation::Compute { ns } => Action::Compute(Picos(ns.saturating_mul(1000))),
            GoalOperation::Send { bytes, to, tag } => Action::Send(Send {
                dest: to,
                tag: tag.into(),
                bytes,
                address: buffer(to, 0),
            }),
            GoalOperation::Receive { bytes, from, tag } => Action::Receive(Receive {
                source: from,
                tag: tag.unwrap_or_default().into(),
                ignore: if tag.is_some() { 0 } else { u64::MAX },
                bytes,
                address: buffer(from.unwrap_or_default(), 1),
            }),
        }
    }

    fn started(&mut self, request: Request) {
        if let Some(operation) = self.current.take() {
            self.under_way.insert(request, operation);
        }
    }

    fn completed(&mut self, request: Request, _completion: &Completion, _now: Picos) {
        if let Some(operation) = self.under_way.remove(&request) {
            self.release(operation, false);
        }
    }
}

/// Schedules name no memory: each partner has a buffer for each direction.
fn buffer(peer: u32, direction: u64) -> u64 {
    (1 << 32) + ((u64::from(peer) << 1) + direction) * (1 << 20)
}
