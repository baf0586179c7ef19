//! Which mark belongs to which series.

use super::frame::{Area, label, line, short, text_width};
use super::marks;
use super::svg::Svg;

const LINE_HEIGHT: f64 = 22.0;
const MARK_WIDTH: f64 = 28.0;
const GAP: f64 = 18.0;

/// How a legend shows a series.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Swatch {
    /// A patterned box.
    Box,
    /// A line with its marker.
    Line,
}

/// The names of the series, set in as many lines as they need.
pub(super) struct Legend<'a> {
    items: Vec<(f64, f64, &'a str)>,
    swatch: Swatch,
}

impl<'a> Legend<'a> {
    /// Places `names` between `left` and `right`.
    pub fn new(names: &'a [String], swatch: Swatch, left: f64, right: f64) -> Self {
        let (mut x, mut y) = (left, 0.0);
        let mut items = Vec::new();
        for name in names {
            let width = MARK_WIDTH + text_width(&short(name), 12.5) + GAP;
            if x > left && x + width > right {
                x = left;
                y += LINE_HEIGHT;
            }
            items.push((x, y, name.as_str()));
            x += width;
        }
        Self { items, swatch }
    }

    /// The height of all lines.
    pub fn height(&self) -> f64 {
        self.items.last().map_or(0.0, |(_, y, _)| y + LINE_HEIGHT)
    }

    /// Draws the legend `top` below the upper edge.
    pub fn draw(&self, svg: &mut Svg, prefix: &str, top: f64) {
        for (index, (x, y, name)) in self.items.iter().enumerate() {
            let (x, y) = (*x, top + y);
            match self.swatch {
                Swatch::Box => {
                    let rect = Area {
                        x,
                        y: y + 3.0,
                        width: 20.0,
                        height: 13.0,
                    };
                    marks::patterned_rect(svg, prefix, index, rect, name);
                }
                Swatch::Line => {
                    line(
                        svg,
                        &marks::line_class(index),
                        (x, y + 9.5),
                        (x + 24.0, y + 9.5),
                    );
                    marks::marker(svg, index, x + 12.0, y + 9.5, name);
                }
            }
            label(
                svg,
                (x + MARK_WIDTH, y + 14.0),
                "start",
                "legend",
                &short(name),
            );
        }
    }
}
