//! Every sequence of requests, up to a length, on pages of four and of eight units.
//!
//! Where the contract checks single steps, this checks what sequences add up to: nothing moves twice without a CPU
//! request between, and a finer policy never moves more than a coarser one.

use pagemill_policy::migration::{
    CpuDecision, Migration, MigrationSpec, POLICIES, Page, PageState,
};
use pagemill_testkit::migration::{Rule, UnitMap, every_range, small_specs};
use pagemill_types::{PageRange, RangeSet};

/// A page together with all that was said about it.
#[derive(Clone)]
struct Witness {
    page: Page,
    model: UnitMap,
    moved_since_cpu: RangeSet,
    moved_bytes: u64,
}

impl Witness {
    fn new(spec: &MigrationSpec) -> Self {
        Self {
            page: Page::new(),
            model: UnitMap::new(spec),
            moved_since_cpu: RangeSet::new(),
            moved_bytes: 0,
        }
    }

    fn gpu(&mut self, track: &Track, request: PageRange) {
        let mut fetch = Vec::new();
        self.page.gpu_request(&track.migration, request, &mut fetch);
        for range in fetch {
            let new = self.moved_since_cpu.insert(range);
            assert_eq!(
                new,
                range.bytes(),
                "{range} moves twice under {:?}",
                track.migration.spec()
            );
            self.moved_bytes += new;
        }
        self.model
            .request(track.migration.spec(), track.rule, request);
        assert_eq!(*self.page.valid(), self.moved_since_cpu);
        assert_eq!(
            *self.page.valid(),
            self.model.ranges(),
            "{:?}",
            track.migration.spec()
        );
    }

    fn cpu(&mut self, track: &Track) {
        let moved = self.moved_since_cpu.covered_bytes();
        let decision = self.page.cpu_request(&track.migration);
        match decision {
            CpuDecision::Local => assert_eq!(moved, 0),
            CpuDecision::BringBack {
                gpu_valid_bytes, ..
            } => assert_eq!(gpu_valid_bytes, moved),
        }
        assert_eq!(self.page.state(), PageState::ValidInCpu);
        self.moved_since_cpu.clear();
        self.model = UnitMap::new(track.migration.spec());
    }
}

/// One policy that takes part in the comparison.
struct Track {
    migration: Migration,
    rule: Rule,
}

impl Track {
    fn new(spec: &MigrationSpec, policy: &str, rule: Rule) -> Self {
        let policy = POLICIES.find(policy).unwrap();
        let spec = MigrationSpec {
            policy,
            ..spec.clone()
        };
        Self {
            migration: spec.build().unwrap(),
            rule,
        }
    }
}

/// The policies from fine to coarse.
fn tracks(spec: &MigrationSpec) -> [Track; 3] {
    [
        Track::new(spec, "multi-range", Rule::MultiRange),
        Track::new(spec, "single-range", Rule::SingleRange),
        Track::new(spec, "whole-page", Rule::WholePage),
    ]
}

/// Extends the sequence by every request there is, `depth` times over; returns how many requests were made.
fn extend(
    tracks: &[Track; 3],
    requests: &[PageRange],
    witnesses: &[Witness; 3],
    depth: u32,
) -> u64 {
    if depth == 0 {
        return 0;
    }
    let everything = requests.iter().copied().map(Some).chain([None]);
    let mut made = 0;
    for request in everything {
        let mut next = witnesses.clone();
        for (track, witness) in tracks.iter().zip(&mut next) {
            match request {
                Some(request) => witness.gpu(track, request),
                None => witness.cpu(track),
            }
        }
        let moved = next.each_ref().map(|witness| witness.moved_bytes);
        assert!(
            moved.is_sorted(),
            "fine to coarse: {moved:?} B under {:?}",
            tracks[0].migration.spec()
        );
        made += 1 + extend(tracks, requests, &next, depth - 1);
    }
    made
}

fn every_sequence(unit_bytes: u32, length: u32) -> u64 {
    let multi_range = POLICIES.find("multi-range").unwrap();
    let mut made = 0;
    for spec in small_specs(multi_range, unit_bytes) {
        let start = [(); 3].map(|()| Witness::new(&spec));
        made += extend(&tracks(&spec), &every_range(&spec), &start, length);
    }
    made
}

#[test]
fn every_sequence_of_four_requests_to_four_units() {
    assert_eq!(
        every_sequence(64, 4),
        5 * 8 * (11 + 11u64.pow(2) + 11u64.pow(3) + 11u64.pow(4))
    );
}

#[test]
fn every_sequence_of_three_requests_to_eight_units() {
    assert_eq!(
        every_sequence(32, 3),
        9 * 8 * (37 + 37u64.pow(2) + 37u64.pow(3))
    );
}

/// Any length: follows the three policies together through every combination of pages they can reach.
#[test]
fn a_finer_policy_holds_no_byte_that_a_coarser_one_does_not() {
    let multi_range = POLICIES.find("multi-range").unwrap();
    for spec in small_specs(multi_range, 32) {
        let tracks = tracks(&spec);
        let requests = every_range(&spec);
        let mut seen = std::collections::BTreeSet::new();
        let mut open = vec![[(); 3].map(|()| Page::new())];
        while let Some(pages) = open.pop() {
            for &request in &requests {
                let mut next = pages.clone();
                for (track, page) in tracks.iter().zip(&mut next) {
                    page.gpu_request(&track.migration, request, &mut Vec::new());
                }
                let [fine, middle, coarse] = &next;
                assert!(
                    fine.valid()
                        .iter()
                        .all(|&range| middle.valid().contains(range)),
                    "{spec:?}"
                );
                assert!(
                    middle
                        .valid()
                        .iter()
                        .all(|&range| coarse.valid().contains(range)),
                    "{spec:?}"
                );
                if seen.insert(next.each_ref().map(|page| page.valid().as_slice().to_vec())) {
                    open.push(next);
                }
            }
        }
    }
}

/// The ends of the scale meet: with one slot, or with every gap narrow, many ranges are one.
#[test]
fn multi_range_degenerates_to_single_range() {
    let multi_range = POLICIES.find("multi-range").unwrap();
    let degenerate = |spec: &MigrationSpec| {
        spec.range_slots == Some(1) || u64::from(spec.gap_threshold_bytes) >= spec.page.bytes()
    };
    let specs = small_specs(multi_range, 32).into_iter().filter(degenerate);
    for spec in specs {
        let [multi, single, _] = tracks(&spec);
        for first in every_range(&spec) {
            for second in every_range(&spec) {
                let run = |track: &Track| {
                    let mut page = Page::new();
                    page.gpu_request(&track.migration, first, &mut Vec::new());
                    page.gpu_request(&track.migration, second, &mut Vec::new());
                    page
                };
                assert_eq!(
                    run(&multi),
                    run(&single),
                    "{first}, {second} under {spec:?}"
                );
            }
        }
    }
}
