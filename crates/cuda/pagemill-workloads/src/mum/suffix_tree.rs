//! Suffix tree of a genome in Ukkonen's on-line construction (Algorithmica 1995), built in the device's layout.
//!
//! Only inner nodes are stored, 32 bytes each: four children, the place of the node's string in the genome, its depth (the
//! string's length), its suffix link, one word unused. A child is the index of an inner node or [`LEAF`] and the start of a suffix.
//! There is no end mark: suffixes that occur elsewhere end inside edges, which exact matching never notices.

use crate::words::{get, set};

/// Marks a child as a leaf.
const LEAF: u32 = 1 << 31;
const NO_CHILD: u32 = 0;
const ROOT: u32 = 0;
const NODE_BYTES: usize = 32;

/// Bytes that hold the tree of any genome of that length: there are fewer inner nodes than leaves.
pub(super) fn capacity_bytes(genome_bases: u32) -> u64 {
    u64::from(genome_bases) * NODE_BYTES as u64
}

/// Writes the tree of `genome`, whose bases are 0 to 3, into zeroed memory and returns how many bytes it takes.
pub(super) fn build(genome: &[u8], memory: &mut [u8]) -> u64 {
    let mut builder = Builder {
        genome,
        memory,
        nodes: 1,
        active: Locus::default(),
        pending: 0,
    };
    for end in 0..genome.len() {
        builder.append(end);
    }
    (builder.nodes as usize * NODE_BYTES) as u64
}

/// A place in the tree: `length` bases below `node`, along the edge that starts with base number `edge` of the genome.
#[derive(Clone, Copy, Default)]
struct Locus {
    node: u32,
    edge: usize,
    length: usize,
}

struct Builder<'a> {
    genome: &'a [u8],
    memory: &'a mut [u8],
    nodes: u32,
    active: Locus,
    /// Suffixes of what was read so far that have no leaf yet.
    pending: usize,
}

/// Words of a node.
const POSITION: usize = 4;
const DEPTH: usize = 5;
const LINK: usize = 6;

impl Builder<'_> {
    fn word(&self, node: u32, word: usize) -> u32 {
        get(self.memory, node as usize * NODE_BYTES / 4 + word)
    }

    fn set_word(&mut self, node: u32, word: usize, value: u32) {
        set(self.memory, node as usize * NODE_BYTES / 4 + word, value);
    }

    fn depth(&self, node: u32) -> usize {
        self.word(node, DEPTH) as usize
    }

    /// A start in the genome of the string that leads to `child`.
    fn position(&self, child: u32) -> u32 {
        if child & LEAF != 0 {
            child & !LEAF
        } else {
            self.word(child, POSITION)
        }
    }

    /// Extends every pending suffix by base number `end`.
    fn append(&mut self, end: usize) {
        let base = self.genome[end];
        let mut without_link = None;
        self.pending += 1;
        while self.pending > 0 {
            if self.active.length == 0 {
                self.active.edge = end;
            }
            let slot = usize::from(self.genome[self.active.edge]);
            let child = self.word(self.active.node, slot);
            let leaf = LEAF | (end + 1 - self.pending) as u32;
            if child == NO_CHILD {
                self.set_word(self.active.node, slot, leaf);
                self.link(&mut without_link, self.active.node);
            } else {
                if self.walk_down(child) {
                    continue;
                }
                let below = self.position(child) as usize
                    + self.depth(self.active.node)
                    + self.active.length;
                if self.genome[below] == base {
                    self.active.length += 1;
                    self.link(&mut without_link, self.active.node);
                    return;
                }
                let inner = self.split(slot, child, usize::from(self.genome[below]));
                self.set_word(inner, usize::from(base), leaf);
                self.link(&mut without_link, inner);
                without_link = Some(inner);
            }
            self.pending -= 1;
            self.shorten(end);
        }
    }

    /// Moves the active place into `child` if it lies at or beyond it.
    fn walk_down(&mut self, child: u32) -> bool {
        if child & LEAF != 0 {
            return false;
        }
        let edge_length = self.depth(child) - self.depth(self.active.node);
        if self.active.length < edge_length {
            return false;
        }
        self.active.node = child;
        self.active.edge += edge_length;
        self.active.length -= edge_length;
        true
    }

    /// Puts an inner node on the edge to `child` at the active place; `onward` is the base that leads on to `child`.
    fn split(&mut self, slot: usize, child: u32, onward: usize) -> u32 {
        let inner = self.nodes;
        self.nodes += 1;
        let depth = self.depth(self.active.node) + self.active.length;
        let position = self.position(child);
        self.set_word(inner, POSITION, position);
        self.set_word(inner, DEPTH, depth as u32);
        self.set_word(inner, onward, child);
        self.set_word(self.active.node, slot, inner);
        inner
    }

    /// Gives the node that was made last its suffix link.
    fn link(&mut self, without_link: &mut Option<u32>, to: u32) {
        if let Some(node) = without_link.take() {
            self.set_word(node, LINK, to);
        }
    }

    /// Moves the active place to the next shorter suffix.
    fn shorten(&mut self, end: usize) {
        if self.active.node != ROOT {
            self.active.node = self.word(self.active.node, LINK);
        } else if self.active.length > 0 {
            self.active.length -= 1;
            self.active.edge = end + 1 - self.pending;
        }
    }
}

#[cfg(test)]
mod tests;
