//! Groups of bars side by side.

use super::data::{Grid, Source};
use super::frame::{self, AREA_HEIGHT, Area, Surroundings, Swatch, WIDTH, XLabel};
use super::render::{Figure, Titles};
use super::scale::Scale;
use super::svg::{Px, Svg};
use crate::units::human_number;
use crate::{Bars, ColumnKind, Mean};

/// Narrower bars carry no value label.
const LABELLED_BAR_MIN: f64 = 8.0;
const BAR_MIN: f64 = 10.0;
const BAR_MAX: f64 = 44.0;
/// Share of a group's width that stays empty.
const GAP: f64 = 0.22;
/// Room for value labels that stand upright.
const HEAD_ROOM: f64 = 46.0;
/// A figure does not grow wider than this however many bars it has.
const WIDTH_MAX: f64 = 6000.0;

/// What one panel shows.
struct BarTable {
    groups: Vec<String>,
    series: Vec<String>,
    /// By group, then by series.
    values: Vec<Vec<Option<f64>>>,
}

pub(super) fn draw(
    bars: &Bars,
    source: &Source<'_>,
    panel_by: Option<&str>,
    titles: Titles<'_>,
) -> Figure {
    let normalised = bars.normalise_to.is_some();
    let kind = if normalised {
        ColumnKind::Number
    } else {
        source.kind(&bars.y)
    };
    let series = source.keys(&bars.series);
    let mut notes = Vec::new();
    let mut panels = Vec::new();
    for (label, rows) in source.panels(panel_by) {
        let grid = rows.grid(
            (&bars.x, rows.keys(&bars.x)),
            (&bars.series, series.clone()),
            &bars.y,
        );
        panels.push((label, table(bars, &grid, &mut notes)));
    }
    let scale = scale_of(bars, kind, panels.iter().map(|(_, table)| table));
    let legend: Vec<String> = series.iter().map(|key| key.label.clone()).collect();
    if let Some(cap) = bars.y_cap {
        let is_over = |table: &BarTable| table.values.iter().flatten().flatten().any(|v| *v > cap);
        if panels.iter().any(|(_, table)| is_over(table)) {
            notes.push(format!(
                "Bars over {} are cut; the label is the true value.",
                human_number(cap, kind)
            ));
        }
    }
    let default_y = default_y_title(bars, source, &series);
    let images = panels.iter().enumerate().map(|(index, (label, table))| {
        let painter = Painter {
            prefix: format!("{}n{index}", titles.prefix),
            scale,
            kind,
            cap: bars.y_cap,
        };
        let around = Surroundings {
            label: titles.title,
            panel: label.as_deref(),
            legend: &legend,
            swatch: Swatch::Box,
            x_labels: &[],
            x_title: titles.x_or(source.heading(&bars.x)),
            y_title: titles.y_or(default_y.clone()),
            head_room: HEAD_ROOM,
        };
        painter.paint(table, around, normalised)
    });
    let images = images.collect();
    notes.dedup();
    Figure { images, notes }
}

fn default_y_title(bars: &Bars, source: &Source<'_>, series: &[super::data::Key]) -> String {
    let heading = source.heading(&bars.y);
    match &bars.normalise_to {
        Some(base) => {
            let label = series
                .iter()
                .find(|key| key.value == *base)
                .map(|key| key.label.clone());
            format!(
                "{heading} / {heading} of {}",
                label.unwrap_or_else(|| base.to_string())
            )
        }
        None => heading,
    }
}

