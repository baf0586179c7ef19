//! Results to tables, JSON, CSV, one-file HTML and Perfetto timelines.
//!
//! Knows nothing of what was simulated: a [`ResultSet`] is rows of named values with a description
//! of their columns, a [`Timeline`] is tracks with spans and counters.
#![forbid(unsafe_code)]

mod claims;
mod compare;
pub mod csv;
mod distinguish;
pub mod html;
pub mod json;
mod map;
mod model;
#[cfg(not(target_family = "wasm"))]
mod output_dir;
pub mod pages;
#[cfg(not(target_family = "wasm"))]
pub mod parquet;
pub mod perfetto;
mod plot;
mod read;
pub mod sarif;
#[cfg(not(target_family = "wasm"))]
mod seal;
pub mod site;
mod style;
#[cfg(not(target_family = "wasm"))]
pub mod table;
pub mod timeline;
mod units;

pub use claims::{ClaimSpec, Expectation, Measure, Reduce, Selection, evaluate};
pub use compare::{CompareError, Comparison, Terms, compare};
pub use distinguish::distinguish;
pub use map::PageMap;
pub use model::{
    Claim, Column, ColumnKind, ColumnRole, DescriptionEntry, DescriptionSection, Fact, Finding,
    ResultSet, ResultSetError, Row, Summary, Value, metric,
};
#[cfg(not(target_family = "wasm"))]
pub use output_dir::{OutputDir, OutputDirError};
pub use plot::{Bars, HeatMap, Lines, Mean, Plot, PlotForm, Published, StackedBars, drawings};
pub use read::{ReadError, read};
pub use timeline::Timeline;
pub use units::{heading, human, shorten};
