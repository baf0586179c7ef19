//! Groups of bars side by side.

use super::bar_painter::{BarPainter, BarTable, width_of};
use super::caption;
use super::data::{Grid, Key, Source};
use super::frame::Surroundings;
use super::legend::Swatch;
use super::render::{Figure, Titles};
use super::scale::Scale;
use crate::units::tick;
use crate::{Bars, ColumnKind, Mean};

/// Room for value labels that stand upright.
const HEAD_ROOM: f64 = 46.0;
pub(super) fn draw(
    bars: &Bars,
    source: &Source<'_>,
    panel_by: Option<&str>,
    titles: Titles<'_>,
) -> Figure {
    let is_normalized = bars.normalize_to.is_some();
    let kind = if is_normalized {
        ColumnKind::Number
    } else {
        source.kind(&bars.y)
    };
    let series = source.keys(&bars.series);
    let mut notes = Vec::new();
    let panels = panels_of(bars, source, panel_by, (titles, &series), &mut notes);
    let scale = scale_of(bars, kind, panels.iter().map(|(_, table)| table));
    let exceeds = |cap: &f64| panels.iter().any(|(_, table)| table.exceeds(*cap));
    if let Some(cap) = bars.y_cap.filter(exceeds) {
        let cap = tick(cap, kind);
        notes.push(format!(
            "Bars over {cap} are cut; the label is the true value."
        ));
    }
    let legend: Vec<String> = series.iter().map(|key| key.label.clone()).collect();
    let default_y = source.heading_over(&bars.y, bars.normalize_to.as_ref(), "of", &series);
    let widest = panels.iter().map(|(_, table)| width_of(table));
    let layout = titles
        .layout
        .of_panels(panels.len(), widest.fold(0.0, f64::max));
    let published = panels.iter().any(|(_, table)| !table.published.is_empty());
    let paint = |(index, (label, table)): (usize, &(Option<String>, BarTable))| {
        let painter = BarPainter {
            prefix: format!("{}n{index}", titles.prefix),
            scale,
            kind,
            cap: bars.y_cap,
            reference: is_normalized.then_some(1.0),
        };
        painter.paint(
            table,
            Surroundings {
                layout,
                label: titles.title,
                panel: label.as_deref(),
                legend: if index == 0 { &legend } else { &[] },
                swatch: if scale.is_log() {
                    Swatch::Dot
                } else {
                    Swatch::Box
                },
                published,
                x_labels: &[],
                x_title: titles.x_or(source.heading(&bars.x)),
                y_title: titles.y_or(default_y.clone()),
                head_room: HEAD_ROOM,
            },
        )
    };
    let images = panels.iter().enumerate().map(paint).collect();
    notes.dedup();
    Figure {
        images,
        seen: seen(&panels, kind),
        notes,
    }
}

/// The panels with values.
fn panels_of(
    bars: &Bars,
    source: &Source<'_>,
    panel_by: Option<&str>,
    (titles, series): (Titles<'_>, &[Key]),
    notes: &mut Vec<String>,
) -> Vec<(Option<String>, BarTable)> {
    let mut panels = Vec::new();
    for (label, panel, rows) in source.panels(panel_by) {
        let xs = (bars.x.as_str(), rows.keys(&bars.x));
        let grid = rows.grid(xs, (&bars.series, series.to_vec()), &bars.y);
        if grid.is_empty() {
            continue;
        }
        let mut table = table(bars, &grid, notes);
        table.published = grid.places_of(titles.published, panel.as_ref(), Some(grid.xs.len()));
        panels.push((label, table));
    }
    panels
}

/// Names the lowest and the highest bar.
fn seen(panels: &[(Option<String>, BarTable)], kind: ColumnKind) -> String {
    let bar = |(panel, table): &(Option<String>, BarTable)| {
        let mut named = Vec::new();
        for (group, values) in table.groups.iter().zip(&table.values) {
            for (series, value) in table.series.iter().zip(values) {
                let place = panel
                    .iter()
                    .fold(String::new(), |at, panel| at + ", " + panel);
                named.extend(value.map(|value| (format!("{group}, {series}{place}"), value)));
            }
        }
        named
    };
    let named: Vec<(String, f64)> = panels.iter().flat_map(bar).collect();
    caption::extremes(
        named.iter().map(|(name, value)| (name.as_str(), *value)),
        kind,
    )
}

fn table(bars: &Bars, grid: &Grid, notes: &mut Vec<String>) -> BarTable {
    let base = bars.normalize_to.as_ref();
    let base_index = base.and_then(|base| grid.series.iter().position(|key| key.value == *base));
    let mut table = BarTable {
        groups: grid.xs.iter().map(|key| key.label.clone()).collect(),
        series: grid.series.iter().map(|key| key.label.clone()).collect(),
        values: Vec::new(),
        published: Vec::new(),
    };
    for x in 0..grid.xs.len() {
        let divisor = match (base, base_index) {
            (None, _) => Some(1.0),
            (Some(_), Some(index)) => grid.at(x, index).filter(|value| *value != 0.0),
            (Some(_), None) => None,
        };
        if divisor.is_none() {
            notes.push(format!(
                "{} has nothing to normalize to and is empty.",
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
        mean.of(&values)
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
    let values = tables.flat_map(|table| {
        let published = table.published.iter().map(|(_, _, value)| *value);
        table
            .values
            .iter()
            .flatten()
            .flatten()
            .copied()
            .chain(published)
    });
    let highest = values.clone().fold(f64::NEG_INFINITY, f64::max);
    let values = values.map(|value| value.min(cap));
    match (bars.log, highest > cap) {
        (true, true) => Scale::log(Scale::powers(values, kind).min(), cap, kind),
        (true, false) => Scale::powers(values, kind),
        (false, true) => Scale::linear(Scale::from_zero(values, kind).min(), cap),
        (false, false) => Scale::from_zero(values, kind),
    }
}
