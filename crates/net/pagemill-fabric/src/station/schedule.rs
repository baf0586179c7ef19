//! What a rank sent, received and computed, and what waited for what: a schedule in GOAL's terms (Hoefler, Schneider, Lumsdaine 2010).
//!
//! A call waits for what the program had seen of earlier ones, and for the computing in between; so the schedule keeps the program's order
//! under other latencies, where the program would have seen things later.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use pagemill_sim::nic::Status;

use super::requests::{Done, Kind, Ticket};

/// The most operations of a rank: what is kept until its end takes up to 72 bytes for each.
const MOST: usize = 10_000_000;

/// An operation; its number is its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    /// Also what other operations wait for together.
    Compute {
        ns: u64,
    },
    Send {
        dest: u32,
        tag: u64,
        bytes: u64,
    },
    /// Not yet known of whom, or never matched.
    Waiting,
    Receive {
        source: u32,
        tag: u64,
        bytes: u64,
    },
}

/// The schedule of a rank, as it grows.
#[derive(Debug, Default)]
pub struct Schedule {
    operations: Vec<Operation>,
    /// Which operation waits for the end of which.
    waits: Vec<(u32, u32)>,
    open: BTreeMap<u64, u32>,
    /// What the next call waits for: what the program saw since the last one.
    seen: Vec<u32>,
    /// The latest computation, for which every call since waits.
    latest: Option<u32>,
    compute_ps: u64,
    /// Why there is no schedule.
    refused: Option<&'static str>,
}

impl Schedule {
    /// The program computed.
    pub fn computed(&mut self, span_ps: u64) {
        self.compute_ps += span_ps;
    }

    /// The program sends to `dest`, or receives.
    pub fn posted(&mut self, dest: Option<u32>, tag: u64, bytes: u64, ticket: Ticket) {
        self.join();
        let operation = match dest {
            Some(dest) => Operation::Send { dest, tag, bytes },
            None => Operation::Waiting,
        };
        if let Some(number) = self.add(operation) {
            self.waits
                .extend(self.latest.map(|latest| (number, latest)));
            self.open.insert(ticket.0, number);
        }
    }

    /// The program saw how an operation ended.
    pub fn saw(&mut self, done: &Done) {
        if matches!(done.kind, Kind::Write | Kind::Read) {
            self.refused =
                Some("it accessed memory of other ranks, for which a schedule has no words");
        }
        let Some(number) = self.open.remove(&done.ticket.0) else {
            return;
        };
        let outcome = &done.outcome;
        match outcome.status {
            Status::Success if done.kind == Kind::Receive => {
                self.operations[number as usize] = Operation::Receive {
                    source: outcome.source,
                    tag: outcome.tag,
                    bytes: outcome.sent_bytes,
                };
            }
            Status::Success => {}
            // It takes no time and nothing of it is left.
            Status::Canceled => return,
            _ => self.refused = Some("an operation ended with an error"),
        }
        self.seen.push(number);
    }

    /// All of it as text, which [`merged`] reads: why there is none, or an operation or a wait in each line.
    pub fn text(&self) -> String {
        if let Some(reason) = self.refused {
            return format!("refused: {reason}\n");
        }
        let mut text = String::new();
        for (number, operation) in self.operations.iter().enumerate() {
            // Writing to a string cannot fail.
            let _ = match operation {
                Operation::Compute { ns } => writeln!(text, "l{number}: calc {ns}"),
                Operation::Waiting => writeln!(text, "l{number}: calc 0"),
                Operation::Send { dest, tag, bytes } => {
                    writeln!(text, "l{number}: send {bytes}b to {dest} tag {tag}")
                }
                Operation::Receive { source, tag, bytes } => {
                    writeln!(text, "l{number}: recv {bytes}b from {source} tag {tag}")
                }
            };
        }
        for (waits, until) in &self.waits {
            let _ = writeln!(text, "l{waits} requires l{until}");
        }
        text
    }

    /// Makes a computation of what the program did since the last call, for which the next ones wait.
    fn join(&mut self) {
        let ns = self.compute_ps / 1000;
        if ns == 0 && self.seen.is_empty() {
            return;
        }
        self.compute_ps -= ns * 1000;
        let Some(number) = self.add(Operation::Compute { ns }) else {
            return;
        };
        let before = self.latest.replace(number).into_iter();
        let seen = before.chain(self.seen.drain(..));
        self.waits.extend(seen.map(|until| (number, until)));
    }

    fn add(&mut self, operation: Operation) -> Option<u32> {
        if self.operations.len() >= MOST {
            self.refused = Some("it made more than 10,000,000 calls");
            return None;
        }
        self.operations.push(operation);
        Some(self.operations.len() as u32 - 1)
    }
}

/// The schedule of all ranks from those of each, in order. Tags, which have 64 bits, get small numbers.
///
/// # Errors
/// A rank has none, with the reason.
pub fn merged(ranks: &[String]) -> Result<String, String> {
    if let Some((rank, reason)) = (ranks.iter().enumerate())
        .find_map(|(rank, text)| Some((rank, text.strip_prefix("refused: ")?.trim_end())))
    {
        return Err(format!("rank {rank} has no schedule: {reason}"));
    }
    let tag = |line: &str| line.rsplit_once(" tag ").map(|(_, tag)| tag.to_owned());
    let tags: BTreeSet<String> = ranks
        .iter()
        .flat_map(|text| text.lines().filter_map(tag))
        .collect();
    let numbers: BTreeMap<String, usize> = tags.into_iter().zip(0..).collect();
    let mut all = format!("num_ranks {}\n", ranks.len());
    for (rank, text) in ranks.iter().enumerate() {
        let _ = writeln!(all, "\nrank {rank} {{");
        for line in text.lines() {
            let _ = match line.rsplit_once(" tag ") {
                Some((operation, tag)) => writeln!(all, "{operation} tag {}", numbers[tag]),
                None => writeln!(all, "{line}"),
            };
        }
        all.push_str("}\n");
    }
    Ok(all)
}

#[cfg(test)]
mod tests;
