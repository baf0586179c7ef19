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
mod tests {
    use super::*;
    use crate::random::Random;

    fn node_word(memory: &[u8], node: u32, word: usize) -> u32 {
        get(memory, node as usize * 8 + word)
    }

    fn tree(genome: &[u8]) -> Vec<u8> {
        let mut memory = vec![0; capacity_bytes(genome.len() as u32) as usize];
        let used = build(genome, &mut memory) as usize;
        memory.truncate(used);
        memory
    }

    /// Length of the longest prefix of `pattern` in the tree, walking from the root.
    fn longest_prefix(memory: &[u8], genome: &[u8], pattern: &[u8]) -> usize {
        let (mut node, mut matched) = (ROOT, 0);
        while matched < pattern.len() {
            let child = node_word(memory, node, usize::from(pattern[matched]));
            if child == NO_CHILD {
                break;
            }
            let leaf = child & LEAF != 0;
            let position = if leaf {
                child & !LEAF
            } else {
                node_word(memory, child, POSITION)
            } as usize;
            let end = if leaf {
                genome.len() - position
            } else {
                node_word(memory, child, DEPTH) as usize
            };
            while matched < end.min(pattern.len()) && genome[position + matched] == pattern[matched]
            {
                matched += 1;
            }
            if matched < end || leaf {
                break;
            }
            node = child;
        }
        matched
    }

    fn genomes() -> impl Iterator<Item = Vec<u8>> {
        (0..200).map(|seed| {
            let random = Random::new(seed, 0);
            // Small alphabets repeat much, which is where the construction has its corners.
            let letters = 1 + seed % 4;
            (0..1 + seed % 37)
                .map(|i| random.below(i, letters) as u8)
                .collect()
        })
    }

    #[test]
    fn every_string_matches_as_far_as_it_occurs() {
        for genome in genomes() {
            let memory = tree(&genome);
            for seed in 0..20 {
                let random = Random::new(seed, 1);
                let pattern: Vec<u8> = (0..6).map(|i| random.below(i, 4) as u8).collect();
                let occurs = |length: &usize| {
                    genome
                        .windows(*length)
                        .any(|window| window == &pattern[..*length])
                };
                let expected = (1..=6).rev().find(occurs).unwrap_or(0);
                assert_eq!(
                    longest_prefix(&memory, &genome, &pattern),
                    expected,
                    "{pattern:?} in {genome:?}"
                );
            }
            for start in 0..genome.len() {
                assert_eq!(
                    longest_prefix(&memory, &genome, &genome[start..]),
                    genome.len() - start
                );
            }
        }
    }

    #[test]
    fn suffix_links_drop_the_first_base() {
        for genome in genomes() {
            let memory = tree(&genome);
            let string = |node: u32| {
                let position = node_word(&memory, node, POSITION) as usize;
                &genome[position..position + node_word(&memory, node, DEPTH) as usize]
            };
            for node in 1..(memory.len() / NODE_BYTES) as u32 {
                assert_eq!(
                    string(node_word(&memory, node, LINK)),
                    &string(node)[1..],
                    "in {genome:?}"
                );
            }
        }
    }
}
