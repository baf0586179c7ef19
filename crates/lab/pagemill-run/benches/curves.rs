//! How fast exact miss curves of real references are made: of the built-in CPU programs, and of the traces that
//! `PAGEMILL_TRACES` names, separated by colons.

use std::error::Error;
use std::fs::File;
use std::hint::black_box;
use std::path::Path;

use pagemill_pages::shared_cache::{ColorSweep, SweepSpec};
use pagemill_policy::coloring::{CacheGeometry, Palette};
use pagemill_testkit::bench::cpu_rate;
use pagemill_trace::open;
use pagemill_types::PageSize;
use pagemill_workloads::{CPU_PROGRAMS, CpuProgramInfo};

/// References of a program or trace, from its start.
const REFERENCES_MAX: usize = 20_000_000;

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

/// Addresses and bytes.
type References = Vec<(u64, u32)>;

fn of_program(info: &'static CpuProgramInfo) -> References {
    let mut stream = info.start(&info.defaults());
    let (mut block, mut references) = (Vec::new(), References::new());
    while references.len() < REFERENCES_MAX {
        stream.next_block(&mut block).expect("programs do not fail");
        if block.is_empty() {
            break;
        }
        references.extend(block.iter().map(|reference| (reference.address.0, 1)));
    }
    references
}

fn of_trace(path: &Path) -> Result<References, Box<dyn Error>> {
    let mut trace = open(File::open(path)?, None)?;
    let (mut block, mut references) = (Vec::new(), References::new());
    while references.len() < REFERENCES_MAX {
        trace.next_block(&mut block)?;
        if block.is_empty() {
            break;
        }
        references.extend(
            block
                .iter()
                .map(|reference| (reference.address, reference.bytes)),
        );
    }
    Ok(references)
}

fn curve(name: &str, references: &References) {
    for (points, colors) in [
        ("1-curve-point", vec![64]),
        ("64-curve-points", (1..=64).collect()),
    ] {
        cpu_rate(&format!("mrc-{name}-{points}"), "references/cpu-s", || {
            let mut sweep = ColorSweep::new(&spec(colors.clone())).expect("it is sound");
            for (address, bytes) in references {
                sweep.touch(*address, *bytes).expect("few pages");
            }
            black_box(sweep.misses().count());
            references.len() as u64
        });
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    for info in &CPU_PROGRAMS {
        curve(info.name, &of_program(info));
    }
    for path in std::env::var("PAGEMILL_TRACES")
        .unwrap_or_default()
        .split(':')
        .filter(|path| !path.is_empty())
    {
        let path = Path::new(path);
        let references = of_trace(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        curve(&format!("trace-{name}"), &references);
    }
    Ok(())
}
