//! A colored grid over two swept keys.

use super::caption;
use super::data::{Grid, Key, Source};
use super::frame::{self, Area, Surroundings, XLabel};
use super::legend::Swatch;
use super::render::{Figure, Titles};
use super::scale::Scale;
use super::svg::{Px, Svg};
use crate::units::{human_number, tick};
use crate::{ColumnKind, HeatMap};

const CELL_HEIGHT: f64 = 34.0;
const CELL_WIDTH_MIN: f64 = 12.0;
const CELL_WIDTH_MAX: f64 = 110.0;
/// Room that the frame leaves for ticks serves row labels too.
const TICK_ROOM: f64 = 52.0;
/// The color key needs this much.
const WIDTH_MIN: f64 = 420.0;
/// Steps of the color key.
const KEY_STEPS: usize = 48;

/// From dark blue over gray to yellow: even steps of lightness, and the same to all eyes.
const RAMP: [(u8, u8, u8); 6] = [
    (0x08, 0x20, 0x4c),
    (0x2b, 0x46, 0x70),
    (0x5f, 0x66, 0x73),
    (0x8c, 0x87, 0x74),
    (0xc3, 0xac, 0x66),
    (0xfd, 0xe3, 0x4d),
];

pub(super) fn draw(
    heat: &HeatMap,
    source: &Source<'_>,
    panel_by: Option<&str>,
    titles: Titles<'_>,
) -> Figure {
    let mut notes = Vec::new();
    let mut panels = Vec::new();
    for (label, _, rows) in source.panels(panel_by) {
        let x = (heat.x.as_str(), source.keys(&heat.x));
        let y = (heat.y.as_str(), source.keys(&heat.y));
        let grid = rows.grid(x, y, &heat.value);
        if grid.rows_per_cell() > 1 {
            notes.push(format!(
                "A cell is the mean of up to {} rows.",
                grid.rows_per_cell()
            ));
        }
        panels.push((label, grid));
    }
    notes.dedup();
    let shown: Vec<f64> = panels.iter().flat_map(|(_, grid)| values(grid)).collect();
    let painter = HeatPainter {
        scale: color_scale(heat.log, &shown),
        kind: source.kind(&heat.value),
        key_title: source.heading(&heat.value),
    };
    let paint = |(label, grid): &(Option<String>, Grid)| {
        let around = Surroundings {
            layout: titles.layout,
            label: titles.title,
            panel: label.as_deref(),
            legend: &[],
            swatch: Swatch::Line,
            published: false,
            x_labels: &[],
            x_title: titles.x_or(source.heading(&heat.x)),
            y_title: titles.y_or(source.heading(&heat.y)),
            head_room: 54.0,
        };
        painter.paint(grid, titles.prefix, around)
    };
    let images = panels.iter().map(paint).collect();
    let seen = seen(&panels, source.kind(&heat.value));
    Figure {
        images,
        seen,
        notes,
    }
}

/// Names the lowest and the highest cell.
fn seen(panels: &[(Option<String>, Grid)], kind: ColumnKind) -> String {
    let mut named = Vec::new();
    for (panel, grid) in panels {
        for (x, x_key) in grid.xs.iter().enumerate() {
            for (y, y_key) in grid.series.iter().enumerate() {
                let place = panel
                    .iter()
                    .fold(String::new(), |at, panel| at + ", " + panel);
                let name = format!("{} at {}{place}", y_key.label, x_key.label);
                named.extend(grid.at(x, y).map(|value| (name, value)));
            }
        }
    }
    caption::extremes(
        named.iter().map(|(name, value)| (name.as_str(), *value)),
        kind,
    )
}

struct HeatPainter {
    scale: Scale,
    kind: ColumnKind,
    key_title: String,
}

impl HeatPainter {
    fn paint(&self, grid: &Grid, prefix: &str, around: Surroundings<'_>) -> String {
        let columns = grid.xs.len().max(1) as f64;
        let label_room = row_label_room(grid);
        let room = around.layout.width - label_room;
        let cell_width = (room / columns).clamp(CELL_WIDTH_MIN, CELL_WIDTH_MAX);
        let x_label = |(index, key): (usize, &Key)| XLabel {
            x: label_room + (index as f64 + 0.5) * cell_width,
            width: cell_width,
            text: key.label.clone(),
        };
        let labels: Vec<XLabel> = grid.xs.iter().enumerate().map(x_label).collect();
        let around = Surroundings {
            x_labels: &labels,
            ..around
        };
        let width = (label_room + columns * cell_width).max(WIDTH_MIN);
        let height = CELL_HEIGHT * grid.series.len().max(1) as f64;
        let (mut svg, area) = frame::begin(width, height, prefix, &around);
        self.paint_key(&mut svg, area.x + label_room, area.y - 32.0);
        for (index, key) in grid.series.iter().enumerate() {
            let y = area.y + index as f64 * CELL_HEIGHT;
            paint_row_label(&mut svg, area.x + label_room, y, &key.label);
            for (column, x_key) in grid.xs.iter().enumerate() {
                let x = area.x + label_room + column as f64 * cell_width;
                let cell = Area {
                    x,
                    y,
                    width: cell_width - 1.5,
                    height: CELL_HEIGHT - 1.5,
                };
                let name = format!("{}, {}", key.label, x_key.label);
                self.paint_cell(&mut svg, &cell, grid.at(column, index), &name);
            }
        }
        svg.finish()
    }

