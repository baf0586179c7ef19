//! How fast migration is decided: local accesses, and scattered requests to 2 MiB pages.

use std::hint::black_box;

use divan::Bencher;
use pagemill_policy::migration::{Migration, MigrationSpec, POLICIES, Page};
use pagemill_testkit::bench::rate;
use pagemill_types::{PageRange, PageSize};

const PAGE_BYTES: u32 = 2 << 20;
const SEGMENT_BYTES: u32 = 128;

fn rules(policy: &str) -> Migration {
    let spec = MigrationSpec::new(
        PageSize::MIB_2,
        POLICIES.find(policy).expect("it is registered"),
    );
    spec.build()
        .expect("the values of a new specification are checked by tests")
}

/// Every segment of the page once, in an order that jumps about.
fn scattered() -> impl Iterator<Item = PageRange> {
    const SEGMENTS: u32 = PAGE_BYTES / SEGMENT_BYTES;
    const STRIDE: u32 = 6_469;
    (0..SEGMENTS).map(|index| {
        let start = index * STRIDE % SEGMENTS * SEGMENT_BYTES;
        PageRange {
            start,
            end: start + SEGMENT_BYTES,
        }
    })
}

/// Asks a new page for every segment; returns how many requests that were.
fn fill(migration: &Migration, fetch: &mut Vec<PageRange>) -> u64 {
    let mut page = Page::new();
    let mut requests = 0;
    for request in scattered() {
        fetch.clear();
        black_box(page.gpu_request(migration, request, fetch));
        requests += 1;
    }
    requests
}

#[divan::bench(args = POLICIES.iter().map(|entry| entry.name))]
fn scattered_requests(bencher: Bencher, policy: &str) {
    let migration = rules(policy);
    let mut fetch = Vec::new();
    bencher.bench_local(|| fill(&migration, &mut fetch));
}

fn main() {
    divan::main();
    for entry in &POLICIES {
        let migration = rules(entry.name);
        let mut fetch = Vec::new();
        let name = format!("migration-{}", entry.name);
        rate(&name, "requests/s", || {
            (0..50).map(|_| fill(&migration, &mut fetch)).sum()
        });
    }
}
