//! Counts for every address and all of the time, in a grid that doubles its columns' width when time goes on.

/// Columns begin with 2^10 picoseconds, about a nanosecond.
const FIRST_SHIFT: u32 = 10;

/// What happened to a stretch of addresses in a stretch of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tile {
    /// Bytes that arrived.
    pub arrived: u64,
    /// Bytes that left.
    pub left: u64,
    /// Bytes that had moved there before, or were on their way.
    pub repeated: u64,
    /// Changes.
    pub events: u64,
    /// Bytes whose state changed without a move.
    pub marked: u64,
}

impl Tile {
    fn add(&mut self, other: &Self) {
        self.arrived += other.arrived;
        self.left += other.left;
        self.repeated += other.repeated;
        self.events += other.events;
        self.marked += other.marked;
    }
}

/// The grid, a column after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tiles {
    rows: usize,
    columns_max: usize,
    /// A column is `2^shift` picoseconds.
    shift: u32,
    tiles: Vec<Tile>,
    causes: usize,
    /// Of each column, how many changes had which cause.
    counts: Vec<u64>,
    /// Of each column, the bytes that the link carried in and out.
    carried: Vec<[u64; 2]>,
}

impl Tiles {
    pub(crate) fn new(columns_max: usize, causes: usize) -> Self {
        Self {
            rows: 0,
            columns_max,
            shift: FIRST_SHIFT,
            tiles: Vec::new(),
            causes,
            counts: Vec::new(),
            carried: Vec::new(),
        }
    }

    pub(crate) fn shift(&self) -> u32 {
        self.shift
    }

    pub(crate) fn columns(&self) -> usize {
        self.tiles.len().checked_div(self.rows).unwrap_or(0)
    }

    pub(crate) fn at(&self, row: usize, column: usize) -> &Tile {
        &self.tiles[column * self.rows + row]
    }

    /// There are `rows` now; those that were there are where `moved` says.
    pub(crate) fn set_rows(&mut self, rows: usize, moved: Option<&[usize]>) {
        if rows == self.rows && moved.is_none() {
            return;
        }
        let columns = self.columns();
        let mut tiles = vec![Tile::default(); columns * rows];
        for column in 0..columns {
            for row in 0..self.rows {
                let now = moved.map_or(row, |moved| moved[row]);
                tiles[column * rows + now].add(self.at(row, column));
            }
        }
        self.rows = rows;
        self.tiles = tiles;
    }

    /// The tile of `row` at a time.
    pub(crate) fn tile(&mut self, row: usize, at_ps: u64) -> &mut Tile {
        while (at_ps >> self.shift) as usize >= self.columns_max {
            self.fold();
        }
        let index = (at_ps >> self.shift) as usize * self.rows + row;
        if index >= self.tiles.len() {
            let columns = (at_ps >> self.shift) as usize + 1;
            self.tiles.resize(columns * self.rows, Tile::default());
        }
        &mut self.tiles[index]
    }

    /// Notes a change of `cause` at a time.
    pub(crate) fn count(&mut self, cause: usize, at_ps: u64) {
        while (at_ps >> self.shift) as usize >= self.columns_max {
            self.fold();
        }
        let index = (at_ps >> self.shift) as usize * self.causes + cause;
        if index >= self.counts.len() {
            let columns = (at_ps >> self.shift) as usize + 1;
            self.counts.resize(columns * self.causes, 0);
        }
        self.counts[index] += 1;
    }

    /// Of each of `columns` columns, how many changes had which cause.
    pub(crate) fn counts(&self, columns: usize) -> Vec<u64> {
        let mut counts = self.counts.clone();
        counts.resize(columns * self.causes, 0);
        counts
    }

    /// Lays bytes that the link carried one way evenly over the columns of the time from `start_ps` to `done_ps`.
    pub(crate) fn carry(&mut self, (start_ps, done_ps): (u64, u64), bytes: u64, way: usize) {
        while (done_ps >> self.shift) as usize >= self.columns_max {
            self.fold();
        }
        let length_ps = u128::from(done_ps.saturating_sub(start_ps));
        let until =
            |at_ps: u64| (u128::from(bytes) * u128::from(at_ps - start_ps) / length_ps) as u64;
        let mut from_ps = start_ps.min(done_ps);
        let mut laid = 0;
        loop {
            let column = (from_ps >> self.shift) as usize;
            let next_ps = (column as u64 + 1) << self.shift;
            let sum = if next_ps < done_ps {
                until(next_ps)
            } else {
                bytes
            };
            if column >= self.carried.len() {
                self.carried.resize(column + 1, [0; 2]);
            }
            self.carried[column][way] += sum - laid;
            if next_ps >= done_ps {
                return;
            }
            (laid, from_ps) = (sum, next_ps);
        }
    }

    /// Of each of `columns` columns, the bytes that the link carried in and out; empty where that was not recorded.
    pub(crate) fn carried(&self, columns: usize) -> Vec<[u64; 2]> {
        let mut carried = self.carried.clone();
        if !carried.is_empty() {
            carried.resize(columns, [0; 2]);
        }
        carried
    }

    /// Makes one column of two.
    fn fold(&mut self) {
        self.shift += 1;
        for index in 0..self.counts.len() {
            let (column, cause) = (index / self.causes, index % self.causes);
            let count = std::mem::take(&mut self.counts[index]);
            self.counts[column / 2 * self.causes + cause] += count;
        }
        let columns = self.counts.len().checked_div(self.causes).unwrap_or(0);
        self.counts.truncate(columns.div_ceil(2) * self.causes);
        let halved = self.carried.chunks(2).map(|pair| {
            let second = pair.get(1).copied().unwrap_or_default();
            [pair[0][0] + second[0], pair[0][1] + second[1]]
        });
        self.carried = halved.collect();
        let columns = self.columns();
        for column in 0..columns {
            for row in 0..self.rows {
                let tile = std::mem::take(&mut self.tiles[column * self.rows + row]);
                self.tiles[column / 2 * self.rows + row].add(&tile);
            }
        }
        self.tiles.truncate(columns.div_ceil(2) * self.rows);
    }
}
