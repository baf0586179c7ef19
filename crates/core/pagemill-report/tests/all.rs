//! Results, tables and reports against models, snapshots and other readers.

mod common;
mod golden;
mod machine_formats;
mod model;
mod report;
mod table;
