//! Events of a page manager.

use std::ops::Range;

use crate::bands::Bands;
use crate::format::Map;
use crate::history::{Event, Histories};
use crate::tiles::{Tile, Tiles};
use crate::{Effect, Launch, Legend, Limits};

/// A row of tiles is at most this part of a page.
const ROWS_PER_PAGE_SHIFT: u32 = 4;
/// A row of tiles is at least this: nothing smaller moves.
const ROW_SHIFT_MIN: u32 = 7;

/// Bytes of a page arrive or leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The number of the cause in the legend.
    pub cause: u8,
    /// The page: its address over the page size.
    pub page: u64,
    /// The bytes in the page.
    pub range: Range<u32>,
    /// When it began, in picoseconds.
    pub start_ps: u64,
    /// When it was done.
    pub done_ps: u64,
    /// Where it came from, as the legend says.
    pub place: u32,
}

/// Keeps what is recorded, within bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorder {
    legend: Legend,
    page_bytes: u64,
    bands: Bands,
    tiles: Tiles,
    histories: Histories,
    launches: Vec<Launch>,
    launches_max: usize,
    /// Launches so far.
    launched: u32,
    running: bool,
    last_ps: u64,
}

impl Recorder {
    /// A recorder of pages of `page_bytes`, a power of two.
    pub fn new(page_bytes: u64, legend: Legend, limits: Limits) -> Self {
        let shift = page_bytes
            .trailing_zeros()
            .saturating_sub(ROWS_PER_PAGE_SHIFT);
        let causes = legend.causes.len();
        Self {
            legend,
            page_bytes,
            bands: Bands::new(limits.rows, shift.max(ROW_SHIFT_MIN), causes),
            tiles: Tiles::new(limits.columns, causes),
            histories: Histories::new(limits.events),
            launches: Vec::new(),
            launches_max: limits.launches,
            launched: 0,
            running: false,
            last_ps: 0,
        }
    }

    /// An allocation, above all that were recorded before.
    pub fn allocated(&mut self, name: &str, address: u64, bytes: u64) {
        let moved = self.bands.add(name, address, bytes);
        self.tiles.set_rows(self.bands.rows(), moved.as_deref());
    }

    /// A kernel starts. Changes belong to it until it ends.
    pub fn launch(&mut self, name: &str, start_ps: u64) {
        self.launched += 1;
        self.running = true;
        if self.launches.len() < self.launches_max {
            self.launches.push(Launch {
                name: name.to_owned(),
                start_ps,
                end_ps: start_ps,
            });
        }
    }

    /// The kernel ends.
    pub fn ended(&mut self, end_ps: u64) {
        self.running = false;
        self.last_ps = self.last_ps.max(end_ps);
        if self.launches.len() == self.launched as usize
            && let Some(launch) = self.launches.last_mut()
        {
            launch.end_ps = end_ps;
        }
    }

    /// Bytes arrive or leave.
    pub fn changed(&mut self, change: &Change) {
        self.last_ps = self.last_ps.max(change.done_ps);
        let bytes = change.range.end - change.range.start;
        self.histories.add(
            change.page,
            Event {
                start_ps: change.start_ps,
                done_ps: change.done_ps,
                first: change.range.start,
                bytes,
                cause: change.cause,
                launch: if self.running { self.launched } else { 0 },
                place: change.place,
            },
        );
        self.count(change);
    }

    /// Of the bytes that arrive at `at_ps`, these have moved here before, or are on their way.
    pub fn moved_again(&mut self, page: u64, range: Range<u32>, at_ps: u64) {
        self.add(page, &range, at_ps, |tile, bytes| tile.repeated += bytes);
    }

    /// The link carried bytes, in or out, from `start_ps` to `done_ps`. Where none are reported, a viewer has the bytes of changes alone.
    pub fn carried(&mut self, (start_ps, done_ps): (u64, u64), bytes: u64, is_incoming: bool) {
        self.last_ps = self.last_ps.max(done_ps);
        self.tiles
            .carry((start_ps, done_ps), bytes, usize::from(!is_incoming));
    }

    /// Adds the bytes to the tiles they are in: when they are there, or when they begin to leave.
    fn count(&mut self, change: &Change) {
        let Some(cause) = self.legend.causes.get(usize::from(change.cause)) else {
            return;
        };
        let address = change.page * self.page_bytes;
        if !self.bands.count(address, usize::from(change.cause)) {
            return;
        }
        let effect = cause.effect;
        let at_ps = match effect {
            Effect::Leave | Effect::Mark => change.start_ps,
            Effect::Arrive | Effect::Repeat => change.done_ps,
        };
        self.tiles.count(usize::from(change.cause), at_ps);
        let mut events = 1;
        self.add(change.page, &change.range, at_ps, |tile, bytes| {
            match effect {
                Effect::Arrive => tile.arrived += bytes,
                Effect::Leave => tile.left += bytes,
                Effect::Repeat => {}
                Effect::Mark => tile.marked += bytes,
            }
            tile.events += std::mem::take(&mut events);
        });
    }

    /// Has `add` add the bytes of a range to each tile that has some.
    fn add(
        &mut self,
        page: u64,
        range: &Range<u32>,
        at_ps: u64,
        mut add: impl FnMut(&mut Tile, u64),
    ) {
        let address = page * self.page_bytes;
        let Some(band) = self.bands.of(address) else {
            return;
        };
        let end = address + u64::from(range.end) - band.address;
        let mut from = address + u64::from(range.start) - band.address;
        while from < end {
            let until = end.min(((from >> band.row_shift) + 1) << band.row_shift);
            let row = band.first_row + ((from >> band.row_shift) as usize).min(band.rows - 1);
            add(self.tiles.tile(row, at_ps), until - from);
            from = until;
        }
    }

    /// The map of all that was recorded until `end_ps`.
    pub fn finish(mut self, title: &str, end_ps: u64, link_bytes_per_second: u64) -> Map {
        // Every row has a tile at the end, so that all of the time is there.
        if self.bands.rows() > 0 {
            self.tiles
                .tile(self.bands.rows() - 1, end_ps.max(self.last_ps));
        }
        let (rows, columns) = (self.bands.rows(), self.tiles.columns());
        let of_row = |row: usize| (0..columns).map(move |column| (row, column));
        let tiles = (0..rows)
            .flat_map(of_row)
            .map(|(row, column)| *self.tiles.at(row, column));
        Map {
            title: title.to_owned(),
            legend: self.legend,
            page_bytes: self.page_bytes,
            end_ps: end_ps.max(self.last_ps),
            column_ps: 1 << self.tiles.shift(),
            columns,
            link_bytes_per_second,
            bands: self.bands.all().to_vec(),
            launched: self.launched,
            launches: self.launches,
            sampled_bits: self.histories.bits(),
            full_ps: self.histories.full_ps(),
            counts: self.tiles.counts(columns),
            carried: self.tiles.carried(columns),
            tiles: tiles.collect(),
            pages: self.histories.by_page(),
        }
    }
}
