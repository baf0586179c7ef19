//! Sorting all rotations of a block of text, as bzip2 does before it compresses: by doubling prefixes (Manber and Myers).

use super::registry::CpuProgramInfo;
use super::stream::ProgramStream;
use super::{Array, CpuProgram, Layout, Recorder};
use crate::Parameter;
use crate::parameter::SEED;
use crate::random::Random;

pub const INFO: CpuProgramInfo = CpuProgramInfo {
    name: "block-sort",
    summary: "sorts all rotations of a block of text (like bzip2)",
    parameters: &[
        Parameter::count(
            "bytes",
            196_608,
            2,
            1 << 28,
            "the block; the sort needs 21 times as much memory",
        ),
        Parameter::count(
            "doublings",
            4,
            1,
            32,
            "most times that the sorted prefix doubles",
        ),
        Parameter::count(
            "blocks",
            1,
            1,
            1 << 20,
            "blocks sorted one after another, in the same memory",
        ),
        SEED,
    ],
    start: |values| {
        let text = text(values.get_u32("bytes") as usize, values.get("seed"));
        Box::new(ProgramStream::new(BlockSort::new(
            text,
            values.get_u32("doublings"),
            values.get_u32("blocks"),
        )))
    },
};

/// Words of a small vocabulary, the frequent ones more often.
fn text(bytes: usize, seed: u64) -> Vec<u8> {
    let (letters, choice) = (Random::new(seed, 0), Random::new(seed, 1));
    let word = |number: u64| {
        let length = 2 + letters.below(number * 16, 8);
        (1..=length).map(move |letter| b'a' + letters.below(number * 16 + letter, 26) as u8)
    };
    let mut text = Vec::with_capacity(bytes + 16);
    let mut number = 0;
    while text.len() < bytes {
        // The product of two choices prefers low numbers.
        let chosen = choice.below(number, 64) * choice.below(number + 1, 64);
        text.extend(word(chosen).chain([b' ']));
        number += 2;
    }
    text.truncate(bytes);
    text
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pass {
    /// Counts the letters.
    Count,
    /// Puts every rotation behind those of lower letters.
    Place,
    /// Turns letters into ranks: where the first rotation of each letter stands.
    RankLetters,
    /// Every group of equal rotations is filled from its start again.
    Restart,
    /// Moves rotations into the order of their next letters too.
    Scatter,
    /// Finds which of them are still equal.
    Rank,
    Done,
}

#[derive(Debug)]
struct BlockSort {
    text: Array<u8>,
    /// Rotations in order, and in the next order.
    order: Array<u32>,
    next_order: Array<u32>,
    /// The group of each rotation: where its first one stands.
    rank: Array<u32>,
    next_rank: Array<u32>,
    /// Where the next rotation of each group goes.
    fill: Array<u32>,
    counts: [u32; 256],
    pass: Pass,
    /// Letters by which they are sorted.
    sorted: usize,
    doublings: u32,
    doublings_left: u32,
    blocks_left: u32,
    groups: usize,
    /// The rank of the last ranked rotation, and what it was ranked by.
    last: (u32, (u32, u32)),
}

impl BlockSort {
    fn new(text: Vec<u8>, doublings: u32, blocks: u32) -> Self {
        let mut layout = Layout::new();
        let zeros = || vec![0_u32; text.len()];
        Self {
            order: layout.array(zeros()),
            next_order: layout.array(zeros()),
            rank: layout.array(zeros()),
            next_rank: layout.array(zeros()),
            fill: layout.array(zeros()),
            text: layout.array(text),
            counts: [0; 256],
            pass: Pass::Count,
            sorted: 1,
            doublings,
            doublings_left: doublings,
            blocks_left: blocks,
            groups: 0,
            last: (0, (0, 0)),
        }
    }

    fn place(&mut self, rotation: usize, memory: &mut Recorder) {
        let letter = usize::from(self.text.get(rotation, memory));
        // `counts` holds the first free place of each letter now; it stays in registers and the first cache.
        let place = self.counts[letter];
        self.counts[letter] += 1;
        self.order.set(place as usize, rotation as u32, memory);
        self.next_rank.set(rotation, letter as u32, memory);
    }

    /// After all are placed, the count of the letter before is where this one's first rotation stands.
    fn rank_letter(&mut self, rotation: usize, memory: &mut Recorder) {
        let letter = self.next_rank.get(rotation, memory) as usize;
        let first = if letter == 0 {
            0
        } else {
            self.counts[letter - 1]
        };
        self.rank.set(rotation, first, memory);
    }

    fn scatter(&mut self, place: usize, memory: &mut Recorder) {
        let length = self.text.len();
        let follower = self.order.get(place, memory) as usize;
        let rotation = (follower + length - self.sorted % length) % length;
        let group = self.rank.get(rotation, memory) as usize;
        let to = self.fill.follow(group, memory);
        self.fill.set(group, to + 1, memory);
        self.next_order.set(to as usize, rotation as u32, memory);
    }

    /// Ranks the rotation at `place` of `next_order` by its two halves.
    fn rank(&mut self, place: usize, memory: &mut Recorder) {
        let rotation = self.next_order.get(place, memory) as usize;
        let second = (rotation + self.sorted) % self.text.len();
        let by = (
            self.rank.get(rotation, memory),
            self.rank.get(second, memory),
        );
        if place == 0 || by != self.last.1 {
            self.last = (place as u32, by);
            self.groups += 1;
        }
        self.next_rank.set(rotation, self.last.0, memory);
    }

    /// The next block has the same text.
    fn end_block(&mut self) -> Pass {
        self.blocks_left -= 1;
        if self.blocks_left == 0 {
            return Pass::Done;
        }
        self.counts = [0; 256];
        self.sorted = 1;
        self.doublings_left = self.doublings;
        Pass::Count
    }

    fn start_ranks(&mut self) {
        let mut first = 0;
        for count in &mut self.counts {
            first += std::mem::replace(count, first);
        }
    }
}

impl CpuProgram for BlockSort {
    fn items(&self) -> usize {
        if self.pass == Pass::Done {
            0
        } else {
            self.text.len()
        }
    }

    fn item(&mut self, index: usize, memory: &mut Recorder) {
        match self.pass {
            Pass::Count => self.counts[usize::from(self.text.get(index, memory))] += 1,
            Pass::Place => self.place(index, memory),
            Pass::RankLetters => self.rank_letter(index, memory),
            Pass::Restart => self.fill.set(index, index as u32, memory),
            Pass::Scatter => self.scatter(index, memory),
            Pass::Rank => self.rank(index, memory),
            Pass::Done => {}
        }
    }

    fn end_pass(&mut self) {
        self.pass = match self.pass {
            Pass::Count => {
                self.start_ranks();
                Pass::Place
            }
            Pass::Place => Pass::RankLetters,
            Pass::RankLetters => Pass::Restart,
            Pass::Restart => Pass::Scatter,
            Pass::Scatter => {
                self.groups = 0;
                Pass::Rank
            }
            Pass::Rank => {
                std::mem::swap(&mut self.order, &mut self.next_order);
                std::mem::swap(&mut self.rank, &mut self.next_rank);
                self.sorted *= 2;
                self.doublings_left -= 1;
                let is_sorted = self.groups == self.text.len() || self.sorted >= self.text.len();
                if is_sorted || self.doublings_left == 0 {
                    self.end_block()
                } else {
                    Pass::Restart
                }
            }
            Pass::Done => Pass::Done,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::super::run_to_end;
    use super::*;

    #[test]
    fn rotations_are_sorted() {
        for text in [
            text(500, 3),
            b"banana".repeat(40),
            vec![b'x'; 64],
            vec![1, 0],
        ] {
            let mut program = BlockSort::new(text.clone(), 32, 2);
            run_to_end(&mut program);
            let rotation = |start: u32| {
                let (head, tail) = text.split_at(start as usize);
                [tail, head].concat()
            };
            let order = program.order.values();
            assert!(
                order
                    .windows(2)
                    .all(|pair| rotation(pair[0]) <= rotation(pair[1]))
            );
            let mut all = order.to_vec();
            all.sort_unstable();
            assert!(all.iter().copied().eq(0..text.len() as u32));
        }
    }
}
