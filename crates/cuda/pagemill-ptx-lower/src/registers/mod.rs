//! Virtual registers onto slots, those that calls keep, and how many a compiler would give a thread.

pub(crate) mod allocate;
pub(crate) mod occupancy;
pub(crate) mod saved;
