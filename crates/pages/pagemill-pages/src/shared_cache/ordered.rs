use super::kernel::{GROUP, Kernel, Row, Touches};

/// Caches whose sets are kept in the order of use, at one place of a page: some of the groups of `GROUP` caches each.
///
/// A touch costs the same whether it hits or misses. That is less than queues where misses are many.
#[derive(Debug)]
pub struct OrderedSets {
    /// Of each group that is kept here, the sets of its caches.
    groups: Vec<Option<[Vec<Row>; GROUP]>>,
    /// One bit for each cache that is kept here.
    caches: u64,
    names: Names,
    /// Of the touches that are being done.
    touched_names: Vec<u16>,
}

impl OrderedSets {
    /// None of `groups` groups is kept here yet.
    pub fn new(groups: usize) -> Self {
        Self {
            groups: std::iter::repeat_with(|| None).take(groups).collect(),
            caches: 0,
            names: Names::default(),
            touched_names: Vec::new(),
        }
    }

    /// One bit for each cache that is kept here.
    pub fn caches(&self) -> u64 {
        self.caches
    }

    /// Whether `group` is kept here.
    pub fn holds(&self, group: usize) -> bool {
        self.groups[group].is_some()
    }

    /// Keeps `group` from now on. `take` hands out the pages of a set of a cache of it, the least recently used first.
    pub fn add(
        &mut self,
        group: usize,
        caches: &[usize],
        mut take: impl FnMut(usize, usize, &mut Vec<u32>),
    ) {
        let mut pages = Vec::new();
        let mut sets = [const { Vec::new() }; GROUP];
        for (cache, (rows, count)) in sets.iter_mut().zip(caches).enumerate() {
            rows.resize(*count, Row::default());
            for (set, row) in rows.iter_mut().enumerate() {
                take(cache, set, &mut pages);
                let newest_first = pages.iter().rev();
                for (name, page) in row.names.iter_mut().zip(newest_first) {
                    *name = self.names.of(*page);
                }
            }
            self.caches |= 1 << (group * GROUP + cache);
        }
        // Groups are whole for the kernel: the last one may have fewer caches, and pages have color 0 there.
        for rows in &mut sets[caches.len()..] {
            rows.push(Row::default());
        }
        self.groups[group] = Some(sets);
    }

    /// Gives up `group`: its sets, of cache after cache.
    pub fn remove(&mut self, group: usize) -> Option<[Vec<Row>; GROUP]> {
        self.caches &= !(((1 << GROUP) - 1) << (group * GROUP));
        self.groups[group].take()
    }

    /// The pages of a set that was kept here, the least recently used first.
    pub fn pages(&self, row: &Row) -> impl Iterator<Item = u32> {
        let names = row.names.iter().rev().filter(|name| **name != NONE);
        names.map(|name| self.names.page(*name))
    }

    /// Touches `pages`, and adds the misses of each cache that is kept here.
    pub fn touch(
        &mut self,
        kernel: Kernel,
        ways: u8,
        pages: &[u32],
        colors: &[[u16; GROUP]],
        misses: &mut [u64],
    ) {
        if self.caches == 0 {
            return;
        }
        self.touched_names.clear();
        let names = pages.iter().map(|page| self.names.of(*page));
        self.touched_names.extend(names);
        let group_count = self.groups.len();
        for (group, sets) in self.groups.iter_mut().enumerate() {
            let Some(sets) = sets else { continue };
            let found = kernel.touch(
                sets,
                &Touches {
                    ways,
                    names: &self.touched_names,
                    pages,
                    colors,
                    group,
                    groups: group_count,
                },
            );
            for (misses, found) in misses[group * GROUP..].iter_mut().zip(found) {
                *misses += found;
            }
        }
    }

    /// Whether there will be names for `count` more pages; forgets names that are not used.
    pub fn make_room(&mut self, count: usize) -> bool {
        if !self.names.has_room(count) {
            let mut old = std::mem::take(&mut self.names);
            old.pages
                .iter()
                .for_each(|page| old.of_page[*page as usize] = NONE);
            self.names.of_page = std::mem::take(&mut old.of_page);
            let rows = self.groups.iter_mut().flatten().flatten().flatten();
            for name in rows.flat_map(|row| &mut row.names) {
                // Only what a set still holds gets a new name, and in the order of the sets: order
                // of use does not depend on names.
                if *name != NONE {
                    *name = self.names.of(old.page(*name));
                }
            }
        }
        self.names.has_room(count)
    }
}

/// No page.
const NONE: u16 = 0;

/// Names that there can be, with that of no page.
const NAMES: usize = if cfg!(test) { 45 } else { 1 << 16 };

/// Short names of pages, for as long as a set here holds them.
#[derive(Debug, Default)]
struct Names {
    of_page: Vec<u16>,
    /// The pages of the names from 1 on.
    pages: Vec<u32>,
}

impl Names {
    /// The name of `page`, an old one or a new one.
    fn of(&mut self, page: u32) -> u16 {
        let place = page as usize;
        if place >= self.of_page.len() {
            self.of_page.resize(place + 1 + place / 2, NONE);
        }
        let name = &mut self.of_page[place];
        if *name == NONE {
            self.pages.push(page);
            *name = self.pages.len() as u16;
        }
        *name
    }

    fn page(&self, name: u16) -> u32 {
        self.pages[usize::from(name) - 1]
    }

    fn has_room(&self, count: usize) -> bool {
        self.pages.len() + count < NAMES
    }
}
