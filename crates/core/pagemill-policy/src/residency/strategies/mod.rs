//! How a program places its data: one file for each strategy. A strategy is the list of calls that a CUDA program
//! makes before its kernel, so a simulator and a real machine carry out the same.

mod bulk_prefetch;
mod on_demand;
mod partial_pages;
mod read_mostly;
mod stripe;
mod stripe_even;
mod zero_copy;

use std::fmt;
use std::ops::Range;

use pagemill_types::{Registry, named};

/// One of the two memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// System memory.
    Cpu,
    /// GPU memory.
    Gpu,
}

/// What a call asks of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// `cudaMemAdviseSetPreferredLocation`.
    PreferredLocation(Side),
    /// `cudaMemAdviseUnsetPreferredLocation`.
    NoPreferredLocation,
    /// `cudaMemAdviseSetAccessedBy` with the GPU.
    AccessedByGpu,
    /// `cudaMemAdviseUnsetAccessedBy` with the GPU.
    NotAccessedByGpu,
    /// `cudaMemAdviseSetReadMostly`.
    ReadMostly,
    /// `cudaMemAdviseUnsetReadMostly`.
    NotReadMostly,
    /// `cudaMemPrefetchAsync`.
    Prefetch(Side),
    /// `cudaMemDiscardBatchAsync`: the contents are no longer needed.
    Discard,
}

/// A call of the program: what, and for which bytes of the allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Offsets from the start of the allocation; whole 4 KiB pages.
    pub bytes: Range<u64>,
    /// What is asked.
    pub action: Action,
}

/// What a strategy knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placement {
    /// Bytes of the allocation.
    pub allocation_bytes: u64,
    /// Bytes of GPU memory free for it.
    pub gpu_bytes: u64,
    /// Granule that striping deals out, in bytes; at least one 4 KiB page.
    pub stripe_bytes: u64,
}

/// Who moves pages while the kernel runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// The driver, when the GPU faults.
    Driver,
    /// The GPU's memory management unit, in valid ranges ([`crate::migration`]). No GPU on sale does it.
    PartialPages,
}

/// Decides which calls a program makes before its kernel.
pub trait Strategy: Send + Sync + fmt::Debug {
    /// Hands every call to `emit`, in order.
    fn calls(&self, placement: &Placement, emit: &mut dyn FnMut(Call));

    /// Who moves pages while the kernel runs.
    fn mechanism(&self) -> Mechanism {
        Mechanism::Driver
    }

    /// Whether the published benchmark takes the data back to CPU memory before each loop.
    fn restarts_from_cpu(&self) -> bool {
        false
    }
}

/// Every strategy, in the order of listings. A new strategy is one file and one line here.
#[rustfmt::skip]
pub static STRATEGIES: Registry<StrategyEntry> = Registry::new("residency strategy", &[
    on_demand::OnDemand::ENTRY,
    zero_copy::ZeroCopy::ENTRY,
    stripe::Stripe::ENTRY,
    stripe_even::StripeEven::ENTRY,
    bulk_prefetch::BulkPrefetch::ENTRY,
    read_mostly::ReadMostly::ENTRY,
    partial_pages::PartialPages::ENTRY,
]);

/// A strategy by name.
#[derive(Clone, Copy)]
pub struct StrategyEntry {
    /// The name that scenario files and results use.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// Makes the strategy.
    pub build: fn() -> Box<dyn Strategy>,
}

named!(StrategyEntry);
