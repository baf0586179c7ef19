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
    /// A marker.
    Dot,
}

/// The names of the series, set in as many lines as they need.
pub(super) struct Legend<'a> {
    items: Vec<(f64, f64, &'a str)>,
    swatch: Swatch,
    /// Whether the last item is the mark of published values.
    published: bool,
}

impl<'a> Legend<'a> {
    /// Places `names` between `left` and `right`, and behind them the mark of published values where there are some.
    pub fn new(
        names: &'a [String],
        swatch: Swatch,
        published: bool,
        (left, right): (f64, f64),
    ) -> Self {
        let published = published && !names.is_empty();
        let (mut x, mut y) = (left, 0.0);
        let mut items = Vec::new();
        let own = names.iter().map(String::as_str);
        for name in own.chain(published.then_some("published")) {
            let width = MARK_WIDTH + text_width(&short(name), 12.5) + GAP;
            if x > left && x + width > right {
                x = left;
                y += LINE_HEIGHT;
            }
            items.push((x, y, name));
            x += width;
        }
        Self {
            items,
            swatch,
            published,
        }
    }

    /// The height of all lines.
    pub fn height(&self) -> f64 {
        self.items.last().map_or(0.0, |(_, y, _)| y + LINE_HEIGHT)
    }

    /// Draws the legend `top` below the upper edge.
    pub fn draw(&self, svg: &mut Svg, prefix: &str, top: f64) {
        for (index, (x, y, name)) in self.items.iter().enumerate() {
            let (x, y) = (*x, top + y);
            let is_published = self.published && index + 1 == self.items.len();
            match self.swatch {
                _ if is_published => marks::published(svg, (x + 2.0, x + 20.0), y + 9.5, name),
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
                Swatch::Dot => marks::marker(svg, index, x + 12.0, y + 9.5, name),
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
