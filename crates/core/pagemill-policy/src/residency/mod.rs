//! Where the data of a program live that needs more memory than its GPU has, and what moves when.
//!
//! * [`PatternSpec`]: which bytes the kernels of the oversubscription benchmark read (Garg 2021).
//! * [`Strategy`]: the calls with which a program places its data.
//! * [`Driver`]: what the unified-memory driver makes of these calls, of faults, and of access counters.
//!
//! ```
//! use pagemill_policy::residency::{Driver, DriverSpec, Effects, PageMask, Touch};
//! use pagemill_types::Picos;
//!
//! // Two blocks of 2 MiB in a GPU with room for one.
//! let mut driver = Driver::new(&DriverSpec::new(4 << 20, 2 << 20))?;
//! assert_eq!(driver.touch(3), Touch::Fault);
//!
//! let mut effects = Effects::default();
//! driver.service(0, &PageMask::from_iter([3]), Picos::ZERO, &mut effects);
//! assert_eq!(effects.fetched.count(), 16, "a fault grows to 64 KiB");
//! assert_eq!(driver.touch(3), Touch::Local);
//!
//! driver.service(1, &PageMask::from_iter([0]), Picos::ZERO, &mut effects);
//! assert_eq!(effects.evictions[0].block, 0, "the room is needed");
//! assert_eq!(driver.touch(3), Touch::Fault);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ahead;
mod chunk_list;
mod contents;
mod counters;
mod driver;
mod eviction;
mod growth;
mod page_mask;
mod pattern;
mod places;
mod reader;
mod spec;
mod strategies;
mod thrashing;

pub use ahead::{AHEADS, Ahead, AheadEntry, BuildAhead};
pub use chunk_list::ChunkList;
pub use driver::{Driver, Effects, Evicted, PageAdvice, Touch, Traffic};
pub use eviction::{BuildEviction, EVICTIONS, Eviction, EvictionEntry, LeastRecentlyUsed};
pub use growth::{BuildGrowth, GROWTHS, Growth, GrowthContext, GrowthEntry};
pub use page_mask::PageMask;
pub use pattern::{
    AccessPattern, ELEMENT_BYTES, PatternError, PatternSpec, Variant, WARP_LANES, WarpRead,
};
pub use reader::{WarpReader, lcg};
pub use spec::{
    AccessCounterSpec, CounterRegion, DriverPolicy, DriverSpec, DriverSpecError, HostPage,
    PageTables,
};
pub use strategies::{
    Action, Call, Mechanism, Placement, STRATEGIES, Side, Strategy, StrategyEntry,
};
pub use thrashing::{ThrashingHint, ThrashingSpec};

/// Bytes of the pages that the driver keeps account of.
pub const PAGE_BYTES: u64 = 4 << 10;

/// Bytes that the driver manages as one: a virtual block, and a root chunk of GPU memory.
pub const BLOCK_BYTES: u64 = 2 << 20;

/// Pages of a block.
pub const BLOCK_PAGES: u32 = 512;

/// Pages of a big page, 64 KiB: faults grow to it.
pub const BIG_PAGE_PAGES: u32 = 16;
