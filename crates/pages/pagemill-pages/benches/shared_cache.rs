//! How fast exact miss curves are made: one number of colors, and all 64.

use std::hint::black_box;

use pagemill_pages::shared_cache::{ColorSweep, SweepSpec};
use pagemill_policy::coloring::{CacheGeometry, Palette};
use pagemill_testkit::bench::cpu_rate;
use pagemill_types::PageSize;

const REFERENCES: u64 = 4_000_000;

/// The cache of CachePM's table 1.
fn spec(colors: Vec<u16>) -> SweepSpec {
    let geometry = CacheGeometry {
        bytes: 6 << 20,
        ways: 24,
        line_bytes: 64,
    };
    SweepSpec {
        palette: Palette::new(geometry, PageSize::KIB_4).expect("it has 64 colors"),
        colors,
        sample_every: 1,
    }
}

/// Where the n-th reference goes.
type Pattern = fn(u64) -> u64;

const PATTERNS: [(&str, Pattern); 3] = [
    // 8-byte words of 32 MiB, again and again: every line misses for every number of colors.
    ("stream", |number| number * 8 % (32 << 20)),
    // Half of the references to 256 KiB, the others to 4 MiB: hits and misses by the number of colors.
    ("mixed", |number| {
        let random = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
        if random & 1 == 0 {
            random % (256 << 10)
        } else {
            (1 << 30) + random % (4 << 20)
        }
    }),
    // Random words of 64 KiB: nearly all hit for every number of colors.
    ("local", |number| {
        (number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20) % (64 << 10)
    }),
];

fn main() {
    for (name, pattern) in PATTERNS {
        for (colors_name, colors) in [
            ("1-curve-point", vec![64]),
            ("64-curve-points", (1..=64).collect()),
        ] {
            cpu_rate(
                &format!("mrc-{name}-{colors_name}"),
                "references/cpu-s",
                || {
                    let mut sweep = ColorSweep::new(&spec(colors.clone())).expect("it is sound");
                    for number in 0..REFERENCES {
                        sweep.touch(pattern(number), 8).expect("few pages");
                    }
                    black_box(sweep.misses().count());
                    REFERENCES
                },
            );
        }
    }
}
