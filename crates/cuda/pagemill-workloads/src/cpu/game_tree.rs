//! Alpha-beta search with a table of known positions, as chess programs do: most work is in registers and the first cache, and
//! each position is a random line of a large table. The game is four in a row on seven columns of six.

use super::registry::CpuProgramInfo;
use super::stream::ProgramStream;
use super::{Array, CpuProgram, Layout, Recorder};
use crate::Parameter;
use crate::parameter::SEED;
use crate::random::Random;

pub const INFO: CpuProgramInfo = CpuProgramInfo {
    name: "game-tree",
    summary: "alpha-beta search with a table of positions (like sjeng)",
    parameters: &[
        Parameter::count(
            "table_entries",
            1 << 20,
            1,
            1 << 28,
            "entries of the table, 16 bytes each",
        ),
        Parameter::count("positions", 120, 1, 1 << 20, "positions that are searched"),
        Parameter::count("depth", 9, 1, 20, "moves ahead"),
        SEED,
    ],
    start: |values| {
        let entries = values.get_u32("table_entries") as usize;
        let positions = values.get_u32("positions") as usize;
        Box::new(ProgramStream::new(GameTree::new(
            entries,
            positions,
            values.get_u32("depth"),
            values.get("seed"),
        )))
    },
};

const COLUMNS: u32 = 7;
const ROWS: u32 = 6;

/// Bits of a column: its rows and an empty one.
const COLUMN_BITS: u32 = ROWS + 1;

/// From the middle out: better moves first.
const MOVE_ORDER: [u32; COLUMNS as usize] = [3, 2, 4, 1, 5, 0, 6];

/// A position as the player who moves next sees it: bit column x 7 + row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Position {
    own: u64,
    other: u64,
}

impl Position {
    fn play(self, column: u32) -> Option<Self> {
        let taken = self.own | self.other;
        let bottom = 1_u64 << (column * COLUMN_BITS);
        let stone = (taken + bottom) & (((1 << ROWS) - 1) * bottom);
        (stone & !taken != 0).then_some(Self {
            own: self.other,
            other: self.own | (stone & !taken),
        })
    }

    /// Whether the player who moved last has four in a row.
    fn is_lost(self) -> bool {
        [1, COLUMN_BITS, COLUMN_BITS - 1, COLUMN_BITS + 1]
            .into_iter()
            .any(|step| {
                let pairs = self.other & (self.other >> step);
                pairs & (pairs >> (2 * step)) != 0
            })
    }

    fn key(self) -> u64 {
        let key = (self.own.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ self.other)
            .wrapping_mul(0xbf58_476d_1ce4_e5b9);
        key ^ (key >> 29)
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    key: u64,
    /// Moves that were looked ahead, and the value: at least, at most, or exactly.
    depth: u8,
    bound: i8,
    value: i32,
}

#[derive(Debug)]
struct GameTree {
    table: Array<Entry>,
    /// The positions from the root to the one that is searched.
    line: Array<Position>,
    /// How often a move into each cell cut off a search.
    history: Array<u32>,
    roots: Vec<Position>,
    depth: u32,
    is_done: bool,
    #[cfg(test)]
    values: Vec<i32>,
}

impl GameTree {
    fn new(entries: usize, positions: usize, depth: u32, seed: u64) -> Self {
        let mut layout = Layout::new();
        let random = Random::new(seed, 0);
        let root = |number: u64| {
            let mut position = Position::default();
            for ply in 0..8 {
                let column = random.below(number * 8 + ply, COLUMNS.into()) as u32;
                position = position
                    .play(column)
                    .filter(|next| !next.is_lost())
                    .unwrap_or(position);
            }
            position
        };
        Self {
            table: layout.array(vec![Entry::default(); entries]),
            line: layout.array(vec![Position::default(); 64]),
            history: layout.array(vec![0; (COLUMNS * COLUMN_BITS) as usize]),
            roots: (0..positions as u64).map(root).collect(),
            depth,
            is_done: false,
            #[cfg(test)]
            values: Vec::new(),
        }
    }

    /// What the position at `ply` of the line is worth to the player who moves: 1 for a win, -1 for a loss.
    fn search(
        &mut self,
        ply: u32,
        depth: u32,
        mut low: i32,
        high: i32,
        memory: &mut Recorder,
    ) -> i32 {
        let position = self.line.get(ply as usize, memory);
        if position.is_lost() {
            return -1;
        }
        if depth == 0 {
            return 0;
        }
        let key = position.key();
        let slot = (key % self.table.len() as u64) as usize;
        let known = self.table.follow(slot, memory);
        if known.key == key && u32::from(known.depth) == depth {
            let settles = match known.bound {
                0 => true,
                1 => known.value >= high,
                _ => known.value <= low,
            };
            if settles {
                return known.value;
            }
        }
        let first_low = low;
        let mut best = i32::MIN;
        for column in MOVE_ORDER {
            let Some(next) = position.play(column) else {
                continue;
            };
            self.line.set(ply as usize + 1, next, memory);
            best = best.max(-self.search(ply + 1, depth - 1, -high, -low, memory));
            low = low.max(best);
            if low >= high {
                let cell = (next.other & !position.own).trailing_zeros() as usize;
                self.history.update(cell, memory, |count| *count += 1);
                break;
            }
        }
        // A full board is a draw.
        let value = if best == i32::MIN { 0 } else { best };
        let bound = if value >= high {
            1
        } else {
            -i8::from(value <= first_low)
        };
        let depth = depth as u8;
        self.table.set(
            slot,
            Entry {
                key,
                depth,
                bound,
                value,
            },
            memory,
        );
        value
    }
}

impl CpuProgram for GameTree {
    fn items(&self) -> usize {
        if self.is_done { 0 } else { self.roots.len() }
    }

    fn item(&mut self, index: usize, memory: &mut Recorder) {
        self.line.set(0, self.roots[index], memory);
        let _value = self.search(0, self.depth, -1, 1, memory);
        #[cfg(test)]
        self.values.push(_value);
    }

    fn end_pass(&mut self) {
        self.is_done = true;
    }
}

#[cfg(test)]
mod tests;
