//! Host time of simulated messages.

use std::hint::black_box;

use divan::Bencher;
use divan::counter::ItemsCount;
use pagemill_nic::NicMachine;
use pagemill_nic::pattern::{ExchangePattern, ExchangeSpec};
use pagemill_testkit::bench::rate;
use pagemill_types::Picos;

fn exchange(pattern: ExchangePattern, ranks: u32, bytes: u64, messages: u64) -> ExchangeSpec {
    let mut spec = ExchangeSpec {
        pattern,
        ranks,
        bytes,
        iterations: 1,
        compute: Picos::from_nanos(1000),
    };
    spec.iterations = messages.div_ceil(spec.messages());
    spec
}

fn run(spec: &ExchangeSpec) -> u64 {
    black_box(
        spec.run(&NicMachine::pni())
            .expect("the preset is a machine"),
    );
    spec.messages()
}

const PATTERNS: [(&str, ExchangePattern, u32, u64); 5] = [
    ("ring-16-short", ExchangePattern::Ring, 16, 8),
    ("halo-64-short", ExchangePattern::Halo, 64, 8),
    ("halo-4096-short", ExchangePattern::Halo, 4096, 8),
    ("halo-64-eager", ExchangePattern::Halo, 64, 4096),
    ("halo-64-rendezvous", ExchangePattern::Halo, 64, 65536),
];

#[divan::bench(args = PATTERNS.map(|pattern| pattern.0), sample_count = 3)]
fn messages(bencher: Bencher, name: &str) {
    let &(_, pattern, ranks, bytes) = PATTERNS
        .iter()
        .find(|entry| entry.0 == name)
        .expect("it is listed");
    let spec = exchange(pattern, ranks, bytes, 100_000);
    bencher
        .counter(ItemsCount::new(spec.messages()))
        .bench(|| run(&spec));
}

fn main() {
    divan::main();
    for (name, pattern, ranks, bytes) in PATTERNS {
        let spec = exchange(pattern, ranks, bytes, 200_000);
        rate(&format!("nic-{name}"), "messages/s", || run(&spec));
    }
}
