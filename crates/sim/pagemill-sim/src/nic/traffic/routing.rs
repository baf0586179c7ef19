//! Which token goes to which expert.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use pagemill_types::{GOLDEN_GAMMA, mix64};

/// How tokens choose among experts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Popularity {
    /// All experts alike, as a trained balance aims for.
    Uniform,
    /// The i-th most popular one is chosen in proportion to 1 / i. Which one that is differs from layer to layer.
    Zipf,
}

/// Draws assignments and keeps the last ones, for the ranks that run together.
#[derive(Debug)]
pub struct Routing {
    seed: u64,
    popularity: Popularity,
    kept_max: usize,
    kept: RefCell<VecDeque<(AssignmentKey, Rc<Assignment>)>>,
}

/// What is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AssignmentKey {
    /// The first rank of the group of experts.
    pub first_rank: u32,
    /// The time the program goes through all its micro-batches.
    pub iteration: u64,
    /// The micro-batch.
    pub micro_batch: u32,
    /// The layer of the model.
    pub layer: u32,
    /// Ranks of the group.
    pub ranks: u32,
    /// Experts of a layer.
    pub experts: u32,
    /// Experts that each token goes to.
    pub top_k: u32,
    /// Tokens of each rank.
    pub tokens: u64,
}

/// How many tokens of each rank of a group go to the experts of each other.
#[derive(Debug, PartialEq, Eq)]
pub struct Assignment {
    ranks: u32,
    /// For each sender, where the tokens for each receiver begin; one more at the end of each row.
    sent: Vec<u64>,
    /// For each receiver, where the tokens of each sender begin; one more at the end of each row.
    received: Vec<u64>,
}

impl Routing {
    pub(super) fn new(seed: u64, popularity: Popularity, kept_max: usize) -> Self {
        Self {
            seed,
            popularity,
            kept_max,
            kept: RefCell::default(),
        }
    }

    /// The assignment that `key` names; the same each time.
    pub fn assignment(&self, key: &AssignmentKey) -> Rc<Assignment> {
        let known = |kept: &VecDeque<(AssignmentKey, Rc<Assignment>)>| {
            let found = kept.iter().rev().find(|(known, _)| known == key);
            found.map(|(_, assignment)| Rc::clone(assignment))
        };
        if let Some(assignment) = known(&self.kept.borrow()) {
            return assignment;
        }
        let assignment = Rc::new(self.draw(key));
        let mut kept = self.kept.borrow_mut();
        if kept.len() >= self.kept_max {
            kept.pop_front();
        }
        kept.push_back((*key, Rc::clone(&assignment)));
        assignment
    }

    fn draw(&self, key: &AssignmentKey) -> Assignment {
        let weights = Weights::new(
            key.experts,
            self.popularity,
            mix64(self.seed ^ key.layer as u64),
        );
        let ranks = key.ranks as usize;
        let mut counts = vec![0_u64; ranks * ranks];
        let numbers = [
            u64::from(key.first_rank),
            key.iteration,
            key.micro_batch.into(),
            key.layer.into(),
        ];
        let seed = numbers
            .iter()
            .fold(self.seed, |seed, number| mix64(seed ^ mix64(*number)));
        let mut state = seed;
        let mut chosen = Vec::with_capacity(key.top_k as usize);
        for sender in 0..ranks {
            for _ in 0..key.tokens {
                weights.choose(key.top_k, &mut state, &mut chosen);
                for expert in &chosen {
                    // Experts are dealt out in order.
                    let owner = u64::from(*expert) * u64::from(key.ranks) / u64::from(key.experts);
                    counts[sender * ranks + owner as usize] += 1;
                }
            }
        }
        Assignment::new(key.ranks, &counts)
    }
}

/// Cumulative weights of the experts.
struct Weights {
    ends: Vec<u64>,
}

impl Weights {
    fn new(experts: u32, popularity: Popularity, seed: u64) -> Self {
        let weight = |place: u32| match popularity {
            Popularity::Uniform => 1,
            Popularity::Zipf => (1 << 32) / (u64::from(place) + 1),
        };
        // An order that differs from layer to layer.
        let mut order: Vec<u32> = (0..experts).collect();
        order.sort_by_key(|expert| mix64(seed ^ mix64((*expert).into())));
        let mut weights = vec![0; experts as usize];
        for (place, expert) in (0..).zip(order) {
            weights[expert as usize] = weight(place);
        }
        let ends = weights.iter().scan(0, |end, weight| {
            *end += weight;
            Some(*end)
        });
        Self {
            ends: ends.collect(),
        }
    }

    /// Draws `count` different experts.
    fn choose(&self, count: u32, state: &mut u64, chosen: &mut Vec<u32>) {
        chosen.clear();
        let total = self.ends.last().copied().unwrap_or(1);
        while chosen.len() < (count as usize).min(self.ends.len()) {
            *state = state.wrapping_add(GOLDEN_GAMMA);
            let drawn = ((u128::from(mix64(*state)) * u128::from(total)) >> 64) as u64;
            let expert = self.ends.partition_point(|end| *end <= drawn) as u32;
            if !chosen.contains(&expert) {
                chosen.push(expert);
            }
        }
    }
}

impl Assignment {
    /// With `counts[sender * ranks + receiver]` tokens.
    fn new(ranks: u32, counts: &[u64]) -> Self {
        let size = ranks as usize;
        let starts = |count: &dyn Fn(usize, usize) -> u64| {
            let mut starts = Vec::with_capacity(size * (size + 1));
            for row in 0..size {
                let mut start = 0;
                starts.push(start);
                for column in 0..size {
                    start += count(row, column);
                    starts.push(start);
                }
            }
            starts
        };
        Self {
            ranks,
            sent: starts(&|row, column| counts[row * size + column]),
            received: starts(&|row, column| counts[column * size + row]),
        }
    }

    fn entry(&self, starts: &[u64], row: u32, column: u32) -> (u64, u64) {
        let place = row as usize * (self.ranks as usize + 1) + column as usize;
        (starts[place], starts[place + 1] - starts[place])
    }

    /// Tokens of the rank at `place` for the one at `to`: the place of the first among all that it sends, and how many.
    pub fn sent(&self, place: u32, to: u32) -> (u64, u64) {
        self.entry(&self.sent, place, to)
    }

    /// Tokens for the rank at `place` of the one at `from`: the place of the first among all that it gets, and how many.
    pub fn received(&self, place: u32, from: u32) -> (u64, u64) {
        self.entry(&self.received, place, from)
    }

    /// All tokens for the experts of the rank at `place`.
    pub fn load(&self, place: u32) -> u64 {
        let (first, count) = self.received(place, self.ranks - 1);
        first + count
    }
}

#[cfg(test)]
mod tests;
