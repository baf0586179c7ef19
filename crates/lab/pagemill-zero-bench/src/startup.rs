use pagemill_linux::clock::monotonic_ns;
use pagemill_report::{ResultSet, Row};

use super::pool::{BenchError, BenchPool, SIZE, kernel_memory};
use super::samples::Samples;
use super::{Plan, claim, result};

const ROUNDS: usize = 3;

/// From nothing to that much mapped, clean, touchable memory.
pub(super) fn run(plan: &Plan) -> Result<ResultSet, BenchError> {
    let bytes = plan.startup_bytes;
    let pages = (bytes as usize).div_ceil(SIZE.bytes());
    let (mut plain_ns, mut pool_ns) = (Samples::default(), Samples::default());
    let mut pool = BenchPool::start(pages, 0)?;
    for _ in 0..ROUNDS {
        pool.until_clean()?;
        let begun = monotonic_ns();
        let lease = pool.lease_now(bytes)?;
        let mut memory = lease.map(true)?;
        touch(memory.bytes_mut());
        pool_ns.push((monotonic_ns() - begun) as f64);
        drop(memory);
        pool.client.give_back(lease)?;
    }
    // The kernel's pages are those of the pool, one after the other: twice as many would not fit small machines.
    drop(pool);
    let _reserve = pagemill_linux::hugetlb::Reserve::more(SIZE, pages)?;
    for _ in 0..ROUNDS {
        let begun = monotonic_ns();
        let mut memory = kernel_memory(pages * SIZE.bytes())?;
        touch(memory.bytes_mut());
        plain_ns.push((monotonic_ns() - begun) as f64);
    }
    let rows = vec![
        row("kernel", bytes, plain_ns.median()),
        row("pool", bytes, pool_ns.median()),
    ];
    let claims = vec![claim(
        "pool-startup",
        "memory from the pool is there at least 20 times sooner than by faulting",
        plain_ns.median() / pool_ns.median(),
        20.0,
        false,
    )];
    Ok(result(
        "zero-startup",
        "Start-up with touched memory",
        rows,
        claims,
    ))
}

fn touch(memory: &mut [u8]) {
    for page in memory.chunks_mut(SIZE.bytes()) {
        page[0] = 1;
    }
}

fn row(way: &str, bytes: u64, ns: f64) -> Row {
    Row::new()
        .parameter("source", way)
        .parameter("memory_bytes", bytes)
        .metric("ready_ns", ns)
}
