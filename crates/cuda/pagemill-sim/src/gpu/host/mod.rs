//! The host side: memory, copies and launches as a program asks for them, and when they are done.

pub(crate) mod allocated;
pub(crate) mod built_in;
pub(crate) mod children;
pub(crate) mod detail;
pub(crate) mod device;
pub(crate) mod issue_rate;
pub(crate) mod placing;
pub(crate) mod program;
pub(crate) mod report;
pub(crate) mod runtime;
pub(crate) mod sampled;
pub(crate) mod sampling;
pub(crate) mod timing_model;
pub(crate) mod waiting;
