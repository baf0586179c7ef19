//! Puts bars, their cuts and their labels on the page.

use super::frame::{self, AREA_HEIGHT, Area, Surroundings, XLabel};
use super::marks;
use super::scale::Scale;
use super::svg::{Px, Svg};
use crate::ColumnKind;
use crate::units::human_number;

/// Narrower bars carry no value label.
const LABELED_BAR_MIN: f64 = 8.0;
const BAR_MIN: f64 = 10.0;
const BAR_MAX: f64 = 44.0;
/// Share of a group's width that stays empty.
const GAP: f64 = 0.22;
/// A figure does not grow wider than this however many bars it has.
const WIDTH_MAX: f64 = 6000.0;
/// A bar of next to nothing is still a bar.
const BAR_HEIGHT_MIN: f64 = 0.75;
const LABEL_PX: f64 = 10.5;

/// What one panel shows.
pub(super) struct BarTable {
    /// Names of the groups.
    pub groups: Vec<String>,
    /// Names of the bars in each group.
    pub series: Vec<String>,
    /// By group, then by series.
    pub values: Vec<Vec<Option<f64>>>,
    /// Published values with the group and the series that each is for.
    pub published: Vec<(usize, usize, f64)>,
}

/// The width that the bars of `table` need at least.
pub(super) fn width_of(table: &BarTable) -> f64 {
    (table.groups.len() * table.series.len()) as f64 * BAR_MIN / (1.0 - GAP)
}

impl BarTable {
    /// Whether any bar is higher than `cap`.
    pub fn exceeds(&self, cap: f64) -> bool {
        self.values
            .iter()
            .flatten()
            .flatten()
            .any(|value| *value > cap)
    }
}

/// How the bars of a panel are drawn: on a logarithmic axis as dots, whose height says all that a length would hide.
pub(super) struct BarPainter {
    /// Begins the identifiers of the panel.
    pub prefix: String,
    /// Heights.
    pub scale: Scale,
    /// What the heights count.
    pub kind: ColumnKind,
    /// Where higher bars are cut.
    pub cap: Option<f64>,
    /// A height to mark across all groups.
    pub reference: Option<f64>,
}

/// A bar with its place.
struct Bar {
    rect: Area,
    style: usize,
    name: String,
    /// The words over it; none where there is no value.
    label: Option<String>,
    is_cut: bool,
    /// Whether the scale has a place for the value.
    is_shown: bool,
}

impl BarPainter {
    /// Draws the panel.
    pub fn paint(&self, table: &BarTable, around: Surroundings<'_>) -> String {
        let group_count = table.groups.len().max(1) as f64;
        let series_count = table.series.len().max(1) as f64;
        let filled = 1.0 - GAP;
        let bar_min = BAR_MIN.min(WIDTH_MAX / group_count * filled / series_count);
        let room = around.layout.width / group_count;
        let bar_width = (room * filled / series_count).clamp(bar_min, BAR_MAX);
        let group_width = (bar_width * series_count / filled).max(room);
        let middle_of = |group: usize| (group as f64 + 0.5) * group_width;
        let label = |(index, text): (usize, &String)| XLabel {
            x: middle_of(index),
            width: group_width,
            text: text.clone(),
        };
        let labels: Vec<XLabel> = table.groups.iter().enumerate().map(label).collect();
        let around = Surroundings {
            x_labels: &labels,
            ..around
        };
        let width = group_width * group_count;
        let (mut svg, area) = frame::begin(width, AREA_HEIGHT, &self.prefix, &around);
        frame::draw_y_axis(&mut svg, &area, &self.scale, self.kind);

        let mut bars = Vec::new();
        for (g, group) in table.values.iter().enumerate() {
            let left = area.x + middle_of(g) - bar_width * series_count / 2.0;
            for (s, value) in group.iter().enumerate() {
                let name = format!("{}, {}", table.groups[g], table.series[s]);
                let x = left + s as f64 * bar_width;
                bars.push(self.bar(&area, (x, bar_width), s, *value, name));
            }
        }
        self.paint_bars(&mut svg, &area, &bars);
        for &(group, series, value) in &table.published {
            let measured = table.values.get(group).and_then(|values| values[series]);
            let left = area.x + middle_of(group) + (series as f64 - series_count / 2.0) * bar_width;
            self.paint_published(&mut svg, &area, (left, bar_width), value, measured);
        }
        svg.finish()
    }

    fn paint_published(
        &self,
        svg: &mut Svg,
        area: &Area,
        (left, width): (f64, f64),
        value: f64,
        measured: Option<f64>,
    ) {
        let here = measured.map_or_else(String::new, |here| format!("; here {}", self.label(here)));
        let name = format!("published: {}{here}", self.label(value));
        let y = area.y_at(self.scale.position(value));
        marks::published(svg, (left - 1.0, left + width + 1.0), y, &name);
    }

