//! Bars made of parts.

use super::data::{Average, Source};
use super::frame::{self, AREA_HEIGHT, Area, Surroundings, Swatch, WIDTH, XLabel};
use super::render::{Figure, Titles};
use super::scale::Scale;
use crate::units::human_number;
use crate::{ColumnKind, StackedBars};

const BAR_MAX: f64 = 64.0;
const SLOT_MIN: f64 = 16.0;

pub(super) fn draw(
    stacked: &StackedBars,
    source: &Source<'_>,
    panel_by: Option<&str>,
    titles: Titles<'_>,
) -> Figure {
    let part_kind = stacked
        .parts
        .first()
        .map_or(ColumnKind::Count, |part| source.kind(&part.0));
    let kind = if stacked.as_shares {
        ColumnKind::Rate
    } else {
        part_kind
    };
    let mut notes = Vec::new();
    let panels: Vec<_> = source
        .panels(panel_by)
        .into_iter()
        .map(|(label, rows)| (label, stacks(stacked, &rows, &mut notes)))
        .collect();
    notes.dedup();
    let sums = panels
        .iter()
        .flat_map(|(_, stacks)| stacks)
        .map(|stack| stack.parts.iter().sum());
    let scale = if stacked.as_shares {
        Scale::linear(0.0, 1.0)
    } else {
        Scale::from_zero(sums, kind)
    };
    let legend: Vec<String> = stacked.parts.iter().map(|part| part.1.clone()).collect();
    let default_y = if stacked.as_shares {
        "share"
    } else {
        "sum of parts"
    };
    let paint = |(index, (label, stacks)): (usize, &(Option<String>, Vec<Stack>))| {
        let slot = (WIDTH / stacks.len().max(1) as f64).max(SLOT_MIN);
        let x_label = |(i, stack): (usize, &Stack)| XLabel {
            x: (i as f64 + 0.5) * slot,
            width: slot,
            text: stack.name.clone(),
        };
        let labels: Vec<XLabel> = stacks.iter().enumerate().map(x_label).collect();
        let prefix = format!("{}n{index}", titles.prefix);
        let around = Surroundings {
            label: titles.title,
            panel: label.as_deref(),
            legend: &legend,
            swatch: Swatch::Box,
            x_labels: &labels,
            x_title: titles.x_or(source.heading(&stacked.x)),
            y_title: titles.y_or(default_y),
            head_room: 14.0,
        };
        let width = slot * stacks.len().max(1) as f64;
        let (mut svg, area) = frame::begin(width, AREA_HEIGHT, &prefix, &around);
        frame::draw_y_axis(&mut svg, &area, &scale, kind);
        let bar = (slot * 0.72).min(BAR_MAX);
        for (i, stack) in stacks.iter().enumerate() {
            let x = area.x + (i as f64 + 0.5) * slot - bar / 2.0;
            let mut below = 0.0;
            for (style, part) in stack
                .parts
                .iter()
                .enumerate()
                .filter(|(_, part)| **part > 0.0)
            {
                let bottom = area.y_at(scale.position(below));
                below += part;
                let top = area.y_at(scale.position(below));
                let rect = Area {
                    x,
                    y: top,
                    width: bar,
                    height: bottom - top,
                };
                let text = human_number(*part, kind);
                let name = format!("{}, {}: {text}", stack.name, legend[style]);
                frame::patterned_rect(&mut svg, &prefix, style, rect, &name);
            }
        }
        frame::draw_axis_lines(&mut svg, &area, area.bottom());
        svg.finish()
    };
    let images = panels.iter().enumerate().map(paint).collect();
    Figure { images, notes }
}

struct Stack {
    name: String,
    parts: Vec<f64>,
}

fn stacks(stacked: &StackedBars, rows: &Source<'_>, notes: &mut Vec<String>) -> Vec<Stack> {
    let keys = rows.keys(&stacked.x);
    let columns: Vec<Vec<Average>> = stacked
        .parts
        .iter()
        .map(|(metric, _)| rows.averages(&stacked.x, &keys, metric))
        .collect();
    let most = columns
        .iter()
        .flatten()
        .map(|average| average.count)
        .max()
        .unwrap_or(0);
    if most > 1 {
        notes.push(format!("A bar is the mean of up to {most} rows."));
    }
    let stack = |(index, key): (usize, &super::data::Key)| {
        let raw = columns
            .iter()
            .map(|column| column[index].mean().unwrap_or(0.0).max(0.0));
        let parts: Vec<f64> = raw.collect();
        let sum: f64 = parts.iter().sum();
        let divisor = if stacked.as_shares && sum > 0.0 {
            sum
        } else {
            1.0
        };
        Stack {
            name: key.label.clone(),
            parts: parts.into_iter().map(|part| part / divisor).collect(),
        }
    };
    keys.iter().enumerate().map(stack).collect()
}
