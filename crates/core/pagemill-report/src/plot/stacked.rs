//! Bars made of parts.

use super::data::{Average, Key, Source};
use super::frame::{self, AREA_HEIGHT, Area, Surroundings, XLabel};
use super::legend::Swatch;
use super::marks;
use super::render::{Figure, Titles};
use super::scale::Scale;
use super::svg::Svg;
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
    let mut notes = Vec::new();
    let mut panels = Vec::new();
    for (label, _, rows) in source.panels(panel_by) {
        panels.push((label, stacks(stacked, &rows, &mut notes)));
    }
    notes.dedup();
    let painter = StackPainter::new(stacked, source, panels.iter().flat_map(|(_, s)| s));
    let widest = panels.iter().map(|(_, stacks)| stacks.len()).max();
    let layout = titles
        .layout
        .of_panels(panels.len(), widest.unwrap_or(0) as f64 * SLOT_MIN);
    let paint = |(index, (label, stacks)): (usize, &(Option<String>, Vec<Stack>))| {
        let around = Surroundings {
            layout,
            label: titles.title,
            panel: label.as_deref(),
            legend: if index == 0 { &painter.legend } else { &[] },
            swatch: Swatch::Box,
            published: false,
            x_labels: &[],
            x_title: titles.x_or(source.heading(&stacked.x)),
            y_title: titles.y_or(if stacked.as_shares {
                "share"
            } else {
                "sum of parts"
            }),
            head_room: 14.0,
        };
        painter.paint(stacks, &format!("{}n{index}", titles.prefix), around)
    };
    let images = panels.iter().enumerate().map(paint).collect();
    Figure {
        images,
        seen: String::new(),
        notes,
    }
}

struct StackPainter {
    legend: Vec<String>,
    kind: ColumnKind,
    scale: Scale,
}

impl StackPainter {
    fn new<'a>(
        stacked: &StackedBars,
        source: &Source<'_>,
        stacks: impl Iterator<Item = &'a Stack>,
    ) -> Self {
        let legend = stacked.parts.iter().map(|part| part.1.clone()).collect();
        if stacked.as_shares {
            return Self {
                legend,
                kind: ColumnKind::Rate,
                scale: Scale::linear(0.0, 1.0),
            };
        }
        let kind = stacked
            .parts
            .first()
            .map_or(ColumnKind::Count, |part| source.kind(&part.0));
        let sums = stacks.map(|stack| stack.parts.iter().sum());
        Self {
            legend,
            kind,
            scale: Scale::from_zero(sums, kind),
        }
    }

    fn paint(&self, stacks: &[Stack], prefix: &str, around: Surroundings<'_>) -> String {
        let count = stacks.len().max(1) as f64;
        let slot = (around.layout.width / count).max(SLOT_MIN);
        let x_label = |(index, stack): (usize, &Stack)| XLabel {
            x: (index as f64 + 0.5) * slot,
            width: slot,
            text: stack.name.clone(),
        };
        let labels: Vec<XLabel> = stacks.iter().enumerate().map(x_label).collect();
        let around = Surroundings {
            x_labels: &labels,
            ..around
        };
        let (mut svg, area) = frame::begin(slot * count, AREA_HEIGHT, prefix, &around);
        frame::draw_y_axis(&mut svg, &area, &self.scale, self.kind);
        let width = (slot * 0.72).min(BAR_MAX);
        for (index, stack) in stacks.iter().enumerate() {
            let x = area.x + (index as f64 + 0.5) * slot - width / 2.0;
            self.paint_stack(&mut svg, &area, prefix, (x, width), stack);
        }
        frame::draw_axis_lines(&mut svg, &area, area.bottom());
        svg.finish()
    }

    fn paint_stack(
        &self,
        svg: &mut Svg,
        area: &Area,
        prefix: &str,
        (x, width): (f64, f64),
        stack: &Stack,
    ) {
        let mut below = 0.0;
        for (style, part) in stack
            .parts
            .iter()
            .enumerate()
            .filter(|(_, part)| **part > 0.0)
        {
            let bottom = area.y_at(self.scale.position(below));
            below += part;
            let y = area.y_at(self.scale.position(below));
            let text = human_number(*part, self.kind);
            let name = format!("{}, {}: {text}", stack.name, self.legend[style]);
            let rect = Area {
                x,
                y,
                width,
                height: bottom - y,
            };
            marks::patterned_rect(svg, prefix, style, rect, &name);
        }
    }
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
    let stack = |(index, key): (usize, &Key)| {
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
