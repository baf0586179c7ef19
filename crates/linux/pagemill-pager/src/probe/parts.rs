use std::sync::Arc;

use pagemill_linux::clock;
use pagemill_linux::userfault::{Frames, Paged, Taken, Userfault};

use super::data::DataKind;
use super::{Batch, FaultCost, FaultRun, Limits, MANY, Order, Touch, store_costs};
use crate::UNIT_BYTES;
use crate::config::Config;
use crate::core::PagerError;
use crate::store::Compressed;

/// What the parts of a fault cost, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct PartCosts {
    /// From the touch until a handler has the fault, and from the answer until the program runs.
    pub round_trip_ns: f64,
    /// What the handler does beside moving units.
    pub decide_ns: f64,
    /// Taking neighboring units from the program.
    pub take: Batch,
    /// Giving them to it.
    pub give: Batch,
}

/// Units of the memory that is moved to and fro.
const UNITS: u64 = 4096;

/// Measures them. `decide` is what is left of a fault when all else is subtracted.
///
/// # Errors
/// This user may not answer page faults.
pub fn part_costs(data: DataKind, limits: &Limits) -> Result<PartCosts, PagerError> {
    let (one, many) = (moves(1)?, moves(MANY as u64)?);
    let take = Batch::of(one.0, many.0);
    let give = Batch::of(one.1, many.1);
    Ok(PartCosts {
        round_trip_ns: round_trip()?,
        decide_ns: decide(data, limits, take, give)?,
        take,
        give,
    })
}

/// Taking and giving `batch` units a call, each call.
fn moves(batch: u64) -> Result<(f64, f64), PagerError> {
    let userfault = Arc::new(Userfault::open(true)?);
    let memory = Paged::map(&userfault, UNITS * UNIT_BYTES as u64)?;
    let mut frames = Frames::new(&userfault, UNITS * UNIT_BYTES as u64)?;
    frames.grow_to(UNITS * UNIT_BYTES as u64)?;
    let calls = UNITS / batch;
    let piece = |index: u64| {
        let start = memory.range().start + index * batch * UNIT_BYTES as u64;
        start..start + batch * UNIT_BYTES as u64
    };
    let mut taken = Taken::default();
    let (mut take_ns, mut give_ns) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..4 {
        let start = clock::thread_cpu_ns();
        (0..calls).for_each(|index| frames.give(&memory, piece(index), true));
        let middle = clock::thread_cpu_ns();
        (0..calls).for_each(|index| frames.take(&memory, piece(index), &mut taken));
        let end = clock::thread_cpu_ns();
        give_ns = give_ns.min((middle - start) as f64 / calls as f64);
        take_ns = take_ns.min((end - middle) as f64 / calls as f64);
    }
    Ok((take_ns, give_ns))
}

/// Runs of faults, of which the least counts: short enough that some of them meet nothing else on the computer.
const PARTS: u64 = 32;

/// Faults of one thread with one handler and nothing to evict: what is not the handler's time.
fn round_trip() -> Result<f64, PagerError> {
    least_of_zeros(|cost| cost.time_ns.saturating_sub(cost.service_ns))
}

/// The same faults: CPU time of the thread that faults, in nanoseconds each.
///
/// # Errors
/// This user may not answer page faults.
pub fn own_cpu_ns() -> Result<u64, PagerError> {
    Ok(least_of_zeros(|cost| cost.own_cpu_ns)? as u64)
}

/// The least `part` of a fault that makes a unit of zeros.
fn least_of_zeros(part: fn(&FaultCost) -> u64) -> Result<f64, PagerError> {
    let run = FaultRun {
        bytes: 32 << 20,
        data: None,
        order: Order::Random,
        touch: Touch::Read,
        touches: 8192,
    };
    let costs = run.costs(
        &probe_config(64 << 20),
        Box::new(Compressed::new(u64::MAX)),
        PARTS,
    )?;
    Ok(least_each(&costs, part))
}

fn least_each(costs: &[FaultCost], part: fn(&FaultCost) -> u64) -> f64 {
    let each = |cost: &FaultCost| part(cost) as f64 / cost.faults.max(1) as f64;
    costs.iter().map(each).fold(f64::INFINITY, f64::min)
}

/// Reads by chance from compressed memory: the handler's time, less that of all parts that are known.
fn decide(data: DataKind, limits: &Limits, take: Batch, give: Batch) -> Result<f64, PagerError> {
    let store = store_costs(&Compressed::new(u64::MAX), data)?;
    let run = FaultRun {
        bytes: 64 << 20,
        data: Some(data),
        order: Order::Random,
        touch: Touch::Read,
        touches: 16384,
    };
    let costs = run.costs(
        &probe_config(16 << 20),
        Box::new(Compressed::new(u64::MAX)),
        PARTS,
    )?;
    // Units by chance lie alone in their pages.
    // Compressed memory checks itself: only what leaves is hashed.
    let unit_ns = store.get.call_ns + store.get.unit_ns + limits.hash_ns;
    let moved_ns = take.call_ns + take.unit_ns + give.call_ns + give.unit_ns;
    let service_ns = least_each(&costs, |cost| cost.service_ns);
    Ok((service_ns - unit_ns - moved_ns).max(0.0))
}

/// One handler, and nothing brought ahead.
fn probe_config(budget_bytes: u64) -> Config {
    let mut config = Config::new(budget_bytes);
    config.handlers = std::num::NonZeroUsize::MIN;
    if let Ok(none) = pagemill_policy::paging::READ_AHEADS.find("none") {
        config.paging.read_ahead = none;
    }
    config
}
