//! What all figures share: margins, axes, grid lines, labels, legend.

use super::legend::{Legend, Swatch};
use super::marks;
use super::scale::Scale;
use super::svg::{Attributes, Px, Svg};
use crate::ColumnKind;
use crate::units::tick;

/// How much room a figure has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Layout {
    /// Width of the data where it needs no more.
    pub width: f64,
    /// Labels longer than this are cut; the tooltip has all of it.
    label_chars: usize,
}

impl Layout {
    /// A page.
    pub const WIDE: Self = Self {
        width: 880.0,
        label_chars: 30,
    };
    /// Half of a page, for panels side by side.
    const HALF: Self = Self {
        width: 400.0,
        label_chars: 18,
    };
    /// A phone.
    pub const NARROW: Self = Self {
        width: 250.0,
        label_chars: 14,
    };

    /// The room of each of `count` panels whose data need `width`.
    pub fn of_panels(self, count: usize, width: f64) -> Self {
        if self == Self::WIDE && count > 1 && width <= Self::HALF.width {
            Self::HALF
        } else {
            self
        }
    }
}

/// Height of the area that shows the data.
pub(super) const AREA_HEIGHT: f64 = 250.0;
/// Room on the left for ticks and the axis title.
const LEFT: f64 = 84.0;
/// Room on the right.
const RIGHT: f64 = 18.0;
/// Labels that do not fit level are tilted.
const TILT_DEGREES: f64 = 35.0;

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
    /// The room.
    pub layout: Layout,
    /// For screen readers.
    pub label: &'a str,
    /// Heading of the panel, if it is one of several.
    pub panel: Option<&'a str>,
    /// Names of the series; empty for no legend.
    pub legend: &'a [String],
    /// How the legend draws a series.
    pub swatch: Swatch,
    /// Whether the legend explains the marks of published values.
    pub published: bool,
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

/// Begins a figure whose data area is `width` by `height`, and draws everything around it.
pub(super) fn begin(
    width: f64,
    height: f64,
    prefix: &str,
    around: &Surroundings<'_>,
) -> (Svg, Area) {
    let chars = around.layout.label_chars;
    let tilt = labels_tilt(around.x_labels, chars);
    let left = if tilt {
        LEFT + overhang(around.x_labels, chars)
    } else {
        LEFT
    };
    let total_width = left + width + RIGHT;
    let legend_right = total_width.min(left + around.layout.width + RIGHT);
    let legend = Legend::new(
        around.legend,
        around.swatch,
        around.published,
        (left, legend_right),
    );
    let panel_height = if around.panel.is_some() { 24.0 } else { 0.0 };
    let y = panel_height + legend.height() + around.head_room.max(12.0);
    let area = Area {
        x: left,
        y,
        width,
        height,
    };
    let label_height = labels_height(around.x_labels, chars, tilt);
    let total_height = area.bottom() + label_height + 24.0;

    let mut svg = Svg::new(total_width, total_height, around.label);
    if around.swatch == Swatch::Box {
        marks::define_patterns(&mut svg, prefix);
    }
    label(
        &mut svg,
        (left, 16.0),
        "start",
        "panel",
        around.panel.unwrap_or(""),
    );
    legend.draw(&mut svg, prefix, panel_height);
    draw_x_labels(&mut svg, &area, around.x_labels, chars, tilt);
    let middle = area.x + area.width / 2.0;
    label(
        &mut svg,
        (middle, total_height - 6.0),
        "middle",
        "axis-title",
        &around.x_title,
    );
    let at = (area.x - LEFT + 14.0, area.y + area.height / 2.0);
    turned_label(&mut svg, at, -90.0, "middle", "axis-title", &around.y_title);
    (svg, area)
}

/// Grid lines and tick labels of the vertical axis.
pub(super) fn draw_y_axis(svg: &mut Svg, area: &Area, scale: &Scale, kind: ColumnKind) {
    for value in scale.ticks(kind) {
        let y = area.y_at(scale.position(value));
        line(svg, "grid", (area.x, y), (area.x + area.width, y));
        label(
            svg,
            (area.x - 8.0, y + 4.0),
            "end",
            "tick",
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

/// Level text; nothing where there are no words.
pub(super) fn label(svg: &mut Svg, at: (f64, f64), anchor: &str, class: &str, text: &str) {
    if text.is_empty() {
        return;
    }
    let attributes: Attributes<'_> = &[
        ("x", &Px(at.0)),
        ("y", &Px(at.1)),
        ("text-anchor", &anchor),
        ("class", &class),
    ];
    svg.text("text", attributes, text);
}

/// Text turned clockwise around `at`.
pub(super) fn turned_label(
    svg: &mut Svg,
    at: (f64, f64),
    degrees: f64,
    anchor: &str,
    class: &str,
    text: &str,
) {
    let (x, y) = (Px(at.0), Px(at.1));
    let turn = format!("rotate({} {x} {y})", Px(degrees));
    let attributes: Attributes<'_> = &[
        ("x", &x),
        ("y", &y),
        ("text-anchor", &anchor),
        ("transform", &turn),
        ("class", &class),
    ];
    svg.text("text", attributes, text);
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
    short_to(text, Layout::WIDE.label_chars)
}

fn short_to(text: &str, chars: usize) -> String {
    if text.chars().count() <= chars {
        return text.to_owned();
    }
    text.chars().take(chars - 1).chain(['…']).collect()
}

fn labels_tilt(labels: &[XLabel], chars: usize) -> bool {
    labels
        .iter()
        .any(|label| text_width(&short_to(&label.text, chars), 12.0) > label.width - 4.0)
}

/// How far tilted labels reach beyond the left edge.
fn overhang(labels: &[XLabel], chars: usize) -> f64 {
    let reach = |label: &XLabel| {
        text_width(&short_to(&label.text, chars), 12.0) * TILT_DEGREES.to_radians().cos() + 10.0
            - LEFT
            - label.x
    };
    labels.iter().map(reach).fold(0.0, f64::max)
}

fn labels_height(labels: &[XLabel], chars: usize, tilt: bool) -> f64 {
    if !tilt {
        return 22.0;
    }
    let longest = labels
        .iter()
        .map(|label| text_width(&short_to(&label.text, chars), 12.0))
        .fold(0.0, f64::max);
    longest * TILT_DEGREES.to_radians().sin() + 26.0
}

fn draw_x_labels(svg: &mut Svg, area: &Area, labels: &[XLabel], chars: usize, tilt: bool) {
    for item in labels {
        let (x, text) = (area.x + item.x, short_to(&item.text, chars));
        if tilt {
            let at = (x, area.bottom() + 14.0);
            turned_label(svg, at, -TILT_DEGREES, "end", "category", &text);
        } else {
            label(svg, (x, area.bottom() + 17.0), "middle", "category", &text);
        }
    }
}
