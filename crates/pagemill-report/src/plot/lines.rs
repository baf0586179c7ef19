//! One line per series over a swept number.

use super::data::{Grid, Key, Source};
use super::frame::{self, AREA_HEIGHT, Surroundings, WIDTH, XLabel};
use super::legend::Swatch;
use super::marks;
use super::render::{Figure, Titles};
use super::scale::Scale;
use super::svg::{Px, Svg};
use crate::units::{human_number, tick};
use crate::{ColumnKind, Lines};

/// More values than this get round ticks instead of one each.
const X_LABELS_MAX: usize = 14;
/// Room between the axis and the first point.
const INSET: f64 = 26.0;

pub(super) fn draw(
    lines: &Lines,
    source: &Source<'_>,
    panel_by: Option<&str>,
    titles: Titles<'_>,
) -> Figure {
    let is_normalised = lines.normalise_to_x.is_some();
    let kind = if is_normalised {
        ColumnKind::Number
    } else {
        source.kind(&lines.y)
    };
    let series = source.keys(&lines.series);
    let xs = sorted(source.keys(&lines.x));
    let mut notes = Vec::new();
    let mut panels = Vec::new();
    for (label, rows) in source.panels(panel_by) {
        let grid = rows.grid(
            (&lines.x, xs.clone()),
            (&lines.series, series.clone()),
            &lines.y,
        );
        if grid.rows_per_cell() > 1 {
            notes.push(format!(
                "A point is the mean of up to {} rows.",
                grid.rows_per_cell()
            ));
        }
        panels.push((label, curves(lines, &grid)));
    }
    notes.dedup();
    let values = panels
        .iter()
        .flat_map(|(_, curves)| curves.iter().flatten().flatten())
        .copied();
    let painter = LinePainter {
        scale: if lines.log_y {
            Scale::decades(values)
        } else {
            Scale::from_zero(values, kind)
        },
        axis: XAxis::new(&xs, lines.log2_x),
        series: series.iter().map(|key| key.label.clone()).collect(),
        xs,
        kind,
    };
    let labels = painter.axis.labels(&painter.xs, source.kind(&lines.x));
    let default_y = default_y_title(lines, source, &painter.xs);
    let paint = |(index, (label, curves)): (usize, &(Option<String>, Vec<Curve>))| {
        let around = Surroundings {
            label: titles.title,
            panel: label.as_deref(),
            legend: if index == 0 { &painter.series } else { &[] },
            swatch: Swatch::Line,
            x_labels: &labels,
            x_title: titles.x_or(source.heading(&lines.x)),
            y_title: titles.y_or(default_y.clone()),
            head_room: 14.0,
        };
        painter.paint(curves, titles.prefix, &around)
    };
    let images = panels.iter().enumerate().map(paint).collect();
    Figure { images, notes }
}

fn default_y_title(lines: &Lines, source: &Source<'_>, xs: &[Key]) -> String {
    let heading = source.heading(&lines.y);
    match &lines.normalise_to_x {
        Some(base) => {
            let label = xs
                .iter()
                .find(|key| key.value == *base)
                .map(|key| key.label.clone());
            format!(
                "{heading} / {heading} at {}",
                label.unwrap_or_else(|| base.to_string())
            )
        }
        None => heading,
    }
}

struct LinePainter {
    scale: Scale,
    axis: XAxis,
    series: Vec<String>,
    xs: Vec<Key>,
    kind: ColumnKind,
}

impl LinePainter {
    fn paint(&self, curves: &[Curve], prefix: &str, around: &Surroundings<'_>) -> String {
        let (mut svg, area) = frame::begin(WIDTH, AREA_HEIGHT, prefix, around);
        frame::draw_y_axis(&mut svg, &area, &self.scale, self.kind);
        frame::draw_axis_lines(&mut svg, &area, area.bottom());
        for (style, curve) in curves.iter().enumerate() {
            let place = |(x, value): (usize, &Option<f64>)| {
                let value = value.filter(|value| self.scale.can_show(*value))?;
                let at = (
                    area.x + self.axis.places[x],
                    area.y_at(self.scale.position(value)),
                );
                let text = human_number(value, self.kind);
                Some((
                    at,
                    format!("{}, {}: {text}", self.series[style], self.xs[x].label),
                ))
            };
            let points: Vec<_> = curve.iter().enumerate().filter_map(place).collect();
            paint_curve(&mut svg, style, &points);
        }
        svg.finish()
    }
}

