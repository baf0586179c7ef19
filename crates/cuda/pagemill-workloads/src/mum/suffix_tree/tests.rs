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
        while matched < end.min(pattern.len()) && genome[position + matched] == pattern[matched] {
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
