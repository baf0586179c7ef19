//! Which strategy to choose: every candidate is simulated, the fastest comes first.

use pagemill_policy::migration::MigrationSpec;
use pagemill_policy::residency::{AccessPattern, StrategyEntry, Variant};

use super::machine::UvmMachine;
use super::point::{UvmError, UvmPoint, run_watched};
use super::report::{Bound, UvmReport};

/// What the advice is for.
#[derive(Clone, Debug, PartialEq)]
pub struct AdvicePoint {
    /// The order of reads.
    pub pattern: AccessPattern,
    /// Whether warps of a block keep together.
    pub variant: Variant,
    /// Bytes allocated over bytes of GPU memory free for them.
    pub factor: f64,
    /// Share of GPU memory that something else holds.
    pub ballast: f64,
    /// Granule of striping in bytes.
    pub stripe_bytes: u64,
    /// Times that the data are read; they stay where the last time left them.
    pub loops: u32,
    /// Seed of random reads.
    pub seed: u64,
    /// How partial pages migrate, if they are a candidate.
    pub partial: MigrationSpec,
}

/// What a strategy is worth at a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// The strategy.
    pub strategy: &'static StrategyEntry,
    /// Its run.
    pub report: UvmReport,
    /// What bounds it, in words.
    pub why: String,
}

/// Simulates one candidate. From time to time `watch` gets the share that is done, from 0 to 1, and says whether to go on.
///
/// # Errors
/// A point that cannot be run, or [`UvmError::Stopped`].
pub fn advise_one(
    machine: &UvmMachine,
    point: &AdvicePoint,
    strategy: &'static StrategyEntry,
    watch: &mut dyn FnMut(f64) -> bool,
) -> Result<Advice, UvmError> {
    let (report, _) = run_watched(machine, &with_strategy(point, strategy), 0, watch)?;
    let why = why(&report);
    Ok(Advice {
        strategy,
        report,
        why,
    })
}

fn with_strategy(point: &AdvicePoint, strategy: &'static StrategyEntry) -> UvmPoint {
    UvmPoint {
        pattern: point.pattern,
        variant: point.variant,
        strategy,
        factor: point.factor,
        ballast: point.ballast,
        stripe_bytes: point.stripe_bytes,
        random_page_bytes: pagemill_policy::residency::BLOCK_BYTES,
        loops: point.loops,
        reuse: true,
        seed: point.seed,
        partial: point.partial.clone(),
    }
}

/// Says in a sentence where the time goes.
fn why(report: &UvmReport) -> String {
    let remote = percent(
        report.remote_bytes,
        report.remote_bytes + report.local_bytes,
    );
    let moved = report.migrated_bytes + report.evicted_bytes;
    let read = u64::from(report.loops) * report.allocated_bytes;
    let ratio = moved as f64 / read.max(1) as f64;
    match report.bound {
        Bound::GpuMemory => {
            format!("GPU memory is the limit; {remote} % of the bytes come over the link")
        }
        Bound::Link if moved == 0 => {
            format!("the link is the limit: {remote} % of the bytes are read over it")
        }
        Bound::Link => {
            format!("the link is the limit: it moves {ratio:.2} bytes for each byte of the data")
        }
        Bound::FaultHandling => format!(
            "the driver is the limit: {} faults in {} batches, {ratio:.2} bytes moved for each byte of the data",
            report.faults, report.batches
        ),
        Bound::Translation => format!(
            "page walks are the limit: {:.0} % of the look-ups miss, {remote} % of the bytes come over the link",
            report.tlb_miss_rate() * 100.0
        ),
        Bound::Concurrency => {
            format!(
                "latency is the limit: too few reads are under way; {remote} % of the bytes come over the link"
            )
        }
    }
}

fn percent(part: u64, whole: u64) -> u64 {
    (u128::from(part) * 100 / u128::from(whole.max(1))) as u64
}
