use super::{Eviction, EvictionEntry};
use crate::residency::ChunkList;

/// Frames of a tree: with pages of 64 KiB, the 2 MiB of the published tree.
const TREE: u32 = 32;

/// Tree-based neighborhood pre-eviction (Ganguly et al., ISCA 2019): the frame leaves that was used longest ago, and with it
/// whole aligned powers of two of which less than half is still there. So what the tree prefetcher brought together leaves together,
/// before its room is needed.
#[derive(Clone, Copy, Debug)]
pub struct TreePreEviction;

impl TreePreEviction {
    /// How machines and scenarios find this policy.
    pub const ENTRY: EvictionEntry = EvictionEntry {
        name: "tree-pre-eviction",
        summary: "takes what was used longest ago, and its neighbors where less than half of them is left",
        build: &|| Box::new(Self),
    };
}

impl Eviction for TreePreEviction {
    fn victim(&self, chunks: &ChunkList, keep: u32) -> Option<u32> {
        chunks.oldest_first().find(|&frame| frame != keep)
    }

    fn along(&self, chunks: &ChunkList, victim: u32, keep: u32, more: &mut Vec<u32>) {
        let is_held = |frame: u32| frame != victim && chunks.contains(frame);
        let mut size = 2;
        let mut leaving = 0..0;
        while size <= TREE {
            let first = victim / size * size;
            let node = first..first + size;
            let outside = |frame: &u32| !leaving.contains(frame);
            // What a smaller tree sends away counts as gone, so that one sparse corner can empty the larger tree
            // around it.
            let left = node.clone().filter(|&frame| is_held(frame)).filter(outside);
            if 2 * (left.count() as u32) < size {
                leaving = node;
            }
            size *= 2;
        }
        more.extend(leaving.filter(|&frame| is_held(frame) && frame != keep));
    }

    fn brought(&mut self, chunks: &mut ChunkList, block: u32) {
        chunks.renew(block);
    }

    fn tracks_use(&self) -> bool {
        true
    }

    fn used(&mut self, chunks: &mut ChunkList, block: u32) {
        chunks.renew(block);
    }
}