/// The values of a series at each x.
type Curve = Vec<Option<f64>>;

fn curves(lines: &Lines, grid: &Grid) -> Vec<Curve> {
    let base_index = lines
        .normalise_to_x
        .as_ref()
        .map(|base| grid.xs.iter().position(|key| key.value == *base));
    let curve = |series: usize| {
        let divisor = match base_index {
            None => Some(1.0),
            Some(None) => None,
            Some(Some(x)) => grid.at(x, series).filter(|value| *value != 0.0),
        };
        (0..grid.xs.len())
            .map(|x| divisor.and_then(|divisor| Some(grid.at(x, series)? / divisor)))
            .collect()
    };
    (0..grid.series.len()).map(curve).collect()
}

/// Numbers in ascending order; other values as they come.
fn sorted(mut keys: Vec<Key>) -> Vec<Key> {
    if keys.iter().all(|key| key.value.as_f64().is_some()) {
        keys.sort_by(|a, b| f64::total_cmp(&number(a), &number(b)));
    }
    keys
}

fn number(key: &Key) -> f64 {
    key.value.as_f64().unwrap_or(0.0)
}

struct XAxis {
    /// From the left edge of the data, by key.
    places: Vec<f64>,
    scale: Option<Scale>,
}

impl XAxis {
    fn new(xs: &[Key], log2: bool) -> Self {
        let numbers: Option<Vec<f64>> = xs.iter().map(|key| key.value.as_f64()).collect();
        let is_log = |numbers: &[f64]| log2 && numbers.iter().all(|number| *number > 0.0);
        let scale = numbers.filter(|numbers| numbers.len() > 1).map(|numbers| {
            let (low, high) = (numbers[0], numbers[numbers.len() - 1]);
            if is_log(&numbers) {
                Scale::log(low, high)
            } else {
                Scale::linear(low, high)
            }
        });
        let room = WIDTH - 2.0 * INSET;
        let step = room / (xs.len().max(2) - 1) as f64;
        let place = |(index, key): (usize, &Key)| match &scale {
            Some(scale) => INSET + room * scale.position(number(key)),
            None => INSET + step * index as f64,
        };
        Self {
            places: xs.iter().enumerate().map(place).collect(),
            scale,
        }
    }

    fn labels(&self, xs: &[Key], kind: ColumnKind) -> Vec<XLabel> {
        match &self.scale {
            Some(scale) if xs.len() > X_LABELS_MAX => {
                let ticks = scale.ticks(kind);
                let room = WIDTH - 2.0 * INSET;
                let width = room / ticks.len().max(1) as f64;
                ticks
                    .iter()
                    .map(|value| XLabel {
                        x: INSET + room * scale.position(*value),
                        width,
                        text: tick(*value, kind),
                    })
                    .collect()
            }
            _ => {
                let gaps = self.places.windows(2).map(|pair| pair[1] - pair[0]);
                let width = gaps.fold(WIDTH, f64::min);
                let label = |(x, key): (&f64, &Key)| XLabel {
                    x: *x,
                    width,
                    text: key.label.clone(),
                };
                self.places.iter().zip(xs).map(label).collect()
            }
        }
    }
}

fn paint_curve(svg: &mut Svg, style: usize, points: &[((f64, f64), String)]) {
    let mut path = String::new();
    for (index, ((x, y), _)) in points.iter().enumerate() {
        let command = if index == 0 { 'M' } else { 'L' };
        path += &format!("{command}{} {}", Px(*x), Px(*y));
    }
    let class = marks::line_class(style);
    if points.len() > 1 {
        svg.leaf(
            "path",
            &[("d", &path), ("class", &class), ("fill", &"none")],
        );
    }
    for ((x, y), name) in points {
        marks::marker(svg, style, *x, *y, name);
    }
}
