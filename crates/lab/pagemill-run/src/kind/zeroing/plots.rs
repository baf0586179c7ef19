//! What is drawn of a run of the fault path that says nothing about it.

use pagemill_report::{Bars, Column, Plot, PlotForm, Row};

/// Cost of a fault by mode and engine, a panel for each machine: on its own CPU, until the page is clean, of all CPUs.
pub fn plots(rows: &[Row], _: &[Column]) -> Vec<Plot> {
    if rows.len() < 2 {
        return Vec::new();
    }
    let bars = |id: &str, title: &str, metric: &str| {
        let form = Bars {
            x: "mode".to_owned(),
            series: "engine".to_owned(),
            y: metric.to_owned(),
            ..Bars::default()
        };
        Plot {
            panel_by: Some("machine".to_owned()),
            ..Plot::new(id, title, PlotForm::Bars(form))
        }
    };
    vec![
        bars("fault", "A fault on its own CPU", "fault_cycles"),
        bars("clean", "Time until the page is clean", "clean_time_ns"),
        bars(
            "cpu",
            "CPU time of a fault, helper included",
            "cpu_ns_per_fault",
        ),
    ]
}
