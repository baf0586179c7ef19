//! Every experiment of `pagemill doctor zero`, as JSON. `measure PAGES STARTUP_MIB`, as root.

use pagemill_zero_bench::{EXPERIMENTS, Plan};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<usize>());
    let plan = Plan {
        pages: numbers.next().transpose()?.unwrap_or(128),
        startup_bytes: (numbers.next().transpose()?.unwrap_or(2048) as u64) << 20,
    };
    for (name, measure) in EXPERIMENTS {
        eprintln!("measuring {name}");
        pagemill_report::json::write(&measure(&plan)?, std::io::stdout())?;
        println!();
    }
    Ok(())
}
