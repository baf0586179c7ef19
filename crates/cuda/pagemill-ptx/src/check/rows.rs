//! Rows of lanes that touch words side by side, as most do: all of them at once, if none may race.

use super::cells::{Cells, Rules, Stamp, WORD, is_own_past};
use pagemill_ptx_ir::line::{LANES, Line};

/// Lanes that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// The first lane.
    pub lane: usize,
    pub lanes: usize,
    /// Whether all are at one address; else each begins where the one before ends.
    pub is_same: bool,
}

impl Row {
    pub(super) fn lanes(&self) -> std::ops::Range<usize> {
        self.lane..self.lane + self.lanes
    }

    pub(super) fn last(&self) -> usize {
        self.lane + self.lanes - 1
    }

    /// Bytes from the first lane's to the last one's.
    pub(super) fn bytes(&self, lane_bytes: usize) -> usize {
        match self.is_same {
            true => lane_bytes,
            false => lane_bytes * self.lanes,
        }
    }
}

/// The rows of some lanes, in the order of lanes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rows {
    rest: u32,
    /// A bit for each lane whose next one begins where it ends.
    ascending: u32,
    /// A bit for each lane whose next one is at the same address.
    same: u32,
}

impl Rows {
    #[inline(always)]
    pub(super) fn of(addresses: &Line<u64>, mask: u32, lane_bytes: usize) -> Self {
        let followed = mask & mask >> 1;
        Self {
            rest: mask,
            ascending: apart(addresses, lane_bytes as u64) & followed,
            same: apart(addresses, 0) & followed,
        }
    }
}

/// A bit for each lane whose next one is `bytes` further on.
#[inline(always)]
fn apart(addresses: &Line<u64>, bytes: u64) -> u32 {
    let mut bits = 0;
    for lane in 0..LANES - 1 {
        let is_apart = addresses[lane].wrapping_add(bytes) == addresses[lane + 1];
        bits |= u32::from(is_apart) << lane;
    }
    bits
}

impl Rows {
    /// The next row and, if rows behind it are of the same addresses, the last of them: a narrow tile is read so.
    #[inline(always)]
    pub(super) fn next_repeated(&mut self, addresses: &Line<u64>) -> Option<(Row, Row)> {
        let first = self.next()?;
        let mut last = first;
        let mut ahead = *self;
        while let Some(row) = ahead.next()
            && !row.is_same
            && row.lanes == first.lanes
            && addresses[row.lane] == addresses[first.lane]
        {
            (last, *self) = (row, ahead);
        }
        Some((first, last))
    }
}

impl Iterator for Rows {
    type Item = Row;

    #[inline(always)]
    fn next(&mut self) -> Option<Row> {
        if self.rest == 0 {
            return None;
        }
        let lane = self.rest.trailing_zeros();
        let same = (self.same >> lane).trailing_ones();
        let lanes = 1 + same.max((self.ascending >> lane).trailing_ones());
        let these = (u32::MAX >> (LANES as u32 - lanes)) << lane;
        self.rest &= !these;
        Some(Row {
            lane: lane as usize,
            lanes: lanes as usize,
            is_same: same > 0,
        })
    }
}

/// Plain accesses to cells side by side.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowTouch {
    /// Where the first lane's bytes are.
    pub offset: usize,
    pub lanes: usize,
    pub lane_bytes: usize,
    /// Of the first lane.
    pub mine: Stamp,
    /// From one lane's stamp to the next one's.
    pub step: u64,
    pub is_write: bool,
}

impl Cells {
    /// Notes the accesses of a row; false, with nothing noted, if one of them may race or the cells are not of words.
    #[inline(always)]
    pub(super) fn touch_row(&mut self, row: &RowTouch, floor: Stamp, rules: &impl Rules) -> bool {
        if !(row.offset | row.lane_bytes).is_multiple_of(WORD) || row.mine.is_strong() {
            return false;
        }
        let first = row.offset / WORD;
        let Some((readers, writers)) = self.words(first..first + row.lanes * row.lane_bytes / WORD)
        else {
            return false;
        };
        match row.lane_bytes / WORD {
            1 => touch::<1>(readers, writers, row, floor, rules),
            2 => touch::<2>(readers, writers, row, floor, rules),
            4 => touch::<4>(readers, writers, row, floor, rules),
            _ => false,
        }
    }
}

/// Without a branch in its loops, so that the compiler makes vectors of them.
#[inline(always)]
fn touch<const WORDS: usize>(
    readers: &mut [u64],
    writers: &mut [u64],
    row: &RowTouch,
    floor: Stamp,
    rules: &impl Rules,
) -> bool {
    let own = |index: usize| Stamp(row.mine.0 + (index / WORDS) as u64 * row.step);
    let is_history =
        |other: Stamp, mine: Stamp| (other.0 < floor.0) | (other.actor() == mine.actor());
    let mut is_free = true;
    for (index, (reader, writer)) in readers.iter().zip(writers.iter()).enumerate() {
        let mine = own(index);
        is_free &=
            is_history(Stamp(*writer), mine) & (!row.is_write | is_history(Stamp(*reader), mine));
    }
    if !is_free {
        return false;
    }
    if row.is_write {
        for (index, writer) in writers.iter_mut().enumerate() {
            *writer = own(index).0;
        }
        readers.fill(0);
        return true;
    }
    // Most warps have no past of their own since the last barrier.
    match rules.own_past(row.mine) {
        0 => join(readers, own, is_history, rules),
        past => join(
            readers,
            own,
            |before, mine| is_history(before, mine) | is_own_past(before, mine, past),
            rules,
        ),
    }
    true
}

/// Notes the readers of a row beside those that are not over for them.
#[inline(always)]
fn join(
    readers: &mut [u64],
    own: impl Fn(usize) -> Stamp,
    is_over: impl Fn(Stamp, Stamp) -> bool,
    rules: &impl Rules,
) {
    for (index, reader) in readers.iter_mut().enumerate() {
        let mine = own(index);
        let before = Stamp(*reader);
        let joined = rules.join(before, mine);
        *reader = match is_over(before, mine) {
            true => mine.0,
            false => joined.0,
        };
    }
}

#[cfg(test)]
mod tests;
