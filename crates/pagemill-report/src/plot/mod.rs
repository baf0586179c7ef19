//! Figures: what to draw, which numbers that means, and how it looks as SVG.

mod declare;

pub use declare::{Bars, HeatMap, Lines, Mean, Plot, PlotForm, StackedBars};
