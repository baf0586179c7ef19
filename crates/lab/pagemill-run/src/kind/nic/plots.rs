//! What is drawn of a network run that says nothing about it.

use pagemill_report::{Column, ColumnKind, ColumnRole, Lines, Plot, PlotForm, Row};

/// Bandwidth and time of a message over the first swept number, where there is one.
pub fn plots(rows: &[Row], columns: &[Column]) -> Vec<Plot> {
    let varies = |column: &&Column| {
        column.role == ColumnRole::Parameter
            && column.kind != ColumnKind::Text
            && rows
                .iter()
                .any(|row| row.get(&column.name) != rows[0].get(&column.name))
    };
    let Some(x) = columns.iter().find(varies) else {
        return Vec::new();
    };
    let lines = |id: &str, title: &str, metric: &str| {
        let form = Lines {
            x: x.name.clone(),
            y: metric.to_owned(),
            series: "workload".to_owned(),
            log2_x: true,
            log_y: true,
            ..Lines::default()
        };
        Plot::new(id, title, PlotForm::Lines(form))
    };
    vec![
        lines("bandwidth", "Bandwidth", "bandwidth_bytes_per_second"),
        lines("time", "Time of a message", "message_time_ns"),
    ]
}
