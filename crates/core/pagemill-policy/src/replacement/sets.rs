use super::{CacheSpec, CacheSpecError};

/// No line.
const EMPTY: u64 = u64::MAX;

/// The lines of a cache with sets. Line n is in set n modulo the number of sets.
#[derive(Clone, Debug)]
pub struct Sets {
    /// `ways` of each set.
    lines: Vec<u64>,
    ways: usize,
    sets: u64,
    line_bytes: u64,
    held: u64,
}

/// Where a line is, or could be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// It is in this way.
    Hit(usize),
    /// It is not in its set, where this way is free.
    Free(usize),
    /// It is not in its set, which is full.
    Full,
}

impl Sets {
    pub fn new(spec: &CacheSpec) -> Result<Self, CacheSpecError> {
        let set_bytes = u64::from(spec.ways) * u64::from(spec.line_bytes);
        if spec.bytes == 0 || set_bytes == 0 || !spec.bytes.is_multiple_of(set_bytes) {
            return Err(CacheSpecError::Sets {
                bytes: spec.bytes,
                set_bytes,
            });
        }
        let sets = spec.bytes / set_bytes;
        let ways = spec.ways as usize;
        Ok(Self {
            lines: vec![EMPTY; sets as usize * ways],
            ways,
            sets,
            line_bytes: u64::from(spec.line_bytes),
            held: 0,
        })
    }

    pub fn count(&self) -> usize {
        self.sets as usize
    }

    pub fn ways(&self) -> usize {
        self.ways
    }

    /// Bytes of the lines that are held.
    pub fn bytes(&self) -> u64 {
        self.held * self.line_bytes
    }

    /// The set of `line`.
    #[inline]
    pub fn set_of(&self, line: u64) -> usize {
        (line % self.sets) as usize
    }

    /// Looks for `line` in `set`.
    #[inline]
    pub fn find(&self, set: usize, line: u64) -> Lookup {
        let lines = &self.lines[set * self.ways..][..self.ways];
        if let Some(way) = lines.iter().position(|held| *held == line) {
            return Lookup::Hit(way);
        }
        match lines.iter().position(|held| *held == EMPTY) {
            Some(way) => Lookup::Free(way),
            None => Lookup::Full,
        }
    }

    /// Puts `line` into a way of `set`, in the place of what is there.
    #[inline]
    pub fn fill(&mut self, set: usize, way: usize, line: u64) {
        let place = &mut self.lines[set * self.ways + way];
        self.held += u64::from(*place == EMPTY);
        *place = line;
    }
}
