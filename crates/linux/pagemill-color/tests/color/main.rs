//! The coordinator, with holders that behave and clients that do not.

mod hostile;
mod resctrl;
mod running;
mod simulated;
mod tasks;
