//! Caches and what lies between them.

use super::super::amounts::{bytes, cycles, number};
use crate::quantity;
use crate::sourced::SourcedSection;
use pagemill_sim::InterconnectSpec;
use pagemill_sim::parts::cache::CacheSpec;

pub(super) fn interconnect(mut part: SourcedSection<'_>) -> Option<InterconnectSpec> {
    let latency_cycles = part.value("latency", cycles);
    let bytes_per_cycle = part.value("bytes_per_cycle", bytes);
    let sm_bytes_per_cycle = part.optional("sm_bytes_per_cycle", bytes);
    let store_bytes_per_cycle = part.optional("store_bytes_per_cycle", bytes);
    let answer_cycles = part.optional("answer", cycles);
    let bytes_per_cycle = bytes_per_cycle?;
    Some(InterconnectSpec {
        latency_cycles: latency_cycles?,
        bytes_per_cycle,
        sm_bytes_per_cycle: sm_bytes_per_cycle?.unwrap_or(bytes_per_cycle),
        store_bytes_per_cycle: store_bytes_per_cycle?,
        answer_cycles: answer_cycles?,
    })
}

/// `[l2]`.
pub(super) struct SecondLevel {
    pub(super) slice: CacheSpec,
    pub(super) keeps_copies: bool,
    pub(super) far_cycles: u32,
    pub(super) fetch_bytes: Option<u32>,
}

pub(super) fn second_level(mut section: SourcedSection<'_>) -> Option<SecondLevel> {
    let keeps_copies = section.optional("keeps_copies", quantity::boolean);
    let far_cycles = section.optional("far_half", cycles);
    let fetch_bytes = section.optional("fetch", bytes);
    let slice = cache(section);
    Some(SecondLevel {
        keeps_copies: keeps_copies?.unwrap_or_default(),
        far_cycles: far_cycles?.unwrap_or_default(),
        fetch_bytes: fetch_bytes?,
        slice: slice?,
    })
}

pub(super) fn cache(mut cache: SourcedSection<'_>) -> Option<CacheSpec> {
    let size_bytes = cache.value("size", bytes);
    let line_bytes = cache.value("line", bytes);
    let ways = cache.value("ways", number);
    let hit_latency_cycles = cache.value("hit_latency", cycles);
    let mshr_entries = cache.value("mshr_entries", number);
    let hashed_sets = cache.value("hashed_sets", quantity::boolean);
    Some(CacheSpec {
        bytes: size_bytes?,
        line_bytes: line_bytes?,
        ways: ways?,
        hit_latency_cycles: hit_latency_cycles?,
        mshr_entries: mshr_entries?,
        hashed_sets: hashed_sets?,
    })
}
