//! Figures: what to draw, which numbers that means, and how it looks as SVG.

mod bar_painter;
mod bars;
mod caption;
mod data;
mod declare;
mod frame;
mod heat;
mod legend;
mod lines;
mod marks;
mod render;
mod scale;
mod stacked;
mod standalone;
mod svg;

pub use declare::{Bars, HeatMap, Lines, Mean, Plot, PlotForm, Published, StackedBars};
pub use render::drawings;
pub(crate) use render::{Figure, compares, figure, narrow_figure};

#[cfg(test)]
mod tests;
