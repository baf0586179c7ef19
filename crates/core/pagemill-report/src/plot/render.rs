//! From a declaration to finished images.

use super::data::Source;
use super::frame::Layout;
use super::{bars, heat, lines, stacked, standalone};
use crate::{Plot, PlotForm, Published, ResultSet};

/// A drawn plot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Figure {
    /// One SVG per panel.
    pub images: Vec<String>,
    /// The lowest and the highest value in a sentence; may be empty.
    pub seen: String,
    /// What a reader must know about how it was drawn.
    pub notes: Vec<String>,
}

/// Words around a figure, its room, and what its identifiers begin with.
#[derive(Clone, Copy)]
pub(super) struct Titles<'a> {
    pub prefix: &'a str,
    pub title: &'a str,
    pub published: &'a [Published],
    pub layout: Layout,
    x: &'a str,
    y: &'a str,
}

impl Titles<'_> {
    /// The title of the horizontal axis, or what the rows call it.
    pub fn x_or(&self, default: impl Into<String>) -> String {
        if self.x.is_empty() {
            default.into()
        } else {
            self.x.to_owned()
        }
    }

    /// The title of the vertical axis, or what the rows call it.
    pub fn y_or(&self, default: impl Into<String>) -> String {
        if self.y.is_empty() {
            default.into()
        } else {
            self.y.to_owned()
        }
    }
}

/// Draws `plot` as files of their own, one for each panel: SVG with plain colors that every viewer knows.
pub fn drawings(set: &ResultSet, plot: &Plot) -> Vec<String> {
    let images = figure(set, plot, "f").images;
    images
        .iter()
        .map(|image| standalone::image(image))
        .collect()
}

/// Draws `plot`. `prefix` begins all identifiers, so that figures of one page stay apart.
pub(crate) fn figure(set: &ResultSet, plot: &Plot, prefix: &str) -> Figure {
    draw(set, plot, prefix, Layout::WIDE)
}

/// Draws `plot` for a narrow screen.
pub(crate) fn narrow_figure(set: &ResultSet, plot: &Plot, prefix: &str) -> Figure {
    draw(set, plot, prefix, Layout::NARROW)
}

/// Whether `plot` shows more than one series of two values: less is said by the rows.
pub(crate) fn compares(set: &ResultSet, plot: &Plot) -> bool {
    let source = Source::new(set, plot);
    let (x, series, y) = match &plot.form {
        PlotForm::Bars(form) => (&form.x, &form.series, &form.y),
        PlotForm::Lines(form) => (&form.x, &form.series, &form.y),
        PlotForm::Stacked(_) | PlotForm::HeatMap(_) => return true,
    };
    let keys = (source.keys(x), source.keys(series));
    let grid = source.grid((x, keys.0), (series, keys.1), y);
    let values = grid.values();
    let is_one_series = grid.series.len() < 2;
    values.is_empty()
        || values.len() > 1 + usize::from(is_one_series) && values.iter().any(|value| *value != 0.0)
}

fn draw(set: &ResultSet, plot: &Plot, prefix: &str, layout: Layout) -> Figure {
    let source = Source::new(set, plot);
    let titles = Titles {
        prefix,
        title: &plot.title,
        published: &plot.published,
        layout,
        x: &plot.x_title,
        y: &plot.y_title,
    };
    let panel_by = plot.panel_by.as_deref();
    let mut figure = match &plot.form {
        PlotForm::Bars(form) => bars::draw(form, &source, panel_by, titles),
        PlotForm::Lines(form) => lines::draw(form, &source, panel_by, titles),
        PlotForm::Stacked(form) => stacked::draw(form, &source, panel_by, titles),
        PlotForm::HeatMap(form) => heat::draw(form, &source, panel_by, titles),
    };
    figure.notes.extend(left_out(&plot.form, &source));
    figure
}

/// The rows that the figure has no place for.
fn left_out(form: &PlotForm, source: &Source<'_>) -> Vec<String> {
    match form {
        PlotForm::Bars(bars) => source.left_out(&[&bars.x, &bars.series], &[&bars.y]),
        PlotForm::Lines(lines) => source.left_out(&[&lines.x, &lines.series], &[&lines.y]),
        PlotForm::Stacked(stacked) => source.left_out(&[&stacked.x], &[]),
        PlotForm::HeatMap(heat) => source.left_out(&[&heat.x, &heat.y], &[&heat.value]),
    }
}
