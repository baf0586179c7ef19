use pagemill_types::Picos;

use super::super::machine::NicMachine;
use super::super::packet::{Completion, Receive, Request, Send};
use super::super::program::{Action, Program};
use super::super::world::{World, WorldError, WorldReport};
use super::shuffle::Shuffle;

/// Who talks to whom in a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExchangePattern {
    /// To the next rank, from the one before.
    Ring,
    /// To every other rank, one distance after the other.
    AllToAll,
    /// With the two neighbors in each of three dimensions of a torus.
    Halo,
    /// To the rank a distance further on.
    Shift {
        /// How far.
        distance: u32,
    },
    /// All others to rank 0.
    Incast,
    /// Each with one other, drawn anew in each phase: a bisect pattern (Hoefler et al., Cluster 2008).
    Pairs {
        /// What is drawn depends on it and the phase only.
        seed: u64,
    },
}

/// Phases of exchange with computation between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExchangeSpec {
    /// Who talks to whom.
    pub pattern: ExchangePattern,
    /// How many ranks there are.
    pub ranks: u32,
    /// Bytes of each message.
    pub bytes: u64,
    /// How often the pattern is repeated.
    pub iterations: u64,
    /// Computation before each exchange.
    pub compute: Picos,
}

/// One rank of an exchange: posts the receives of a phase, sends, waits for all, goes on.
#[derive(Clone, Debug)]
pub struct ExchangeRank {
    spec: ExchangeSpec,
    rank: u32,
    shape: [u32; 3],
    phase: u64,
    /// Place in the phase: computation, then receives, then sends.
    step: u32,
    under_way: u32,
}

impl ExchangeSpec {
    /// Runs it; returns what the interfaces counted, and the mean over all sending ranks of the rate at which each sent, in bytes
    /// per second: its bytes over the time of its own end.
    ///
    /// # Errors
    /// A value of the machine is impossible, or it has too few nodes.
    pub fn run(&self, machine: &NicMachine) -> Result<(WorldReport, f64), WorldError> {
        let mut world = World::new(machine, self.programs())?;
        let report = world.run()?;
        let senders = (0..self.ranks).filter(|&rank| self.sends(rank) > 0);
        let rates: Vec<f64> = senders
            .filter_map(|rank| {
                let bytes = self.phases() * u64::from(self.sends(rank)) * self.bytes;
                let end = world.stopped_at(rank).filter(|end| *end > Picos::ZERO)?;
                Some(bytes as f64 / (end.0 as f64 / 1e12))
            })
            .collect();
        let mean = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
        Ok((report, mean))
    }

    /// The program of each rank.
    pub fn programs(&self) -> impl Iterator<Item = ExchangeRank> + use<> {
        let spec = *self;
        let shape = torus(spec.ranks);
        (0..spec.ranks).map(move |rank| ExchangeRank {
            spec,
            rank,
            shape,
            phase: 0,
            step: 0,
            under_way: 0,
        })
    }

    /// Phases that each rank goes through.
    pub fn phases(&self) -> u64 {
        let distances = match self.pattern {
            ExchangePattern::AllToAll => u64::from(self.ranks.saturating_sub(1)),
            _ => 1,
        };
        self.iterations.saturating_mul(distances)
    }

    /// Messages that `rank` sends in a phase.
    fn sends(&self, rank: u32) -> u32 {
        match self.pattern {
            ExchangePattern::Halo => 6,
            ExchangePattern::Incast => u32::from(rank > 0),
            _ => 1,
        }
    }

    /// Messages that `rank` receives in a phase.
    fn receives(&self, rank: u32) -> u32 {
        match self.pattern {
            ExchangePattern::Halo => 6,
            ExchangePattern::Incast if rank == 0 => self.ranks.saturating_sub(1),
            ExchangePattern::Incast => 0,
            _ => 1,
        }
    }

    /// Messages of a whole run.
    pub fn messages(&self) -> u64 {
        let of_a_phase = match self.pattern {
            ExchangePattern::Incast => u64::from(self.ranks.saturating_sub(1)),
            _ => u64::from(self.sends(0)).saturating_mul(self.ranks.into()),
        };
        self.phases().saturating_mul(of_a_phase)
    }
}

