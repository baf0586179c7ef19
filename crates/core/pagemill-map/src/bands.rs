//! Allocations as bands of rows.

use serde::{Deserialize, Serialize};

/// An allocation and its rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Band {
    /// Its name.
    pub name: String,
    /// Its first byte.
    pub address: u64,
    /// Its size in bytes.
    pub bytes: u64,
    /// Its first row.
    pub first_row: usize,
    /// How many rows it has.
    pub rows: usize,
    /// A row is `2^row_shift` bytes.
    pub row_shift: u32,
    /// Its changes by the number of their cause, over the whole run.
    pub counts: Vec<u64>,
}

impl Band {
    fn rows_at(&self, shift: u32) -> usize {
        (self.bytes.div_ceil(1 << shift).max(1)) as usize
    }
}

/// All bands, by address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bands {
    bands: Vec<Band>,
    rows_max: usize,
    /// Rows are no finer than this.
    shift_min: u32,
    causes: usize,
}

/// A band has at most this many rows when it comes.
const ROWS_PER_BAND: usize = 256;

impl Bands {
    pub(crate) fn new(rows_max: usize, shift_min: u32, causes: usize) -> Self {
        Self {
            bands: Vec::new(),
            rows_max,
            shift_min,
            causes,
        }
    }

    pub(crate) fn all(&self) -> &[Band] {
        &self.bands
    }

    pub(crate) fn rows(&self) -> usize {
        self.bands
            .last()
            .map_or(0, |band| band.first_row + band.rows)
    }

    /// Adds an allocation above all others. Says for each old row which one it is now, where that changed.
    pub(crate) fn add(&mut self, name: &str, address: u64, bytes: u64) -> Option<Vec<usize>> {
        let old = self.bands.clone();
        if self.bands.len() >= self.rows_max {
            // No row is left: the last band stands for all that follow.
            let last = self.bands.last_mut()?;
            last.bytes = address + bytes - last.address;
            last.name = "and all others".to_owned();
            while last.rows_at(last.row_shift) > last.rows {
                last.row_shift += 1;
            }
        } else {
            let mut band = Band {
                name: name.to_owned(),
                address,
                bytes,
                first_row: 0,
                rows: 0,
                row_shift: self.shift_min,
                counts: vec![0; self.causes],
            };
            while band.rows_at(band.row_shift) > ROWS_PER_BAND {
                band.row_shift += 1;
            }
            self.bands.push(band);
            self.fit();
        }
        moved(&old, &self.bands)
    }

    /// Makes the largest bands coarser until all have room, and numbers their rows.
    fn fit(&mut self) {
        loop {
            let mut first_row = 0;
            for band in &mut self.bands {
                band.rows = band.rows_at(band.row_shift);
                band.first_row = first_row;
                first_row += band.rows;
            }
            if first_row <= self.rows_max {
                return;
            }
            if let Some(largest) = self.bands.iter_mut().max_by_key(|band| band.rows) {
                largest.row_shift += 1;
            }
        }
    }

    /// Counts a change of `cause` at `address`; false if no band holds it.
    pub(crate) fn count(&mut self, address: u64, cause: usize) -> bool {
        let place = self.place(address);
        let band = place.and_then(|place| self.bands.get_mut(place));
        band.map(|band| band.counts[cause] += 1).is_some()
    }

    /// The band that holds `address`.
    pub(crate) fn of(&self, address: u64) -> Option<&Band> {
        self.bands.get(self.place(address)?)
    }

    fn place(&self, address: u64) -> Option<usize> {
        let after = self.bands.partition_point(|band| band.address <= address);
        after.checked_sub(1)
    }
}

/// Where old rows are in the new bands; none if they are where they were.
fn moved(old: &[Band], new: &[Band]) -> Option<Vec<usize>> {
    let row_of = |(old, new): (&Band, &Band)| {
        let coarser = new.row_shift - old.row_shift;
        let (first, last) = (new.first_row, new.rows.saturating_sub(1));
        (0..old.rows)
            .map(|row| first + (row >> coarser).min(last))
            .collect::<Vec<_>>()
    };
    let rows: Vec<usize> = old.iter().zip(new).flat_map(row_of).collect();
    let stays = rows.iter().enumerate().all(|(row, now)| row == *now);
    (!stays).then_some(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_never_exceed_their_limit(sizes in prop::collection::vec(1u64..1 << 34, 1..80)) {
            let mut bands = Bands::new(64, 7, 1);
            let mut address = 1 << 40;
            for bytes in sizes {
                let before = bands.rows();
                let rows = bands.add("a", address, bytes);
                prop_assert!(bands.rows() <= 64);
                if let Some(rows) = rows {
                    prop_assert_eq!(rows.len(), before);
                    prop_assert!(rows.iter().all(|row| *row < bands.rows()));
                }
                for at in [address, address + bytes - 1] {
                    prop_assert!(bands.count(at, 0));
                    let band = bands.of(at).unwrap();
                    prop_assert!((at - band.address) >> band.row_shift < band.rows as u64);
                }
                address += bytes.next_multiple_of(4096);
            }
        }
    }
}