    fn paint_cell(&self, svg: &mut Svg, cell: &Area, value: Option<f64>, name: &str) {
        let shown = value.filter(|value| self.scale.can_show(*value));
        let text = shown.map_or_else(|| "no value".to_owned(), |v| human_number(v, self.kind));
        let position = shown.map(|value| self.scale.position(value));
        let fill = position.map_or_else(|| "none".to_owned(), color);
        svg.open("g", &[]);
        svg.text("title", &[], &format!("{name}: {text}"));
        paint_box(svg, cell, &fill, "cell");
        if frame::text_width(&text, 11.0) < cell.width - 2.0 {
            let class = match position {
                None => "no-value",
                Some(position) if position > 0.52 => "on-light",
                Some(_) => "on-dark",
            };
            let (x, y) = (cell.x + cell.width / 2.0, cell.y + cell.height / 2.0 + 4.0);
            frame::label(svg, (x, y), "middle", class, &text);
        }
        svg.close();
    }

    /// The color key above the grid.
    fn paint_key(&self, svg: &mut Svg, left: f64, y: f64) {
        let width = 280.0;
        let step = width / KEY_STEPS as f64;
        for index in 0..KEY_STEPS {
            let fill = color((index as f64 + 0.5) / KEY_STEPS as f64);
            let x = left + index as f64 * step;
            paint_box(
                svg,
                &Area {
                    x,
                    y,
                    width: step + 0.3,
                    height: 10.0,
                },
                &fill,
                "key",
            );
        }
        let (low, high) = (
            tick(self.scale.min(), self.kind),
            tick(self.scale.max(), self.kind),
        );
        frame::label(svg, (left, y + 23.0), "start", "tick", &low);
        frame::label(svg, (left + width, y + 23.0), "end", "tick", &high);
        frame::label(svg, (left, y - 6.0), "start", "legend", &self.key_title);
    }
}

fn row_label_room(grid: &Grid) -> f64 {
    let widths = grid
        .series
        .iter()
        .map(|key| frame::text_width(&frame::short(&key.label), 12.0));
    (widths.fold(0.0, f64::max) + 16.0 - TICK_ROOM).max(0.0)
}

fn paint_row_label(svg: &mut Svg, right: f64, y: f64, text: &str) {
    let at = (right - 8.0, y + CELL_HEIGHT / 2.0 + 4.0);
    frame::label(svg, at, "end", "category", &frame::short(text));
}

fn paint_box(svg: &mut Svg, area: &Area, fill: &str, class: &str) {
    svg.leaf(
        "rect",
        &[
            ("x", &Px(area.x)),
            ("y", &Px(area.y)),
            ("width", &Px(area.width)),
            ("height", &Px(area.height)),
            ("fill", &fill),
            ("class", &class),
        ],
    );
}

fn values(grid: &Grid) -> impl Iterator<Item = f64> + '_ {
    let cells = (0..grid.xs.len()).flat_map(|x| (0..grid.series.len()).map(move |s| (x, s)));
    cells.filter_map(|(x, s)| grid.at(x, s))
}

/// Exactly the range of the values, so that all colors are used.
fn color_scale(log: bool, values: &[f64]) -> Scale {
    let shown = values.iter().copied().filter(|value| !log || *value > 0.0);
    let low = shown.clone().fold(f64::INFINITY, f64::min);
    let high = shown.fold(f64::NEG_INFINITY, f64::max);
    match (low <= high, log) {
        (false, _) => Scale::linear(0.0, 1.0),
        (true, true) => Scale::log(low, high, ColumnKind::Number),
        (true, false) => Scale::linear(low, high),
    }
}

fn color(position: f64) -> String {
    let along = position.clamp(0.0, 1.0) * (RAMP.len() - 1) as f64;
    let index = (along.floor() as usize).min(RAMP.len() - 2);
    let part = along - index as f64;
    let (from, to) = (RAMP[index], RAMP[index + 1]);
    let mix = |a: u8, b: u8| (f64::from(a) + (f64::from(b) - f64::from(a)) * part).round() as u8;
    format!(
        "#{:02x}{:02x}{:02x}",
        mix(from.0, to.0),
        mix(from.1, to.1),
        mix(from.2, to.2)
    )
}
