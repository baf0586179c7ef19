//! The coordinator, with holders that behave and clients that do not.

mod hostile;
mod running;
mod simulated;
mod tasks;
