//! What all figures share: margins, axes, grid lines, labels, legend.

use super::scale::Scale;
use super::svg::{Px, Svg};
use crate::ColumnKind;
use crate::units::tick;

/// Width of a figure that needs no more.
pub(super) const WIDTH: f64 = 880.0;
/// Height of the area that shows the data.
pub(super) const AREA_HEIGHT: f64 = 250.0;
/// Room on the left for ticks and the axis title.
const LEFT: f64 = 84.0;
/// Room on the right.
const RIGHT: f64 = 18.0;
/// Height of a line of the legend.
const LEGEND_LINE: f64 = 22.0;
/// Labels longer than this are cut; the tooltip has all of it.
const LABEL_CHARS_MAX: usize = 30;
/// Colours and patterns repeat after this many series.
pub(super) const STYLE_COUNT: usize = 8;

/// The rectangle that shows the data.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area {
    /// Left edge.
    pub x: f64,
    /// Upper edge.
    pub y: f64,
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
}

impl Area {
    /// The vertical place of a position between 0 (bottom) and 1 (top).
    pub fn y_at(&self, position: f64) -> f64 {
        self.y + self.height * (1.0 - position)
    }

    /// The bottom edge.
    pub fn bottom(&self) -> f64 {
        self.y + self.height
    }
}

/// What stands around the data.
pub(super) struct Surroundings<'a> {
    /// For screen readers.
    pub label: &'a str,
    /// Heading of the panel, if it is one of several.
    pub panel: Option<&'a str>,
    /// Names of the series; empty for no legend.
    pub legend: &'a [String],
    /// How the legend draws a series.
    pub swatch: Swatch,
    /// Labels below the data, evenly spaced or at own places.
    pub x_labels: &'a [XLabel],
    /// Title of the horizontal axis.
    pub x_title: String,
    /// Title of the vertical axis.
    pub y_title: String,
    /// Room above the data for labels of bars.
    pub head_room: f64,
}

/// A label below the data.
pub(super) struct XLabel {
    /// Its middle, from the left edge of the data.
    pub x: f64,
    /// The room it has.
    pub width: f64,
    /// The words.
    pub text: String,
}

/// How a legend shows a series.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Swatch {
    /// A patterned box.
    Box,
    /// A line with its marker.
    Line,
}

/// Begins a figure whose data area is `width` by `height`, and draws everything around it.
pub(super) fn begin(
    width: f64,
    height: f64,
    prefix: &str,
    around: &Surroundings<'_>,
) -> (Svg, Area) {
    let total_width = LEFT + width + RIGHT;
    let legend_lines = legend_layout(around.legend, total_width);
    let legend_height = legend_lines.last().map_or(0.0, |item| item.1 + LEGEND_LINE);
    let panel_height = if around.panel.is_some() { 24.0 } else { 0.0 };
    let top = panel_height + legend_height + around.head_room.max(12.0);
    let tilt = labels_tilt(around.x_labels);
    let label_height = labels_height(around.x_labels, tilt);
    let title_height = if around.x_title.is_empty() { 6.0 } else { 24.0 };
    let area = Area {
        x: LEFT,
        y: top,
        width,
        height,
    };
    let total_height = area.bottom() + label_height + title_height;

    let mut svg = Svg::new(total_width, total_height, around.label);
    if around.swatch == Swatch::Box {
        define_patterns(&mut svg, prefix);
    }
    if let Some(panel) = around.panel {
        svg.text(
            "text",
            &[("x", &Px(LEFT)), ("y", &16), ("class", &"panel")],
            panel,
        );
    }
    for (index, (x, y)) in legend_lines.into_iter().enumerate() {
        draw_legend_item(&mut svg, prefix, around, index, x, panel_height + y);
    }
    draw_x_labels(&mut svg, &area, around.x_labels, tilt);
    let middle = area.x + area.width / 2.0;
    svg.text(
        "text",
        &[
            ("x", &Px(middle)),
            ("y", &Px(total_height - 6.0)),
            ("text-anchor", &"middle"),
            ("class", &"axis-title"),
        ],
        &around.x_title,
    );
    let (x, y) = (14.0, area.y + area.height / 2.0);
    let turn = format!("rotate(-90 {} {})", Px(x), Px(y));
    svg.text(
        "text",
        &[
            ("x", &Px(x)),
            ("y", &Px(y)),
            ("text-anchor", &"middle"),
            ("transform", &turn),
            ("class", &"axis-title"),
        ],
        &around.y_title,
    );
    (svg, area)
}

