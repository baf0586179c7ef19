//! One line per series over a swept number.

use super::caption;
use super::data::{Grid, Key, Source};
use super::frame::{self, AREA_HEIGHT, Surroundings, XLabel};
use super::legend::Swatch;
use super::marks;
use super::render::{Figure, Titles};
use super::scale::Scale;
use super::svg::{Px, Svg};
use crate::units::{human_number, tick};
use crate::{ColumnKind, Lines};

/// A label of the horizontal axis needs about this much.
const LABEL_ROOM: f64 = 62.0;
/// Room between the axis and the first point.
const INSET: f64 = 26.0;

pub(super) fn draw(
    lines: &Lines,
    source: &Source<'_>,
    panel_by: Option<&str>,
    titles: Titles<'_>,
) -> Figure {
    let is_normalized = lines.normalize_to_x.is_some();
    let kind = if is_normalized {
        ColumnKind::Number
    } else {
        source.kind(&lines.y)
    };
    let series = source.keys(&lines.series);
    let xs = sorted(source.keys(&lines.x));
    let mut notes = Vec::new();
    let panels = panels_of(lines, source, panel_by, (&xs, &series), titles, &mut notes);
    let values = panels.iter().flat_map(Panel::values);
    let layout = titles.layout.of_panels(panels.len(), 0.0);
    let painter = LinePainter {
        scale: if lines.log_y {
            Scale::powers(values, kind)
        } else {
            Scale::from_zero(values, kind)
        },
        axis: XAxis::new(&xs, lines.log2_x, layout.width),
        series: series.iter().map(|key| key.label.clone()).collect(),
        xs,
        kind,
    };
    let labels = painter.axis.labels(&painter.xs, source.kind(&lines.x));
    let base = lines.normalize_to_x.as_ref();
    let default_y = source.heading_over(&lines.y, base, "at", &painter.xs);
    let published = panels.iter().any(|panel| !panel.published.is_empty());
    let paint = |(index, panel): (usize, &Panel)| {
        let around = Surroundings {
            layout,
            label: titles.title,
            panel: panel.label.as_deref(),
            legend: if index == 0 { &painter.series } else { &[] },
            swatch: Swatch::Line,
            published,
            x_labels: &labels,
            x_title: titles.x_or(match painter.axis.is_log() {
                true => format!("{} (logarithmic)", source.heading(&lines.x)),
                false => source.heading(&lines.x),
            }),
            y_title: titles.y_or(default_y.clone()),
            head_room: 14.0,
        };
        painter.paint(panel, titles.prefix, &around)
    };
    let images = panels.iter().enumerate().map(paint).collect();
    notes.extend(painter.hidden(&panels));
    Figure {
        images,
        seen: painter.seen(&panels),
        notes,
    }
}

/// The panels with values.
fn panels_of(
    lines: &Lines,
    source: &Source<'_>,
    panel_by: Option<&str>,
    (xs, series): (&[Key], &[Key]),
    titles: Titles<'_>,
    notes: &mut Vec<String>,
) -> Vec<Panel> {
    let mut panels = Vec::new();
    for (label, value, rows) in source.panels(panel_by) {
        let (x, by) = (
            (lines.x.as_str(), xs.to_vec()),
            (lines.series.as_str(), series.to_vec()),
        );
        let grid = rows.grid(x, by, &lines.y);
        if grid.is_empty() {
            continue;
        }
        if grid.rows_per_cell() > 1 {
            notes.push(format!(
                "A point is the mean of up to {} rows.",
                grid.rows_per_cell()
            ));
        }
        panels.push(Panel {
            label,
            curves: curves(lines, &grid),
            published: grid.places_of(titles.published, value.as_ref(), None),
        });
    }
    notes.dedup();
    panels
}

struct Panel {
    label: Option<String>,
    curves: Vec<Curve>,
    /// Published values with the x and the series that each is for.
    published: Vec<(usize, usize, f64)>,
}

