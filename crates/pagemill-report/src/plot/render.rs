//! From a declaration to finished images.

use super::data::Source;
use super::{bars, heat, lines, stacked};
use crate::html::STYLE;
use crate::{Plot, PlotForm, ResultSet};

/// A drawn plot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Figure {
    /// One SVG per panel.
    pub images: Vec<String>,
    /// What a reader must know about how it was drawn.
    pub notes: Vec<String>,
}

/// Words around a figure, and what its identifiers begin with.
#[derive(Clone, Copy)]
pub(super) struct Titles<'a> {
    pub prefix: &'a str,
    pub title: &'a str,
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

/// Draws `plot` as files of their own, one for each panel: SVG that brings its colors, light and dark.
pub fn drawings(set: &ResultSet, plot: &Plot) -> Vec<String> {
    let standalone = |image: String| match image.split_once('>') {
        Some((head, rest)) => {
            let head = head.replacen("<svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"", 1);
            format!("{head}><style>{STYLE}</style>{rest}")
        }
        None => image,
    };
    figure(set, plot, "f")
        .images
        .into_iter()
        .map(standalone)
        .collect()
}

/// Draws `plot`. `prefix` begins all identifiers, so that figures of one page stay apart.
pub(crate) fn figure(set: &ResultSet, plot: &Plot, prefix: &str) -> Figure {
    let source = Source::new(set, plot);
    let titles = Titles {
        prefix,
        title: &plot.title,
        x: &plot.x_title,
        y: &plot.y_title,
    };
    let panel_by = plot.panel_by.as_deref();
    match &plot.form {
        PlotForm::Bars(form) => bars::draw(form, &source, panel_by, titles),
        PlotForm::Lines(form) => lines::draw(form, &source, panel_by, titles),
        PlotForm::Stacked(form) => stacked::draw(form, &source, panel_by, titles),
        PlotForm::HeatMap(form) => heat::draw(form, &source, panel_by, titles),
    }
}
