//! What clearing costs on this machine: at the fault, in the engine, for other threads of the core, and at start-up.
//!
//! Every measurement compares two ways in one run, taking turns, and reports medians or sums; CPU time of the daemon is in
//! its own column. Kernel and pool use huge pages of the same stock.
//!
//! [`advise`] says which kind of pages a program should run on, [`engines`] are all that can clear.
#![forbid(unsafe_code)]

pub mod advise;
mod clearing;
mod corunner;
mod costs;
pub mod engines;
mod latency;
mod pool;
mod samples;
mod startup;

use pagemill_report::{Claim, ColumnKind, ResultSet, Row, Value};

pub use costs::{Costs, Parts};
pub use pool::BenchError;
pub(crate) use pool::BenchPool;

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Pages of the pool, and of each way of a comparison.
    pub pages: usize,
    /// Bytes of the start-up comparison; 0 leaves it out.
    pub startup_bytes: u64,
}

/// Measures and prints.
pub type Experiment = fn(&Plan) -> Result<ResultSet, BenchError>;

/// Every experiment's name, and the experiment.
pub const EXPERIMENTS: &[(&str, Experiment)] = &[
    ("zero-engines", clearing::run),
    ("zero-latency", latency::run),
    ("zero-corunner", corunner::run),
    ("zero-startup", startup::run),
];

fn result(scenario: &str, title: &str, rows: Vec<Row>, claims: Vec<Claim>) -> ResultSet {
    let mut set = ResultSet {
        scenario: scenario.to_owned(),
        title: title.to_owned(),
        pagemill_version: env!("CARGO_PKG_VERSION").to_owned(),
        measured: true,
        rows,
        ..ResultSet::default()
    };
    set.summary.claims = claims;
    set
}

/// A statement about a figure of this run: that it is at most, or at least, `bound`.
fn claim(id: &str, text: &str, measured: f64, bound: f64, at_most: bool) -> Claim {
    Claim {
        id: id.to_owned(),
        text: text.to_owned(),
        published: None,
        measured: Some(Value::Float(measured)),
        kind: ColumnKind::Number,
        holds: Some(if at_most {
            measured <= bound
        } else {
            measured >= bound
        }),
        note: String::new(),
    }
}
