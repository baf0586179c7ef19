//! Streaming multiprocessors: warps, who issues, barriers, clusters.

pub(crate) mod barrier_arrivals;
pub(crate) mod block_slots;
pub(crate) mod clusters;
pub(crate) mod coalesce;
pub(crate) mod occupancy;
pub(crate) mod outcome;
pub(crate) mod run;
pub(crate) mod schedule;
pub(crate) mod waits;
pub(crate) mod warp;
