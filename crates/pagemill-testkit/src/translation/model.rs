use pagemill_policy::translation::Organisation;

/// An ATT cache as lists: each set holds its lines, the one used last at the end.
#[derive(Debug)]
pub struct ModelCache {
    organisation: Box<dyn Organisation>,
    sets: Vec<Vec<u64>>,
}

impl ModelCache {
    /// An empty cache.
    pub fn new(organisation: Box<dyn Organisation>) -> Self {
        let sets = vec![Vec::new(); organisation.sets() as usize];
        Self { organisation, sets }
    }

    /// Uses `entry`; whether its line was there.
    pub fn lookup(&mut self, entry: u64) -> bool {
        let line = entry / u64::from(self.organisation.line_entries());
        let ways = self.organisation.ways() as usize;
        let set = &mut self.sets[self.organisation.set_of(line) as usize];
        let was_there = set.contains(&line);
        set.retain(|&other| other != line);
        set.push(line);
        if set.len() > ways {
            set.remove(0);
        }
        was_there
    }

    /// Forgets the lines of entries `first` to `last`; how many there were.
    pub fn invalidate(&mut self, first: u64, last: u64) -> u32 {
        let entries = u64::from(self.organisation.line_entries());
        let before: usize = self.sets.iter().map(Vec::len).sum();
        for set in &mut self.sets {
            set.retain(|line| *line < first / entries || *line > last / entries);
        }
        let after: usize = self.sets.iter().map(Vec::len).sum();
        (before - after) as u32
    }
}
