//! The figures of a residency run where its scenario declares none: bandwidth over the factor, as published.

use pagemill_report::{Column, Lines, Plot, PlotForm, Row};

/// Bandwidth over the factor, a panel for each machine.
pub fn plots(rows: &[Row], _: &[Column]) -> Vec<Plot> {
    if rows.len() < 2 {
        return Vec::new();
    }
    let form = Lines {
        x: "oversubscription_factor".to_owned(),
        series: if varies(rows, "strategy") {
            "strategy"
        } else {
            "pattern"
        }
        .to_owned(),
        y: "bandwidth_bytes_per_second".to_owned(),
        log_y: true,
        ..Lines::default()
    };
    let plot = Plot {
        panel_by: Some("machine".to_owned()),
        ..Plot::new(
            "bandwidth",
            "Bandwidth over the oversubscription factor",
            PlotForm::Lines(form),
        )
    };
    vec![plot]
}

fn varies(rows: &[Row], name: &str) -> bool {
    rows.iter().any(|row| row.get(name) != rows[0].get(name))
}
