//! What is drawn of tasks on a shared cache where the scenario says nothing about it.

use pagemill_report::{Bars, Column, Lines, Plot, PlotForm, Row};

/// Of tasks alone, misses over colors; of pairs, system performance, a panel for each partner.
pub fn plots(rows: &[Row], _: &[Column]) -> Vec<Plot> {
    if rows.len() < 2 {
        return Vec::new();
    }
    if rows
        .iter()
        .any(|row| row.number("system_performance").is_some())
    {
        let form = Bars {
            x: "workload".to_owned(),
            series: "pages".to_owned(),
            y: "system_performance".to_owned(),
            ..Bars::default()
        };
        return vec![Plot {
            panel_by: Some("partner".to_owned()),
            ..Plot::new("performance", "System performance", PlotForm::Bars(form))
        }];
    }
    let form = Lines {
        x: "colors".to_owned(),
        series: "workload".to_owned(),
        y: "miss_ratio".to_owned(),
        ..Lines::default()
    };
    vec![Plot::new(
        "misses",
        "Miss ratio of the shared cache",
        PlotForm::Lines(form),
    )]
}
