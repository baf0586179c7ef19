//! A coloured grid over two swept keys.

use super::data::{Grid, Source};
use super::frame::{self, Area, Surroundings, Swatch, WIDTH, XLabel};
use super::render::{Figure, Titles};
use super::scale::Scale;
use super::svg::{Px, Svg};
use crate::units::{human_number, tick};
use crate::{ColumnKind, HeatMap};

const CELL_HEIGHT: f64 = 34.0;
const CELL_WIDTH_MIN: f64 = 12.0;
const CELL_WIDTH_MAX: f64 = 110.0;
/// Room for the row labels beyond that of the axis.
const ROW_LABEL_ROOM: f64 = 70.0;
/// Steps of the colour key.
const KEY_STEPS: usize = 48;

/// From dark blue over grey to yellow: even steps of lightness, and the same to all eyes.
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
    let kind = source.kind(&heat.value);
    let mut notes = Vec::new();
    let panels: Vec<_> = source
        .panels(panel_by)
        .into_iter()
        .map(|(label, rows)| {
            let grid = rows.grid(
                (&heat.x, source.keys(&heat.x)),
                (&heat.y, source.keys(&heat.y)),
                &heat.value,
            );
            if grid.rows_per_cell() > 1 {
                notes.push(format!(
                    "A cell is the mean of up to {} rows.",
                    grid.rows_per_cell()
                ));
            }
            (label, grid)
        })
        .collect();
    notes.dedup();
    let values: Vec<f64> = panels.iter().flat_map(|(_, grid)| values(grid)).collect();
    let scale = color_scale(heat.log, &values);
    let paint = |(label, grid): &(Option<String>, Grid)| {
        let columns = grid.xs.len().max(1) as f64;
        let cell_width = ((WIDTH - ROW_LABEL_ROOM) / columns).clamp(CELL_WIDTH_MIN, CELL_WIDTH_MAX);
        let x_label = |(i, key): (usize, &super::data::Key)| XLabel {
            x: ROW_LABEL_ROOM + (i as f64 + 0.5) * cell_width,
            width: cell_width,
            text: key.label.clone(),
        };
        let labels: Vec<XLabel> = grid.xs.iter().enumerate().map(x_label).collect();
        let around = Surroundings {
            label: titles.title,
            panel: label.as_deref(),
            legend: &[],
            swatch: Swatch::Line,
            x_labels: &labels,
            x_title: titles.x_or(source.heading(&heat.x)),
            y_title: titles.y_or(source.heading(&heat.y)),
            head_room: 54.0,
        };
        let width = (ROW_LABEL_ROOM + columns * cell_width).max(420.0);
        let height = CELL_HEIGHT * grid.series.len().max(1) as f64;
        let (mut svg, area) = frame::begin(width, height, titles.prefix, &around);
        paint_key(&mut svg, &area, &scale, kind, &source.heading(&heat.value));
        paint_cells(&mut svg, &area, grid, cell_width, &scale, kind);
        svg.finish()
    };
    let images = panels.iter().map(paint).collect();
    Figure { images, notes }
}

fn values(grid: &Grid) -> impl Iterator<Item = f64> + '_ {
    let cells = (0..grid.xs.len()).flat_map(|x| (0..grid.series.len()).map(move |s| (x, s)));
    cells.filter_map(|(x, s)| grid.at(x, s))
}

/// Exactly the range of the values, so that all colours are used.
fn color_scale(log: bool, values: &[f64]) -> Scale {
    let shown = values.iter().copied().filter(|value| !log || *value > 0.0);
    let low = shown.clone().fold(f64::INFINITY, f64::min);
    let high = shown.fold(f64::NEG_INFINITY, f64::max);
    match (low <= high, log) {
        (false, _) => Scale::linear(0.0, 1.0),
        (true, true) => Scale::log(low, high),
        (true, false) => Scale::linear(low, high),
    }
}

fn paint_cells(
    svg: &mut Svg,
    area: &Area,
    grid: &Grid,
    cell_width: f64,
    scale: &Scale,
    kind: ColumnKind,
) {
    for (row, key) in grid.series.iter().enumerate() {
        let y = area.y + row as f64 * CELL_HEIGHT;
        let (text_x, text_y) = (
            Px(area.x + ROW_LABEL_ROOM - 8.0),
            Px(y + CELL_HEIGHT / 2.0 + 4.0),
        );
        svg.text(
            "text",
            &[
                ("x", &text_x),
                ("y", &text_y),
                ("text-anchor", &"end"),
                ("class", &"category"),
            ],
            &frame::short(&key.label),
        );
        for (column, x_key) in grid.xs.iter().enumerate() {
            let x = area.x + ROW_LABEL_ROOM + column as f64 * cell_width;
            let cell = Area {
                x,
                y,
                width: cell_width - 1.5,
                height: CELL_HEIGHT - 1.5,
            };
            let name = format!("{}, {}", key.label, x_key.label);
            paint_cell(svg, &cell, grid.at(column, row), &name, scale, kind);
        }
    }
}

fn paint_cell(
    svg: &mut Svg,
    cell: &Area,
    value: Option<f64>,
    name: &str,
    scale: &Scale,
    kind: ColumnKind,
) {
    let shown = value.filter(|value| scale.can_show(*value));
    let text = shown.map_or_else(|| "no value".to_owned(), |value| human_number(value, kind));
    let position = shown.map(|value| scale.position(value));
    let fill = position.map_or_else(|| "none".to_owned(), color);
    svg.open("g", &[]);
    svg.text("title", &[], &format!("{name}: {text}"));
    svg.leaf(
        "rect",
        &[
            ("x", &Px(cell.x)),
            ("y", &Px(cell.y)),
            ("width", &Px(cell.width)),
            ("height", &Px(cell.height)),
            ("fill", &fill),
            ("class", &"cell"),
        ],
    );
    if frame::text_width(&text, 11.0) < cell.width - 2.0 {
        let class = match position {
            None => "no-value",
            Some(position) if position > 0.55 => "on-light",
            Some(_) => "on-dark",
        };
        svg.text(
            "text",
            &[
                ("x", &Px(cell.x + cell.width / 2.0)),
                ("y", &Px(cell.y + cell.height / 2.0 + 4.0)),
                ("text-anchor", &"middle"),
                ("class", &class),
            ],
            &text,
        );
    }
    svg.close();
}

/// The colour key above the grid.
fn paint_key(svg: &mut Svg, area: &Area, scale: &Scale, kind: ColumnKind, title: &str) {
    let (left, top, width) = (area.x + ROW_LABEL_ROOM, area.y - 32.0, 280.0);
    let step = width / KEY_STEPS as f64;
    for index in 0..KEY_STEPS {
        let fill = color((index as f64 + 0.5) / KEY_STEPS as f64);
        svg.leaf(
            "rect",
            &[
                ("x", &Px(left + index as f64 * step)),
                ("y", &Px(top)),
                ("width", &Px(step + 0.3)),
                ("height", &10),
                ("fill", &fill),
            ],
        );
    }
    let labels = [
        (left, "start", scale.min()),
        (left + width, "end", scale.max()),
    ];
    for (x, anchor, value) in labels {
        svg.text(
            "text",
            &[
                ("x", &Px(x)),
                ("y", &Px(top + 23.0)),
                ("text-anchor", &anchor),
                ("class", &"tick"),
            ],
            &tick(value, kind),
        );
    }
    svg.text(
        "text",
        &[
            ("x", &Px(left)),
            ("y", &Px(top - 6.0)),
            ("class", &"legend"),
        ],
        title,
    );
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
