use pagemill_linux::Mapping;
use pagemill_linux::clock::{cycles, monotonic_ns};
use pagemill_report::{ResultSet, Row};

use super::pool::{BenchError, BenchPool, SIZE, kernel_memory};
use super::samples::Samples;
use super::{Plan, claim, result};

const ROUNDS: usize = 6;

#[derive(Default)]
struct Touches {
    ns: Samples,
    cycles: Samples,
}

/// First touches of 2 MiB pages: fresh from the kernel, and of the pool, by turns.
pub(super) fn run(plan: &Plan) -> Result<ResultSet, BenchError> {
    let bytes = plan.pages * SIZE.bytes();
    let mut pool = BenchPool::start(plan.pages, plan.pages)?;
    let mut ways = [Touches::default(), Touches::default()];
    let before = pool.until_clean()?.counters;
    for _ in 0..ROUNDS {
        touch(&mut kernel_memory(bytes)?, &mut ways[0]);
        let lease = pool.lease(bytes as u64)?;
        touch(&mut lease.map(false)?, &mut ways[1]);
        pool.client.give_back(lease)?;
    }
    let after = pool.until_clean()?.counters;
    let cleaned = (after.recycled_pages + after.fresh_pages)
        .saturating_sub(before.recycled_pages + before.fresh_pages);
    let cleaner_ns = (after.cleaner_cpu_ns - before.cleaner_cpu_ns) as f64 / cleaned.max(1) as f64;
    let [kernel, pooled] = &ways;
    let rows = vec![row("kernel", kernel, 0.0), row("pool", pooled, cleaner_ns)];
    let claims = vec![
        claim(
            "pool-touch",
            "the first touch of 2 MiB from the pool takes at most 2 us",
            pooled.ns.median() / 1000.0,
            2.0,
            true,
        ),
        claim(
            "pool-over-kernel",
            "it takes at least 50 times less than the kernel's own fault",
            kernel.cycles.median() / pooled.cycles.median(),
            50.0,
            false,
        ),
    ];
    Ok(result("zero-latency", "First touch of 2 MiB", rows, claims))
}

fn touch(memory: &mut Mapping, into: &mut Touches) {
    for page in memory.bytes_mut().chunks_mut(SIZE.bytes()) {
        let (ns, count) = (monotonic_ns(), cycles());
        page[0] = 1;
        let (count, ns) = (cycles() - count, monotonic_ns() - ns);
        into.cycles.push(count as f64);
        into.ns.push(ns as f64);
    }
}

fn row(way: &str, touches: &Touches, cleaner_ns: f64) -> Row {
    Row::new()
        .parameter("source", way)
        .metric("touch_ns", touches.ns.median())
        .metric("touch_cycles", touches.cycles.median())
        .metric("touch_mean_cycles", touches.cycles.trimmed().mean())
        .metric("cleaner_cpu_ns_per_page", cleaner_ns)
}
