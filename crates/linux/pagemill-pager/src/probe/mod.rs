//! What the pager and its parts cost on this computer.

mod data;
mod faults;
mod limits;
mod parts;
mod stores;

pub use data::DataKind;
pub use faults::{FaultCost, FaultRun, Order, Touch};
pub use limits::{Limits, limits};
pub use parts::{PartCosts, own_cpu_ns, part_costs};
pub use stores::{LoopbackError, StoreCosts, loopback, store_costs};

/// What a call costs that takes several units, in nanoseconds: by calls with one and with 64 units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Batch {
    /// The call.
    pub call_ns: f64,
    /// Each unit.
    pub unit_ns: f64,
}

/// Units of the larger of the two calls that a [`Batch`] is made from.
const MANY: usize = 64;

impl Batch {
    fn of(one_ns: f64, many_ns: f64) -> Self {
        let unit_ns = ((many_ns - one_ns) / (MANY - 1) as f64).max(0.0);
        Self {
            call_ns: (one_ns - unit_ns).max(0.0),
            unit_ns,
        }
    }
}

/// The least of some measurements: what else the computer does only ever adds.
fn least(times: usize, mut measure: impl FnMut() -> f64) -> f64 {
    (0..times).map(|_| measure()).fold(f64::INFINITY, f64::min)
}