/// Grid lines and tick labels of the vertical axis.
pub(super) fn draw_y_axis(svg: &mut Svg, area: &Area, scale: &Scale, kind: ColumnKind) {
    for value in scale.ticks(kind) {
        let y = area.y_at(scale.position(value));
        line(svg, "grid", (area.x, y), (area.x + area.width, y));
        svg.text(
            "text",
            &[
                ("x", &Px(area.x - 8.0)),
                ("y", &Px(y + 4.0)),
                ("text-anchor", &"end"),
                ("class", &"tick"),
            ],
            &tick(value, kind),
        );
    }
}

/// The lines at the left and at the foot of the data.
pub(super) fn draw_axis_lines(svg: &mut Svg, area: &Area, base: f64) {
    let right = area.x + area.width;
    line(svg, "axis", (area.x, area.y), (area.x, area.bottom()));
    line(svg, "axis", (area.x, base), (right, base));
}

/// A straight line.
pub(super) fn line(svg: &mut Svg, class: &str, from: (f64, f64), to: (f64, f64)) {
    svg.leaf(
        "line",
        &[
            ("x1", &Px(from.0)),
            ("y1", &Px(from.1)),
            ("x2", &Px(to.0)),
            ("y2", &Px(to.1)),
            ("class", &class),
        ],
    );
}

/// A patterned rectangle in the style of a series, with a tooltip.
pub(super) fn patterned_rect(svg: &mut Svg, prefix: &str, style: usize, rect: Area, tooltip: &str) {
    let color = format!("bar s{}", style % STYLE_COUNT);
    let pattern = format!("url(#{prefix}p{})", style % STYLE_COUNT);
    svg.open("g", &[]);
    svg.text("title", &[], tooltip);
    for (class, fill) in [(color.as_str(), None), ("hatch", Some(pattern))] {
        // The first series is plain.
        if fill.is_some() && style.is_multiple_of(STYLE_COUNT) {
            continue;
        }
        let (x, y) = (Px(rect.x), Px(rect.y));
        let (width, height) = (Px(rect.width), Px(rect.height));
        let mut attributes: Vec<(&str, &dyn std::fmt::Display)> = vec![
            ("x", &x),
            ("y", &y),
            ("width", &width),
            ("height", &height),
            ("class", &class),
        ];
        if let Some(fill) = &fill {
            attributes.push(("fill", fill));
        }
        svg.leaf("rect", &attributes);
    }
    svg.close();
}

/// The marker of a series at a point.
pub(super) fn marker(svg: &mut Svg, style: usize, x: f64, y: f64, tooltip: &str) {
    const R: f64 = 4.5;
    let shape = match style % STYLE_COUNT {
        0 => format!(
            "M{} {}a{R} {R} 0 1 0 {} 0a{R} {R} 0 1 0 {} 0Z",
            Px(x - R),
            Px(y),
            2.0 * R,
            -2.0 * R
        ),
        1 => polygon(x, y, &[(-R, -R), (R, -R), (R, R), (-R, R)]),
        2 => polygon(x, y, &[(0.0, -R - 1.0), (R + 1.0, R), (-R - 1.0, R)]),
        3 => polygon(
            x,
            y,
            &[
                (0.0, -R - 1.5),
                (R + 1.5, 0.0),
                (0.0, R + 1.5),
                (-R - 1.5, 0.0),
            ],
        ),
        4 => polygon(x, y, &[(0.0, R + 1.0), (R + 1.0, -R), (-R - 1.0, -R)]),
        5 => polygon(
            x,
            y,
            &[
                (-R, -1.5),
                (-1.5, -1.5),
                (-1.5, -R),
                (1.5, -R),
                (1.5, -1.5),
                (R, -1.5),
                (R, 1.5),
                (1.5, 1.5),
                (1.5, R),
                (-1.5, R),
                (-1.5, 1.5),
                (-R, 1.5),
            ],
        ),
        6 => polygon(x, y, &[(-R, -2.0), (R, -2.0), (R, 2.0), (-R, 2.0)]),
        _ => polygon(x, y, &[(-2.0, -R), (2.0, -R), (2.0, R), (-2.0, R)]),
    };
    let class = format!("marker s{}", style % STYLE_COUNT);
    svg.open("g", &[]);
    svg.text("title", &[], tooltip);
    svg.leaf("path", &[("d", &shape), ("class", &class)]);
    svg.close();
}

