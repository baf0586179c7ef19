//! The figures of a result set: what its sweep is over decides what is drawn.

use pagemill_report::{Bars, Column, ColumnKind, ColumnRole, Lines, Plot, PlotForm, Row};
use pagemill_scenario::PROGRAMMER_COPY;

use crate::implied::is_implied;

/// Figures of time, bytes and TLB misses, side by side for each value of the column `x`.
pub fn plots(rows: &[Row], columns: &[Column], x: &str) -> Vec<Plot> {
    if rows.len() < 2 {
        return Vec::new();
    }
    let swept: Vec<&Column> = columns
        .iter()
        .filter(|column| column.role == ColumnRole::Parameter && varies(rows, &column.name))
        .collect();
    // A number that each program has its own of says nothing that the program's name does not.
    let number = swept
        .iter()
        .find(|column| column.kind != ColumnKind::Text && !is_implied(rows, x, &column.name))
        .copied();
    let has_base = rows
        .iter()
        .any(|row| row.get("mode") == Some(&PROGRAMMER_COPY.into()));
    let mut plots = vec![bars("time", "Time", "time_ns", x, panel(number))];
    if let (true, PlotForm::Bars(time)) = (has_base, &mut plots[0].form) {
        time.normalize_to = Some(PROGRAMMER_COPY.into());
        plots[0].y_title = "time over programmer-copy".to_owned();
    }
    plots.push(bars(
        "bytes",
        "Bytes moved to the GPU",
        "migrated_bytes",
        x,
        panel(number),
    ));
    plots.push(bars(
        "tlb",
        "TLB miss rate",
        "tlb_miss_rate",
        x,
        panel(number),
    ));
    if let Some(number) = number {
        plots.push(lines(number, x));
    }
    plots
}

fn varies(rows: &[Row], name: &str) -> bool {
    rows.iter().any(|row| row.get(name) != rows[0].get(name))
}

fn panel(number: Option<&Column>) -> Option<String> {
    number.map(|column| column.name.clone())
}

fn bars(id: &str, title: &str, metric: &str, x: &str, panel_by: Option<String>) -> Plot {
    let form = Bars {
        x: x.to_owned(),
        series: "mode".to_owned(),
        y: metric.to_owned(),
        log: metric != "tlb_miss_rate",
        ..Bars::default()
    };
    Plot {
        panel_by,
        ..Plot::new(id, title, PlotForm::Bars(form))
    }
}

fn lines(number: &Column, panel: &str) -> Plot {
    let form = Lines {
        x: number.name.clone(),
        series: "mode".to_owned(),
        y: "time_ns".to_owned(),
        log2_x: true,
        log_y: true,
        ..Lines::default()
    };
    let title = format!("Time over {}", number.name);
    Plot {
        panel_by: Some(panel.to_owned()),
        ..Plot::new("sweep", title, PlotForm::Lines(form))
    }
}

#[cfg(test)]
mod tests;
