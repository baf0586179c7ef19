use pagemill_report::{ResultSet, Row};

use super::pool::{BenchError, SIZE};
use super::samples::Samples;
use super::{Plan, claim, result};
use crate::engines::ENGINES;
use pagemill_linux::clock::{monotonic_ns, thread_cpu_ns};
use pagemill_linux::hugetlb::{HugeFile, Reserve};

const ROUNDS: usize = 15;

/// Every engine on the same huge pages, beside the kernel's own clearing of such pages. Claims are judged by CPU time, which other
/// programs on the machine do not change.
pub(super) fn run(plan: &Plan) -> Result<ResultSet, BenchError> {
    let _reserve = Reserve::more(SIZE, plan.pages)?;
    let pages = plan.pages as f64;
    let mut rows = Vec::new();
    let (mut kernel_ns, mut kernel_cpu_ns) = (Samples::default(), Samples::default());
    for _ in 0..ROUNDS {
        let file = HugeFile::create(SIZE, plan.pages)?;
        let (begun, cpu) = (monotonic_ns(), thread_cpu_ns());
        file.populate()?;
        kernel_ns.push((monotonic_ns() - begun) as f64 / pages);
        kernel_cpu_ns.push((thread_cpu_ns() - cpu) as f64 / pages);
    }
    rows.push(row("kernel", kernel_ns.median(), kernel_cpu_ns.median()));
    let mut of_cpu = Vec::new();
    let file = HugeFile::create(SIZE, plan.pages)?;
    file.populate()?;
    let mut memory = file.map(true)?;
    for entry in &ENGINES {
        let Ok(mut engine) = (entry.open)() else {
            continue;
        };
        let (mut wall_ns, mut cpu_ns) = (Samples::default(), Samples::default());
        for _ in 0..ROUNDS {
            let mut batch: Vec<&mut [u8]> = memory.bytes_mut().chunks_mut(SIZE.bytes()).collect();
            let timing = engine.zero(&mut batch)?;
            wall_ns.push(timing.wall_ns as f64 / pages);
            cpu_ns.push(timing.cpu_ns as f64 / pages);
        }
        let label = if entry.name == "auto" {
            format!("auto ({})", engine.name())
        } else {
            entry.name.to_owned()
        };
        rows.push(row(&label, wall_ns.median(), cpu_ns.median()));
        of_cpu.push((entry.name, cpu_ns.median()));
    }
    let auto_ns = of_cpu.first().map_or(f64::MAX, |(_, ns)| *ns);
    let best_ns = of_cpu.iter().map(|(_, ns)| *ns).fold(f64::MAX, f64::min);
    let claims = vec![
        claim(
            "engine-over-kernel",
            "the chosen CPU engine clears at least 3 times as fast as the kernel",
            kernel_cpu_ns.median() / auto_ns,
            3.0,
            false,
        ),
        claim(
            "engine-near-best",
            "the chosen CPU engine takes at most 1.1 times the time of the best",
            auto_ns / best_ns,
            1.1,
            true,
        ),
    ];
    Ok(result(
        "zero-engines",
        "Clearing 2 MiB: who is how fast",
        rows,
        claims,
    ))
}

fn row(engine: &str, wall_ns: f64, cpu_ns: f64) -> Row {
    Row::new()
        .parameter("engine", engine)
        .metric("page_ns", wall_ns)
        .metric("page_cpu_ns", cpu_ns)
        .metric("clear_gb_per_s", SIZE.bytes() as f64 / wall_ns)
}