impl Panel {
    fn values(&self) -> impl Iterator<Item = f64> + '_ {
        let published = self.published.iter().map(|(_, _, value)| *value);
        self.curves
            .iter()
            .flatten()
            .flatten()
            .copied()
            .chain(published)
    }

    fn suffix(&self) -> String {
        self.label
            .iter()
            .fold(String::new(), |at, label| at + ", " + label)
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
    fn paint(&self, panel: &Panel, prefix: &str, around: &Surroundings<'_>) -> String {
        let (mut svg, area) = frame::begin(self.axis.width, AREA_HEIGHT, prefix, around);
        frame::draw_y_axis(&mut svg, &area, &self.scale, self.kind);
        frame::draw_axis_lines(&mut svg, &area, area.bottom());
        for (style, curve) in panel.curves.iter().enumerate() {
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
        for &(x, series, value) in &panel.published {
            let middle = area.x + self.axis.places[x];
            let y = area.y_at(self.scale.position(value));
            let name = format!(
                "{}, {}, published: {}",
                self.series[series],
                self.xs[x].label,
                human_number(value, self.kind)
            );
            marks::published(&mut svg, (middle - 9.0, middle + 9.0), y, &name);
        }
        svg.finish()
    }

    /// Names the lowest and the highest point.
    fn seen(&self, panels: &[Panel]) -> String {
        let named = |panel: &Panel| {
            let mut named = Vec::new();
            for (series, curve) in self.series.iter().zip(&panel.curves) {
                for (x, value) in self.xs.iter().zip(curve) {
                    let name = format!("{series} at {}{}", x.label, panel.suffix());
                    named.extend(value.map(|value| (name, value)));
                }
            }
            named
        };
        let named: Vec<(String, f64)> = panels.iter().flat_map(named).collect();
        caption::extremes(
            named.iter().map(|(name, value)| (name.as_str(), *value)),
            self.kind,
        )
    }

    /// Says which lines lie on top of each other, and how many points the axis has no place for.
    fn hidden(&self, panels: &[Panel]) -> Vec<String> {
        let mut notes: Vec<String> = panels
            .iter()
            .flat_map(|panel| {
                let suffix = panel.suffix();
                let own = caption::coincident(&self.series, &panel.curves);
                own.into_iter()
                    .map(move |note| format!("{}{suffix}.", note.trim_end_matches('.')))
            })
            .collect();
        let values = panels
            .iter()
            .flat_map(|panel| panel.curves.iter().flatten().flatten());
        let outside = values.filter(|value| !self.scale.can_show(**value)).count();
        if outside > 0 {
            notes.push(format!(
                "Left out: {outside} values of zero or less, which a logarithmic axis has no place for."
            ));
        }
        notes
    }
}

/// The values of a series at each x.
type Curve = Vec<Option<f64>>;

fn curves(lines: &Lines, grid: &Grid) -> Vec<Curve> {
    let base_index = lines
        .normalize_to_x
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
    width: f64,
}

impl XAxis {
    fn new(xs: &[Key], log2: bool, width: f64) -> Self {
        let numbers: Option<Vec<f64>> = xs.iter().map(|key| key.value.as_f64()).collect();
        let is_log = |numbers: &[f64]| log2 && numbers.iter().all(|number| *number > 0.0);
        let scale = numbers.filter(|numbers| numbers.len() > 1).map(|numbers| {
            let (low, high) = (numbers[0], numbers[numbers.len() - 1]);
            if is_log(&numbers) {
                Scale::log2(low, high)
            } else {
                Scale::linear(low, high)
            }
        });
        let room = width - 2.0 * INSET;
        let step = room / (xs.len().max(2) - 1) as f64;
        let place = |(index, key): (usize, &Key)| match &scale {
            Some(scale) => INSET + room * scale.position(number(key)),
            None => INSET + step * index as f64,
        };
        Self {
            places: xs.iter().enumerate().map(place).collect(),
            scale,
            width,
        }
    }

    /// More values than this get round ticks instead of one each.
    fn labels_max(&self) -> usize {
        (self.width / LABEL_ROOM) as usize
    }

    fn is_log(&self) -> bool {
        self.scale.as_ref().is_some_and(Scale::is_log)
    }

    /// Whether values of a logarithmic axis lie closer together than their labels are wide.
    fn is_dense(&self) -> bool {
        self.is_log()
            && self
                .places
                .windows(2)
                .any(|pair| pair[1] - pair[0] < LABEL_ROOM)
    }

    fn labels(&self, xs: &[Key], kind: ColumnKind) -> Vec<XLabel> {
        match &self.scale {
            Some(scale) if xs.len() > self.labels_max() || self.is_dense() => {
                let ticks = scale.ticks(kind);
                let room = self.width - 2.0 * INSET;
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
                let width = gaps.fold(self.width, f64::min);
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
