//! The check of reported matches.

use std::collections::BTreeMap;

use crate::WorkloadError;
use crate::check::Check;
use crate::words::words;

/// How a match and a place in the genome are reported that agree with each other.
const HOLDS: &str = "as reported";

/// Proves matches right without a suffix tree: each occurs where it says, and one base more occurs nowhere.
pub(super) struct Certificate<'a> {
    /// One byte a base, 0 to 3.
    pub(super) genome: &'a [u8],
    /// The reads, one after the other.
    pub(super) queries: &'a [u8],
    /// Bases of a read, at most 32.
    pub(super) query_length: usize,
    /// Shortest match that is reported, in bases.
    pub(super) minimum_match: usize,
}

impl Certificate<'_> {
    /// Compares every reported match, then every place in the genome.
    pub(super) fn check(&self, matches: &[u8], check: &mut Check) -> Result<(), WorkloadError> {
        let mut absent: BTreeMap<usize, Vec<u64>> = BTreeMap::new();
        let starts = self.query_length - self.minimum_match + 1;
        let mut found = words::<u32>(matches);
        let mut index = 0;
        for query in self.queries.chunks_exact(self.query_length) {
            for start in 0..starts {
                let (Some(position), Some(length)) = (found.next(), found.next()) else {
                    unreachable!("the matches buffer holds a pair for every start of every query");
                };
                let rest = &query[start..];
                let verdict = if self.occurs(position, length, rest) {
                    HOLDS
                } else {
                    "no match"
                };
                check.equal("matches", index, HOLDS, verdict)?;
                let one_more = if length == 0 {
                    self.minimum_match
                } else {
                    length as usize + 1
                };
                if let Some(longer) = rest.get(..one_more) {
                    absent.entry(one_more).or_default().push(pack(longer));
                }
                index += 1;
            }
        }
        for (length, strings) in absent {
            self.check_absent(length, &StringSet::new(strings), check)?;
        }
        Ok(())
    }

    /// Whether a reported match is allowed and true; length 0 reports that there is none.
    fn occurs(&self, position: u32, length: u32, rest: &[u8]) -> bool {
        let (position, length) = (position as usize, length as usize);
        let reported = self.genome.get(position..position.saturating_add(length));
        length == 0
            || length >= self.minimum_match && reported.is_some() && reported == rest.get(..length)
    }

    fn check_absent(
        &self,
        length: usize,
        strings: &StringSet,
        check: &mut Check,
    ) -> Result<(), WorkloadError> {
        let mask = u64::MAX >> (64 - 2 * length);
        let mut window = 0;
        for (end, &base) in self.genome.iter().enumerate() {
            window = (window << 2 | u64::from(base)) & mask;
            if end + 1 >= length {
                let position = (end + 1 - length) as u64;
                let verdict = if strings.contains(window) {
                    "a longer match"
                } else {
                    HOLDS
                };
                check.equal("genome", position, HOLDS, verdict)?;
            }
        }
        Ok(())
    }
}

/// A set of packed strings that says "no" quickly: nearly every place in the genome asks for one that is not there.
struct StringSet {
    sorted: Vec<u64>,
    /// One bit for each hash that occurs.
    filter: Vec<u64>,
}

impl StringSet {
    const FILTER_BITS: u32 = 20;

    fn new(mut strings: Vec<u64>) -> Self {
        strings.sort_unstable();
        strings.dedup();
        let mut filter = vec![0; 1 << (Self::FILTER_BITS - 6)];
        for &string in &strings {
            let (word, bit) = Self::place(string);
            filter[word] |= bit;
        }
        Self {
            sorted: strings,
            filter,
        }
    }

    fn contains(&self, string: u64) -> bool {
        let (word, bit) = Self::place(string);
        self.filter[word] & bit != 0 && self.sorted.binary_search(&string).is_ok()
    }

    fn place(string: u64) -> (usize, u64) {
        let hash = string.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - Self::FILTER_BITS);
        (hash as usize / 64, 1 << (hash % 64))
    }
}

fn pack(bases: &[u8]) -> u64 {
    bases
        .iter()
        .fold(0, |packed, &base| packed << 2 | u64::from(base))
}

#[cfg(test)]
mod tests;
