//! The looks of every page and figure.

/// Rules of figures, with variables for colors.
pub(crate) const PLOT_RULES: &str = include_str!("plot/plot.css");

/// The style of a page: its palettes, its own rules and those of figures.
pub(crate) const STYLE: &str = concat!(
    include_str!("html/style.css"),
    include_str!("plot/plot.css")
);
