use pagemill_policy::replacement::{REPLACEMENTS, Request};
use pagemill_trace::Access;

use super::*;

fn spec(policies: &[&str], sizes: &[CacheSize]) -> PolicyMrcSpec {
    PolicyMrcSpec {
        title: "test".to_owned(),
        policies: policies
            .iter()
            .map(|name| REPLACEMENTS.find(name).expect("a policy"))
            .collect(),
        sizes: sizes.to_vec(),
        ways: 2,
        line_bytes: 64,
        are_objects: true,
        ignore_sizes: false,
        watch: Watch::All,
        exact: false,
        jobs: 3,
    }
}

/// Requests of `count` objects, popular ones more often: the square root of a uniform number is small seldom.
fn requests(count: u64, length: u64, seed: u64) -> Vec<Reference> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let object = |uniform: f64| (count as f64).powf(uniform) as u64;
    let all = (0..length).map(|_| object(next())).map(|object| Reference {
        address: object.wrapping_mul(0x9E37_79B9_7F4A_7C15),
        bytes: 1 + (object % 100) as u32,
        task: 0,
        access: Access::Read,
    });
    all.collect()
}

fn run(spec: PolicyMrcSpec, references: &[Reference]) -> Result<ResultSet, MrcError> {
    let mut survey = Survey::new(&spec);
    survey.touch(references);
    let mut mrc = PolicyMrc::new(spec, Some(survey))?;
    for block in references.chunks(33) {
        mrc.touch(block)?;
    }
    mrc.finish()
}

/// The column of a result, as numbers.
fn column(set: &ResultSet, name: &str) -> Vec<f64> {
    let number = |row: &pagemill_report::Row| row.number(name).expect("a number");
    set.rows.iter().map(number).collect()
}

/// A cache for each policy and size by itself, fed one request at a time.
#[test]
fn every_curve_is_that_of_its_caches_alone() {
    let names = ["lru", "fifo", "clock", "s3-fifo", "arc"];
    let capacities = [300_u64, 40, 5000];
    let references = requests(300, 5000, 1);
    let set = run(spec(&names, &capacities.map(CacheSize::Bytes)), &references).expect("curves");
    let mut expected = Vec::new();
    let mut numbers = std::collections::BTreeMap::new();
    for name in names {
        let mut sorted = capacities;
        sorted.sort_unstable();
        for bytes in sorted {
            let build = REPLACEMENTS.find(name).expect("a policy").build;
            let cache = CacheSpec {
                bytes,
                ways: 1,
                line_bytes: 1,
            };
            let mut cache = build(&cache).expect("no sets");
            let misses = references.iter().filter(|reference| {
                let next = numbers.len() as u32;
                let object = *numbers.entry(reference.address).or_insert(next);
                !cache.request(Request {
                    object,
                    bytes: reference.bytes,
                    line: 0,
                })
            });
            expected.push(misses.count() as f64);
        }
    }
    assert_eq!(column(&set, "misses"), expected);
    let ratios: Vec<f64> = expected.iter().map(|misses| misses / 5000.0).collect();
    assert_eq!(column(&set, "miss_ratio"), ratios);
}

#[test]
fn lines_of_references_to_memory_are_objects() {
    let mut spec = spec(&["lru", "tree-plru"], &[CacheSize::Bytes(128)]);
    spec.are_objects = false;
    // 16 bytes at the end of a line touch two; then the first again.
    let reference = |address, bytes| Reference {
        address,
        bytes,
        task: 0,
        access: Access::Write,
    };
    let set = run(spec, &[reference(56, 16), reference(0, 1)]).expect("curves");
    assert_eq!(column(&set, "references"), [3.0, 3.0]);
    assert_eq!(column(&set, "misses"), [2.0, 2.0]);
}

#[test]
fn shares_are_of_the_bytes_of_all_objects() {
    let references = requests(300, 5000, 2);
    let sizes: std::collections::BTreeMap<u64, u64> = references
        .iter()
        .map(|one| (one.address, u64::from(one.bytes)))
        .collect();
    let all: u64 = sizes.values().sum();
    let set = run(
        spec(&["fifo"], &[CacheSize::Share(0.5), CacheSize::Share(1.0)]),
        &references,
    );
    let set = set.expect("curves");
    assert_eq!(
        column(&set, "cache_bytes"),
        [(all as f64 / 2.0).round(), all as f64]
    );
    // All fit: each object misses once.
    assert_eq!(column(&set, "misses")[1], sizes.len() as f64);
}

/// The exact ratio is within three standard errors of the estimate, nearly always: an error bar that is too short is found.
#[test]
fn samples_are_as_far_off_as_they_say() {
    let (mut inside, mut all, mut largest) = (0, 0, 0.0_f64);
    for seed in 0..12 {
        let references = requests(30_000, 60_000, seed);
        let mut spec = spec(
            &["lru", "fifo", "clock", "s3-fifo", "arc"],
            &[0.05, 0.2, 0.5].map(CacheSize::Share),
        );
        spec.ignore_sizes = true;
        spec.jobs = 1;
        spec.exact = true;
        spec.watch = if seed % 2 == 0 {
            Watch::Rate(0.1)
        } else {
            Watch::Objects(1500)
        };
        let set = run(spec, &references).expect("curves");
        let errors = column(&set, "miss_ratio_standard_error");
        let found = column(&set, "miss_ratio")
            .into_iter()
            .zip(column(&set, "exact_miss_ratio"));
        for ((found, exact), error) in found.zip(errors) {
            let off = (found - exact).abs();
            largest = largest.max(off);
            inside += usize::from(off <= 3.0 * error);
            all += 1;
        }
    }
    assert!(inside * 100 >= all * 90, "{inside} of {all} are inside");
    assert!(largest < 0.05, "{largest}");
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |change: &dyn Fn(&mut PolicyMrcSpec)| {
        let mut spec = spec(&["lru"], &[CacheSize::Bytes(128)]);
        change(&mut spec);
        spec.check().expect_err("it cannot be").to_string()
    };
    let with_sets = |spec: &mut PolicyMrcSpec| {
        spec.policies = vec![REPLACEMENTS.find("tree-plru").expect("a policy")];
        spec.are_objects = false;
    };
    refused(&|spec| spec.sizes = vec![CacheSize::Bytes(0)]);
    refused(&|spec| spec.sizes = vec![CacheSize::Share(-0.5)]);
    refused(&|spec| spec.watch = Watch::Rate(1.0));
    refused(&|spec| spec.watch = Watch::Rate(f64::NAN));
    refused(&|spec| spec.watch = Watch::Objects(0));
    let said = refused(&|spec| {
        with_sets(spec);
        spec.are_objects = true;
    });
    assert!(said.contains("tree-plru is for processor caches"), "{said}");
    let said = refused(&|spec| {
        with_sets(spec);
        spec.watch = Watch::Rate(0.5);
    });
    assert!(said.contains("has sets"), "{said}");
    let said = refused(&|spec| {
        with_sets(spec);
        spec.sizes = vec![CacheSize::Bytes(100)];
    });
    assert!(
        said.contains("100 bytes is not a whole number of sets of 128 bytes"),
        "{said}"
    );
}