fn table(bars: &Bars, grid: &Grid, notes: &mut Vec<String>) -> BarTable {
    let base = bars.normalise_to.as_ref();
    let base_index = base.and_then(|base| grid.series.iter().position(|key| key.value == *base));
    let mut table = BarTable {
        groups: grid.xs.iter().map(|key| key.label.clone()).collect(),
        series: grid.series.iter().map(|key| key.label.clone()).collect(),
        values: Vec::new(),
    };
    for x in 0..grid.xs.len() {
        let divisor = match (base, base_index) {
            (None, _) => Some(1.0),
            (Some(_), Some(index)) => grid.at(x, index).filter(|value| *value != 0.0),
            (Some(_), None) => None,
        };
        if divisor.is_none() {
            notes.push(format!(
                "{} has nothing to normalise to and is empty.",
                table.groups[x]
            ));
        }
        let value = |s| divisor.and_then(|divisor| Some(grid.at(x, s)? / divisor));
        table
            .values
            .push((0..grid.series.len()).map(value).collect());
    }
    if grid.rows_per_cell() > 1 {
        notes.push(format!(
            "A bar is the mean of up to {} rows.",
            grid.rows_per_cell()
        ));
    }
    add_mean(bars.mean, &mut table, notes);
    table
}

fn add_mean(mean: Mean, table: &mut BarTable, notes: &mut Vec<String>) {
    let name = match mean {
        Mean::None => return,
        Mean::Arithmetic => "mean",
        Mean::Geometric => "geomean",
    };
    if table.groups.is_empty() {
        return;
    }
    let of_series = |s: usize| {
        let values: Vec<f64> = table.values.iter().filter_map(|group| group[s]).collect();
        if values.is_empty() || (mean == Mean::Geometric && values.iter().any(|v| *v <= 0.0)) {
            return None;
        }
        let count = values.len() as f64;
        Some(match mean {
            Mean::Geometric => (values.iter().map(|value| value.ln()).sum::<f64>() / count).exp(),
            _ => values.iter().sum::<f64>() / count,
        })
    };
    let means: Vec<Option<f64>> = (0..table.series.len()).map(of_series).collect();
    if table.values.iter().flatten().any(Option::is_none) {
        notes.push(format!("The {name} leaves out bars without a value."));
    }
    table.groups.push(name.to_owned());
    table.values.push(means);
}

fn scale_of<'a>(
    bars: &Bars,
    kind: ColumnKind,
    tables: impl Iterator<Item = &'a BarTable> + Clone,
) -> Scale {
    let cap = bars.y_cap.unwrap_or(f64::INFINITY);
    let values = tables
        .flat_map(|table| table.values.iter().flatten().flatten())
        .copied();
    let highest = values.clone().fold(f64::NEG_INFINITY, f64::max);
    let values = values.map(|value| value.min(cap));
    match (bars.log, highest > cap) {
        (true, true) => {
            let low = Scale::decades(values).min();
            Scale::log(low, cap)
        }
        (true, false) => Scale::decades(values),
        (false, true) => {
            let low = Scale::from_zero(values, kind).min();
            Scale::linear(low, cap)
        }
        (false, false) => Scale::from_zero(values, kind),
    }
}

struct Painter {
    prefix: String,
    scale: Scale,
    kind: ColumnKind,
    cap: Option<f64>,
}

impl Painter {
    fn paint(&self, table: &BarTable, around: Surroundings<'_>, normalised: bool) -> String {
        let group_count = table.groups.len().max(1) as f64;
        let series_count = table.series.len().max(1) as f64;
        let fitting = WIDTH / group_count * (1.0 - GAP) / series_count;
        let bar_min = BAR_MIN.min(WIDTH_MAX / group_count * (1.0 - GAP) / series_count);
        let bar = fitting.clamp(bar_min, BAR_MAX);
        let group_width = (bar * series_count / (1.0 - GAP)).max(WIDTH / group_count);
        let label_of = |(index, text): (usize, &String)| XLabel {
            x: (index as f64 + 0.5) * group_width,
            width: group_width,
            text: text.clone(),
        };
        let labels: Vec<XLabel> = table.groups.iter().enumerate().map(label_of).collect();
        let around = Surroundings {
            x_labels: &labels,
            ..around
        };
        let width = group_width * group_count;
        let (mut svg, area) = frame::begin(width, AREA_HEIGHT, &self.prefix, &around);
        frame::draw_y_axis(&mut svg, &area, &self.scale, self.kind);
        for (g, group) in table.values.iter().enumerate() {
            let left = area.x + (g as f64 + 0.5) * group_width - bar * series_count / 2.0;
            for (s, value) in group.iter().enumerate() {
                let x = left + s as f64 * bar;
                let name = format!("{}, {}", table.groups[g], table.series[s]);
                self.paint_bar(&mut svg, &area, (x, bar), s, *value, &name);
            }
        }
        let base = area.y_at(self.scale.position(self.scale.base()));
        frame::draw_axis_lines(&mut svg, &area, base);
        if normalised && self.scale.max() >= 1.0 {
            let y = area.y_at(self.scale.position(1.0));
            frame::line(&mut svg, "reference", (area.x, y), (area.x + area.width, y));
        }
        svg.finish()
    }

