use pagemill_types::{Invariants, first_broken};

/// No block.
const NONE: u32 = u32::MAX;

/// The blocks that hold a root chunk of GPU memory, in the order in which they got it. Adding and removing
/// take the same time whatever the length.
#[derive(Clone, Debug)]
pub struct ChunkList {
    /// For each block its older and its newer neighbor; `None` if it holds no chunk.
    links: Vec<Option<Links>>,
    oldest: u32,
    newest: u32,
    len: u32,
}

#[derive(Clone, Copy, Debug)]
struct Links {
    older: u32,
    newer: u32,
}

impl ChunkList {
    /// No chunk among `blocks` blocks.
    pub fn new(blocks: u32) -> Self {
        Self {
            links: vec![None; blocks as usize],
            oldest: NONE,
            newest: NONE,
            len: 0,
        }
    }

    /// From now on there are at least `blocks` blocks.
    pub fn extend_to(&mut self, blocks: u32) {
        if blocks as usize > self.links.len() {
            self.links.resize(blocks as usize, None);
        }
    }

    /// The block that got its chunk last.
    pub fn newest(&self) -> Option<u32> {
        (self.newest != NONE).then_some(self.newest)
    }

    /// `block`, if it holds a chunk, counts as the one that got it last.
    pub fn renew(&mut self, block: u32) {
        if self.contains(block) {
            self.remove(block);
            self.push(block);
        }
    }

    /// Chunks held.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether no block holds a chunk.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether `block` holds a chunk.
    pub fn contains(&self, block: u32) -> bool {
        self.links.get(block as usize).is_some_and(Option::is_some)
    }

    /// `block`, which holds none, gets a chunk.
    pub fn push(&mut self, block: u32) {
        debug_assert!(!self.contains(block));
        self.links[block as usize] = Some(Links {
            older: self.newest,
            newer: NONE,
        });
        // `NONE` lies beyond the array, so the end of the list is found like a block that holds no chunk.
        match self.links.get_mut(self.newest as usize) {
            Some(Some(newest)) => newest.newer = block,
            _ => self.oldest = block,
        }
        self.newest = block;
        self.len += 1;
    }

    /// `block` gives its chunk back.
    pub fn remove(&mut self, block: u32) {
        let Some(links) = self.links.get_mut(block as usize).and_then(Option::take) else {
            return;
        };
        match self.links.get_mut(links.older as usize) {
            Some(Some(older)) => older.newer = links.newer,
            _ => self.oldest = links.newer,
        }
        match self.links.get_mut(links.newer as usize) {
            Some(Some(newer)) => newer.older = links.older,
            _ => self.newest = links.older,
        }
        self.len -= 1;
    }

    /// The blocks, the one first that has held its chunk longest.
    pub fn oldest_first(&self) -> impl Iterator<Item = u32> + '_ {
        self.walk(self.oldest, |links| links.newer)
    }

    /// The blocks, the one first that got its chunk last.
    pub fn newest_first(&self) -> impl Iterator<Item = u32> + '_ {
        self.walk(self.newest, |links| links.older)
    }

    fn walk(&self, start: u32, next: fn(Links) -> u32) -> impl Iterator<Item = u32> + '_ {
        let mut at = start;
        std::iter::from_fn(move || {
            let block = at;
            at = next(self.links.get(block as usize).copied().flatten()?);
            Some(block)
        })
    }
}

impl Invariants for ChunkList {
    fn broken_invariant(&self) -> Option<String> {
        let holders = self.links.iter().flatten().count();
        // A circle would never end.
        let forward: Vec<u32> = self.oldest_first().take(holders + 1).collect();
        let mut backward: Vec<u32> = self.newest_first().take(holders + 1).collect();
        backward.reverse();
        first_broken([
            (
                holders == self.len as usize,
                "the number of chunks is not that of the blocks that hold one",
            ),
            (
                forward.len() == holders,
                "the list from the oldest chunk on does not reach every block that holds one",
            ),
            (
                forward == backward,
                "the list has another order from its newest end",
            ),
        ])
    }
}

#[cfg(test)]
mod tests;