fn polygon(x: f64, y: f64, corners: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (index, (dx, dy)) in corners.iter().enumerate() {
        let command = if index == 0 { 'M' } else { 'L' };
        path += &format!("{command}{} {}", Px(x + dx), Px(y + dy));
    }
    path + "Z"
}

/// Room `text` needs, roughly, at a font size.
pub(super) fn text_width(text: &str, font_px: f64) -> f64 {
    let ems = text
        .chars()
        .map(|c| if u32::from(c) >= 0x1100 { 1.0 } else { 0.56 });
    ems.sum::<f64>() * font_px
}

/// `text`, or its beginning if it is too long for a label.
pub(super) fn short(text: &str) -> String {
    if text.chars().count() <= LABEL_CHARS_MAX {
        return text.to_owned();
    }
    text.chars()
        .take(LABEL_CHARS_MAX - 1)
        .chain(['…'])
        .collect()
}

fn legend_layout(names: &[String], total_width: f64) -> Vec<(f64, f64)> {
    let (mut x, mut y) = (LEFT, 0.0);
    let mut places = Vec::new();
    for name in names {
        let width = 28.0 + text_width(&short(name), 12.5) + 18.0;
        if x > LEFT && x + width > total_width {
            x = LEFT;
            y += LEGEND_LINE;
        }
        places.push((x, y));
        x += width;
    }
    places
}

fn draw_legend_item(
    svg: &mut Svg,
    prefix: &str,
    around: &Surroundings<'_>,
    index: usize,
    x: f64,
    y: f64,
) {
    let name = &around.legend[index];
    match around.swatch {
        Swatch::Box => {
            let rect = Area {
                x,
                y: y + 3.0,
                width: 20.0,
                height: 13.0,
            };
            patterned_rect(svg, prefix, index, rect, name);
        }
        Swatch::Line => {
            let class = format!("line s{0} d{0}", index % STYLE_COUNT);
            line(svg, &class, (x, y + 9.5), (x + 24.0, y + 9.5));
            marker(svg, index, x + 12.0, y + 9.5, name);
        }
    }
    let attributes: &[(&str, &dyn std::fmt::Display)] = &[
        ("x", &Px(x + 28.0)),
        ("y", &Px(y + 14.0)),
        ("class", &"legend"),
    ];
    svg.text("text", attributes, &short(name));
}

fn labels_tilt(labels: &[XLabel]) -> bool {
    labels
        .iter()
        .any(|label| text_width(&short(&label.text), 12.0) > label.width - 4.0)
}

fn labels_height(labels: &[XLabel], tilt: bool) -> f64 {
    if !tilt {
        return 22.0;
    }
    let longest = labels
        .iter()
        .map(|label| text_width(&short(&label.text), 12.0))
        .fold(0.0, f64::max);
    // Tilted by 35 degrees.
    longest * 0.574 + 24.0
}

fn draw_x_labels(svg: &mut Svg, area: &Area, labels: &[XLabel], tilt: bool) {
    for label in labels {
        let (x, y) = (
            area.x + label.x,
            area.bottom() + if tilt { 14.0 } else { 17.0 },
        );
        let turn = format!("rotate(-35 {} {})", Px(x), Px(y));
        let mut attributes: Vec<(&str, &dyn std::fmt::Display)> = vec![("class", &"category")];
        let (px, py) = (Px(x), Px(y));
        attributes.extend([("x", &px as &dyn std::fmt::Display), ("y", &py)]);
        attributes.push(("text-anchor", if tilt { &"end" } else { &"middle" }));
        if tilt {
            attributes.push(("transform", &turn));
        }
        svg.text("text", &attributes, &short(&label.text));
    }
}

/// Hatches that tell series apart without colour. The first series has none.
fn define_patterns(svg: &mut Svg, prefix: &str) {
    const LINES: [&str; STYLE_COUNT] = [
        "",
        "M-1 1l2 -2M0 6l6 -6M5 7l2 -2",
        "M3 1.5a1.5 1.5 0 1 0 .01 0Z",
        "M-1 5l2 2M0 0l6 6M5 -1l2 2",
        "M0 3h6",
        "M0 6l6 -6M0 0l6 6",
        "M3 0v6",
        "M0 3h6M3 0v6",
    ];
    svg.open("defs", &[]);
    for (index, path) in LINES.iter().enumerate().skip(1) {
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
