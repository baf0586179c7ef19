use pagemill_policy::residency::PageMask;

use crate::UNIT_BYTES;
use crate::counters::{Count, Counters};
use crate::file::{FileError, MappedFile};
use crate::record::{self, Record};
use crate::shard::Job;
use crate::store::Unit;

/// A unit whose bytes are not those of its file any more.
#[derive(Clone, Copy, Debug)]
struct Changed {
    /// Its place among the units that were looked at.
    place: usize,
    /// Its place in the page.
    index: u32,
    hash: [u64; 2],
}

/// Writes those of `units` to their file that differ from it; returns which. `taken` has their places in the page;
/// `seed` is that of the hashes.
pub fn changed(
    (counters, seed): (&Counters, u64),
    units: &[Unit],
    taken: &[u32],
    job: &mut Job,
) -> Result<PageMask, FileError> {
    let Some(file) = job.region.written_file() else {
        return Ok(PageMask::EMPTY);
    };
    let changed = find(units, taken, &job.records, seed);
    write(file, job.offset(), units, &changed)?;
    let count = changed.len() as u64;
    counters.add(Count::WrittenUnits, count);
    counters.add(Count::WrittenBytes, count * UNIT_BYTES as u64);
    for one in &changed {
        job.records[one.index as usize].keep_in_file(one.hash);
    }
    Ok(changed.iter().map(|one| one.index).collect())
}

/// The same for units that a device holds, which are written as they are at one moment; returns how many.
pub fn held(of: (&Counters, u64), held: PageMask, job: &mut Job) -> Result<u32, FileError> {
    let mut written = 0;
    for index in held.pages() {
        let mut copy: Unit = [0; UNIT_BYTES];
        let offset = job.offset() + u64::from(index) * UNIT_BYTES as u64;
        let (words, _) = copy.as_chunks_mut::<8>();
        for (place, word) in words.iter_mut().enumerate() {
            let value = job.region.memory.read(offset + place as u64 * 8);
            *word = value.to_ne_bytes();
        }
        written += changed(of, &[copy], &[index], job)?.count();
    }
    Ok(written)
}

fn find(units: &[Unit], taken: &[u32], records: &[Record], seed: u64) -> Vec<Changed> {
    let units = units.iter().zip(taken).enumerate();
    units
        .map(|(place, (unit, &index))| Changed {
            place,
            index,
            hash: record::hash(unit, seed),
        })
        .filter(|one| !records[one.index as usize].keeps(one.hash))
        .collect()
}

/// Neighbors are written in one call; the page is at `at` of the file's memory.
fn write(file: &MappedFile, at: u64, units: &[Unit], changed: &[Changed]) -> Result<(), FileError> {
    let follows = |a: &Changed, b: &Changed| a.index + 1 == b.index && a.place + 1 == b.place;
    for run in changed.chunk_by(follows) {
        let first = run[0];
        let bytes = units[first.place..first.place + run.len()].as_flattened();
        file.write(at + u64::from(first.index) * UNIT_BYTES as u64, bytes)?;
    }
    Ok(())
}
