//! Generated programs as GOAL schedules.

use std::io::{self, Write};

use super::TrafficSpec;
use super::block::Block;
use super::messages::Phase;

/// Writes `spec` as a GOAL schedule, rank by rank. Computation that runs beside communication is on `cpu 1`.
///
/// What waits for several operations waits for an empty computation that waits for them.
///
/// # Errors
/// `out` fails.
pub fn write_goal(spec: &TrafficSpec, out: &mut impl Write) -> io::Result<()> {
    // The ranks come one after the other, so each exchange of tokens is needed again for each.
    let routing = spec.routing(usize::MAX);
    writeln!(out, "num_ranks {}", spec.ranks())?;
    for rank in 0..spec.ranks() {
        writeln!(out, "\nrank {rank} {{")?;
        let mut writer = RankWriter {
            rank,
            out: &mut *out,
            operations: 0,
            phase: Phase::default(),
        };
        let mut before = None;
        for block in spec.blocks(rank, &routing) {
            before = writer.block(&block, before)?;
        }
        writeln!(out, "}}")?;
    }
    Ok(())
}

struct RankWriter<'a, W> {
    rank: u32,
    out: &'a mut W,
    operations: u64,
    /// Reused.
    phase: Phase,
}

/// The number of an operation.
type Label = u64;

impl<W: Write> RankWriter<'_, W> {
    /// Writes a block that waits for `before`; returns what the next block has to wait for.
    fn block(&mut self, block: &Block, before: Option<Label>) -> io::Result<Option<Label>> {
        let mut ends = Vec::new();
        let lanes = block.exchange.lanes();
        let ns = block.compute.as_nanos();
        if ns > 0 {
            let cpu = if lanes > 0 { " cpu 1" } else { "" };
            ends.push(self.operation(&format!("calc {ns}{cpu}"), before)?);
        }
        for lane in 0..lanes {
            let mut last = before;
            for index in 0.. {
                let mut phase = std::mem::take(&mut self.phase);
                phase.clear();
                let is_there = block.exchange.phase(self.rank, lane, index, &mut phase);
                if is_there && phase.messages() > 0 {
                    last = self.messages(&phase, last, block.exchange.is_detached())?;
                }
                self.phase = phase;
                if !is_there {
                    break;
                }
            }
            ends.extend(last.filter(|_| last != before));
        }
        match ends.is_empty() {
            true => Ok(before),
            false => self.join(&ends).map(Some),
        }
    }

    fn messages(
        &mut self,
        phase: &Phase,
        before: Option<Label>,
        is_detached: bool,
    ) -> io::Result<Option<Label>> {
        let mut ends = Vec::with_capacity(phase.messages());
        for message in &phase.receives {
            let text = format!(
                "recv {}b from {} tag {}",
                message.bytes, message.peer, message.tag
            );
            ends.push(self.operation(&text, before)?);
        }
        for message in &phase.sends {
            let text = format!(
                "send {}b to {} tag {}",
                message.bytes, message.peer, message.tag
            );
            ends.push(self.operation(&text, before)?);
        }
        if is_detached {
            return Ok(before);
        }
        self.join(&ends).map(Some)
    }

    /// An operation that is over when all of `ends` are.
    fn join(&mut self, ends: &[Label]) -> io::Result<Label> {
        if let [end] = ends {
            return Ok(*end);
        }
        let join = self.operation("calc 0", None)?;
        for end in ends {
            writeln!(self.out, "l{join} requires l{end}")?;
        }
        Ok(join)
    }

    fn operation(&mut self, text: &str, before: Option<Label>) -> io::Result<Label> {
        let label = self.operations;
        self.operations += 1;
        writeln!(self.out, "l{label}: {text}")?;
        if let Some(before) = before {
            writeln!(self.out, "l{label} requires l{before}")?;
        }
        Ok(label)
    }
}