    fn paint_bar(
        &self,
        svg: &mut Svg,
        area: &Area,
        (x, width): (f64, f64),
        style: usize,
        value: Option<f64>,
        name: &str,
    ) {
        let base = area.y_at(self.scale.position(self.scale.base()));
        let Some(value) = value.filter(|value| self.scale.can_show(*value)) else {
            let middle = x + width / 2.0;
            let label = format!("{name}: no value");
            upright_text(svg, (middle, base - 4.0), "no-value", "n/a", &label);
            return;
        };
        let is_cut = self.cap.is_some_and(|cap| value > cap);
        let end = area.y_at(self.scale.position(value));
        let (top, height) = if end <= base {
            (end, base - end)
        } else {
            (base, end - base)
        };
        let text = human_number(value, self.kind);
        // A bar of next to nothing is still a bar.
        let (top, height) = if height < 0.75 {
            (top - 0.75, 0.75)
        } else {
            (top, height)
        };
        let rect = Area {
            x: x + 0.5,
            y: top,
            width: (width - 1.0).max(0.5),
            height,
        };
        frame::patterned_rect(svg, &self.prefix, style, rect, &format!("{name}: {text}"));
        if is_cut {
            break_mark(svg, &rect);
        }
        if width >= LABELLED_BAR_MIN {
            let class = if is_cut { "value cut" } else { "value" };
            let middle = x + width / 2.0;
            if frame::text_width(&text, 10.5) <= width {
                let place = [("x", Px(middle)), ("y", Px(top - 4.0))];
                svg.text(
                    "text",
                    &[
                        (place[0].0, &place[0].1),
                        (place[1].0, &place[1].1),
                        ("text-anchor", &"middle"),
                        ("class", &class),
                    ],
                    &text,
                );
            } else {
                upright_text(svg, (middle, top - 4.0), class, &text, "");
            }
        }
    }
}

/// Text that reads upwards from `at`.
fn upright_text(svg: &mut Svg, at: (f64, f64), class: &str, text: &str, tooltip: &str) {
    let (x, y) = (at.0 + 3.6, at.1);
    let turn = format!("rotate(-90 {} {})", Px(x), Px(y));
    svg.open("g", &[]);
    if !tooltip.is_empty() {
        svg.text("title", &[], tooltip);
    }
    let attributes: &[(&str, &dyn std::fmt::Display)] = &[
        ("x", &Px(x)),
        ("y", &Px(y)),
        ("transform", &turn),
        ("class", &class),
    ];
    svg.text("text", attributes, text);
    svg.close();
}

/// Two slanted gaps near the top of a bar that goes on further than drawn.
fn break_mark(svg: &mut Svg, bar: &Area) {
    let y = bar.y + 14.0;
    let (left, right) = (bar.x - 2.0, bar.x + bar.width + 2.0);
    let path = format!(
        "M{0} {1}L{2} {3}L{2} {4}L{0} {5}Z",
        Px(left),
        Px(y + 3.0),
        Px(right),
        Px(y - 3.0),
        Px(y + 1.5),
        Px(y + 7.5)
    );
    svg.leaf("path", &[("d", &path), ("class", &"break")]);
    frame::line(svg, "break-edge", (left, y + 3.0), (right, y - 3.0));
    frame::line(svg, "break-edge", (left, y + 7.5), (right, y + 1.5));
}
