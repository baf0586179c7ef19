//! Marks that tell series apart by color and, without color, by pattern or shape.

use std::fmt::Display;

use super::frame::Area;
use super::svg::{Px, Svg};

/// How many colors, patterns and shapes there are.
const STYLE_COUNT: usize = 8;

/// The color of a series, by number.
fn color_of(series: usize) -> usize {
    series % STYLE_COUNT
}

/// The pattern, shape or dash of a series, by number. When colors start over, these are one
/// further on, so that 64 series stay apart.
fn shape_of(series: usize) -> usize {
    (series + series / STYLE_COUNT) % STYLE_COUNT
}

/// Hatches in a square of 6 by 6. The first series is plain.
const HATCHES: [&str; STYLE_COUNT] = [
    "",
    "M-1 1l2 -2M0 6l6 -6M5 7l2 -2",
    "M3 1.5a1.5 1.5 0 1 0 .01 0Z",
    "M-1 5l2 2M0 0l6 6M5 -1l2 2",
    "M0 3h6",
    "M0 6l6 -6M0 0l6 6",
    "M3 0v6",
    "M0 3h6M3 0v6",
];

/// Outlines of markers, drawn from their middle: circle, square, triangle, diamond, triangle
/// upside down, plus, bar, pillar.
const MARKERS: [&str; STYLE_COUNT] = [
    "m-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z",
    "m-4.5 -4.5h9v9h-9z",
    "m0 -5.5l5.5 10h-11z",
    "m0 -6l6 6l-6 6l-6 -6z",
    "m0 5.5l5.5 -10h-11z",
    "m-5 -1.5h3.5v-3.5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5z",
    "m-5 -2h10v4h-10z",
    "m-2 -5h4v10h-4z",
];

/// Defines the hatches of one image.
pub(super) fn define_patterns(svg: &mut Svg, prefix: &str) {
    svg.open("defs", &[]);
    for (index, path) in HATCHES.iter().enumerate().skip(1) {
        let id = format!("{prefix}p{index}");
        svg.open(
            "pattern",
            &[
                ("id", &id),
                ("width", &6),
                ("height", &6),
                ("patternUnits", &"userSpaceOnUse"),
            ],
        );
        svg.leaf("path", &[("d", path), ("class", &"hatch-line")]);
        svg.close();
    }
    svg.close();
}

/// A rectangle in the style of a series, with a tooltip.
pub(super) fn patterned_rect(
    svg: &mut Svg,
    prefix: &str,
    series: usize,
    rect: Area,
    tooltip: &str,
) {
    let class = format!("bar s{}", color_of(series));
    let pattern = format!("url(#{prefix}p{})", shape_of(series));
    let (x, y) = (Px(rect.x), Px(rect.y));
    let (width, height) = (Px(rect.width), Px(rect.height));
    let place: [(&str, &dyn Display); 4] =
        [("x", &x), ("y", &y), ("width", &width), ("height", &height)];
    svg.open("g", &[]);
    svg.text("title", &[], tooltip);
    svg.leaf("rect", &[place.as_slice(), &[("class", &class)]].concat());
    if shape_of(series) > 0 {
        let hatch: [(&str, &dyn Display); 2] = [("class", &"hatch"), ("fill", &pattern)];
        svg.leaf("rect", &[place.as_slice(), &hatch].concat());
    }
    svg.close();
}

/// The class of a line in the style of a series.
pub(super) fn line_class(series: usize) -> String {
    format!("line s{} d{}", color_of(series), shape_of(series))
}

/// The marker of a series at a point, with a tooltip.
pub(super) fn marker(svg: &mut Svg, series: usize, x: f64, y: f64, tooltip: &str) {
    let path = format!("M{} {}{}", Px(x), Px(y), MARKERS[shape_of(series)]);
    let class = format!("marker s{}", color_of(series));
    svg.open("g", &[]);
    svg.text("title", &[], tooltip);
    svg.leaf("path", &[("d", &path), ("class", &class)]);
    svg.close();
}

/// A published value: a thick line from one place to the other at height `y`, with a tooltip.
pub(super) fn published(svg: &mut Svg, (left, right): (f64, f64), y: f64, tooltip: &str) {
    let path = format!(
        "M{left} {y}H{right}M{left} {0}v8M{right} {0}v8",
        Px(y - 4.0),
        left = Px(left),
        right = Px(right),
        y = Px(y),
    );
    svg.open("g", &[]);
    svg.text("title", &[], tooltip);
    svg.leaf(
        "path",
        &[("d", &path), ("class", &"published"), ("fill", &"none")],
    );
    svg.close();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixty_four_series_look_different() {
        let looks: std::collections::BTreeSet<_> = (0..64)
            .map(|series| (color_of(series), shape_of(series)))
            .collect();
        assert_eq!(looks.len(), 64);
    }
}