    fn bar(
        &self,
        area: &Area,
        (x, width): (f64, f64),
        style: usize,
        value: Option<f64>,
        name: String,
    ) -> Bar {
        let y_at = |value: f64| area.y_at(self.scale.position(value));
        let value = value.filter(|value| value.is_finite());
        let shown = value.filter(|value| self.scale.can_show(*value));
        let base = y_at(self.scale.base());
        let end = shown.map_or(base, y_at);
        let height_min = if self.scale.is_log() {
            0.0
        } else {
            BAR_HEIGHT_MIN
        };
        let height = (base - end).abs().max(height_min);
        let top = if end <= base { base - height } else { base };
        Bar {
            rect: Area {
                x: x + 0.5,
                y: top,
                width: (width - 1.0).max(0.5),
                height,
            },
            style,
            name,
            label: value.map(|value| self.label(value)),
            is_shown: shown.is_some(),
            is_cut: shown.zip(self.cap).is_some_and(|(value, cap)| value > cap),
        }
    }

    /// Labels come last, so that no line crosses them.
    fn paint_bars(&self, svg: &mut Svg, area: &Area, bars: &[Bar]) {
        for bar in bars {
            let Some(label) = &bar.label else { continue };
            let tooltip = format!("{}: {label}", bar.name);
            if self.scale.is_log() {
                if bar.is_shown {
                    let x = bar.rect.x + bar.rect.width / 2.0;
                    marks::marker(svg, bar.style, x, bar.rect.y, &tooltip);
                }
                continue;
            }
            marks::patterned_rect(svg, &self.prefix, bar.style, bar.rect, &tooltip);
            if bar.is_cut {
                break_mark(svg, &bar.rect);
            }
        }
        let base = area.y_at(self.scale.position(self.scale.base()));
        frame::draw_axis_lines(svg, area, base);
        if let Some(reference) = self.reference.filter(|value| *value <= self.scale.max()) {
            let y = area.y_at(self.scale.position(reference));
            frame::line(svg, "reference", (area.x, y), (area.x + area.width, y));
        }
        let lift = if self.scale.is_log() { 5.0 } else { 0.0 };
        for bar in bars {
            paint_label(svg, bar, lift);
        }
    }

    /// Two decimals are enough for multiples below one.
    fn label(&self, value: f64) -> String {
        if self.kind == ColumnKind::Number && (0.01..1.0).contains(&value) {
            return format!("{value:.2}");
        }
        human_number(value, self.kind)
    }
}

/// Writes the value `lift` higher than right over the bar.
fn paint_label(svg: &mut Svg, bar: &Bar, lift: f64) {
    let (x, y) = (bar.rect.x + bar.rect.width / 2.0, bar.rect.y - 4.0 - lift);
    let Some(text) = &bar.label else {
        upright_text(
            svg,
            (x, y),
            "no-value",
            "n/a",
            &format!("{}: no value", bar.name),
        );
        return;
    };
    if bar.rect.width + 1.0 < LABELED_BAR_MIN {
        return;
    }
    let class = if bar.is_cut { "value cut" } else { "value" };
    if frame::text_width(text, LABEL_PX) <= bar.rect.width + 1.0 {
        frame::label(svg, (x, y), "middle", class, text);
    } else {
        upright_text(svg, (x, y), class, text, "");
    }
}

/// Text that reads upwards from `at`.
fn upright_text(svg: &mut Svg, at: (f64, f64), class: &str, text: &str, tooltip: &str) {
    // A third of the font's height puts the middle of the letters over the bar.
    let at = (at.0 + LABEL_PX / 3.0, at.1);
    svg.open("g", &[]);
    if !tooltip.is_empty() {
        svg.text("title", &[], tooltip);
    }
    frame::turned_label(svg, at, -90.0, "start", class, text);
    svg.close();
}

/// A slanted gap near the top of a bar that goes on further than drawn.
fn break_mark(svg: &mut Svg, bar: &Area) {
    const DEPTH: f64 = 14.0;
    const SLANT: f64 = 3.0;
    const WIDTH: f64 = 4.5;
    let y = bar.y + DEPTH;
    let (left, right) = (bar.x - 2.0, bar.x + bar.width + 2.0);
    let path = format!(
        "M{left} {0}L{right} {1}L{right} {2}L{left} {3}Z",
        Px(y + SLANT),
        Px(y - SLANT),
        Px(y - SLANT + WIDTH),
        Px(y + SLANT + WIDTH),
        left = Px(left),
        right = Px(right),
    );
    svg.leaf("path", &[("d", &path), ("class", &"break")]);
    frame::line(svg, "break-edge", (left, y + SLANT), (right, y - SLANT));
    frame::line(
        svg,
        "break-edge",
        (left, y + SLANT + WIDTH),
        (right, y - SLANT + WIDTH),
    );
}
