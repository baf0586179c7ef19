use pagemill_policy::translation::Organization;

/// An ATT cache as lists: each set holds its lines, the one used last at the end.
#[derive(Debug)]
pub struct ModelCache {
    organization: Organization,
    sets: Vec<Vec<u64>>,
}

impl ModelCache {
    /// An empty cache.
    pub fn new(organization: Organization) -> Self {
        let sets = vec![Vec::new(); organization.sets as usize];
        Self { organization, sets }
    }

    /// Uses `entry`; whether its line was there.
    pub fn lookup(&mut self, entry: u64) -> bool {
        let line = entry / u64::from(self.organization.line_entries);
        let ways = self.organization.ways as usize;
        let set = &mut self.sets[self.organization.set_of(line) as usize];
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
        let entries = u64::from(self.organization.line_entries);
        let before: usize = self.sets.iter().map(Vec::len).sum();
        for set in &mut self.sets {
            set.retain(|line| *line < first / entries || *line > last / entries);
        }
        let after: usize = self.sets.iter().map(Vec::len).sum();
        (before - after) as u32
    }
}