impl ExchangeRank {
    /// Where message `index` of this phase goes, and where the one of the same number comes from.
    fn partner(&self, index: u32) -> (u32, u32) {
        let ranks = self.spec.ranks;
        let shifted = |distance: u32| {
            let distance = distance % ranks;
            (
                (self.rank + distance) % ranks,
                (self.rank + ranks - distance) % ranks,
            )
        };
        match self.spec.pattern {
            ExchangePattern::Ring => shifted(1),
            ExchangePattern::Shift { distance } => shifted(distance),
            // Only rank 0 receives, from each of the others; only they send.
            ExchangePattern::Incast => (0, index + 1),
            ExchangePattern::Pairs { seed } => {
                let other = Shuffle::new(ranks, seed, self.phase).beside(self.rank);
                (other, other)
            }
            ExchangePattern::AllToAll => {
                shifted(1 + (self.phase % u64::from(ranks.saturating_sub(1).max(1))) as u32)
            }
            ExchangePattern::Halo => {
                let (dimension, forward) = ((index / 2) as usize, index.is_multiple_of(2));
                let (up, down) = (
                    self.neighbor(dimension, 1),
                    self.neighbor(dimension, self.shape[dimension] - 1),
                );
                if forward { (up, down) } else { (down, up) }
            }
        }
    }

    fn neighbor(&self, dimension: usize, distance: u32) -> u32 {
        let stride: u32 = self.shape[..dimension].iter().product();
        let place = self.rank / stride % self.shape[dimension];
        let moved = (place + distance) % self.shape[dimension];
        self.rank - place * stride + moved * stride
    }

    /// Messages of a phase carry its number and their own, so that neighbors that are a phase ahead are told apart.
    fn tag(&self, index: u32) -> u64 {
        let number = match self.spec.pattern {
            // Told apart by their senders.
            ExchangePattern::Incast => 0,
            _ => u64::from(index),
        };
        self.phase * 8 + number
    }

    /// Where the data of message `index` lies. An exchange of all with all has two arrays, with a stretch for each peer.
    fn address(&self, index: u32, is_receive: bool) -> u64 {
        const START: u64 = 1 << 32;
        let ExchangeSpec { ranks, bytes, .. } = self.spec;
        if self.spec.pattern != ExchangePattern::AllToAll {
            let buffer = u64::from(index) * 2 + u64::from(is_receive);
            return START + buffer * bytes.next_multiple_of(1 << 16);
        }
        let (to, from) = self.partner(index);
        let array = u64::from(ranks) * bytes;
        if is_receive {
            START + array.next_multiple_of(1 << 16) + u64::from(from) * bytes
        } else {
            START + u64::from(to) * bytes
        }
    }
}

impl Program for ExchangeRank {
    fn next(&mut self, _now: Picos) -> Action {
        let receives = self.spec.receives(self.rank);
        if self.step > receives + self.spec.sends(self.rank) {
            if self.under_way > 0 {
                return Action::Wait;
            }
            self.phase += 1;
            self.step = 0;
        }
        if self.phase == self.spec.phases() {
            return Action::Exit;
        }
        let step = self.step;
        self.step += 1;
        let bytes = self.spec.bytes;
        if step == 0 {
            Action::Compute(self.spec.compute)
        } else if step <= receives {
            let index = step - 1;
            let source = Some(self.partner(index).1);
            Action::Receive(Receive {
                source,
                tag: self.tag(index),
                ignore: 0,
                bytes,
                address: self.address(index, true),
            })
        } else {
            let index = step - 1 - receives;
            let dest = self.partner(index).0;
            Action::Send(Send {
                dest,
                tag: self.tag(index),
                bytes,
                address: self.address(index, false),
            })
        }
    }

    fn started(&mut self, _request: Request) {
        self.under_way += 1;
    }

    fn completed(&mut self, _request: Request, _completion: &Completion, _now: Picos) {
        self.under_way -= 1;
    }
}

/// Three factors of `ranks`, as near to each other as they can be.
fn torus(ranks: u32) -> [u32; 3] {
    let ranks = ranks.max(1);
    let divisors =
        |number: u32| (1..=number).filter(move |divisor| number.is_multiple_of(*divisor));
    let mut best = [1, 1, ranks];
    for x in divisors(ranks).take_while(|&x| u64::from(x).pow(3) <= u64::from(ranks)) {
        let rest = ranks / x;
        let y = divisors(rest)
            .take_while(|&y| u64::from(y).pow(2) <= u64::from(rest))
            .last()
            .unwrap_or(1);
        let shape = [x, y, rest / y];
        if shape.iter().sum::<u32>() < best.iter().sum() {
            best = shape;
        }
    }
    best
}

#[cfg(test)]
mod tests;
