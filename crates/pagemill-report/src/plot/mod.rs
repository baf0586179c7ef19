//! Figures: what to draw, which numbers that means, and how it looks as SVG.

mod bars;
mod data;
mod declare;
mod frame;
mod heat;
mod lines;
mod render;
mod scale;
mod stacked;
mod svg;

pub use declare::{Bars, HeatMap, Lines, Mean, Plot, PlotForm, StackedBars};
pub(crate) use render::{Figure, figure};
