//! Columns are complete, and ambiguous results are refused by name.

use pagemill_report::{
    Column, ColumnKind, ColumnRole, Plot, PlotForm, ResultSet, Row, StackedBars,
};

#[test]
fn the_sample_is_sound() {
    assert_eq!(crate::common::sample().check(), Ok(()));
}

#[test]
fn undescribed_columns_are_guessed_and_parameters_come_first() {
    let set = ResultSet {
        columns: vec![Column::metric("known", ColumnKind::Ratio, "Described")],
        rows: vec![
            Row::new().metric("time_ns", 5u64),
            Row::new()
                .parameter("mode", "x")
                .metric("moved_bytes", 5u64)
                .metric("miss_rate", 0.5),
        ],
        ..ResultSet::default()
    };
    let columns: Vec<_> = set
        .all_columns()
        .into_iter()
        .map(|column| (column.name, column.role, column.kind))
        .collect();
    let metric = |name: &str, kind| (name.to_owned(), ColumnRole::Metric, kind);
    let expected = [
        ("mode".to_owned(), ColumnRole::Parameter, ColumnKind::Text),
        metric("known", ColumnKind::Ratio),
        metric("time_ns", ColumnKind::TimeNs),
        metric("moved_bytes", ColumnKind::Bytes),
        metric("miss_rate", ColumnKind::Rate),
    ];
    assert_eq!(columns, expected);
}

#[test]
fn ambiguous_names_are_refused() {
    let mut set = crate::common::sample();
    set.rows[3].metrics.push(("mode".into(), 1u64.into()));
    assert_eq!(
        set.check().unwrap_err().to_string(),
        "row 3 holds `mode` twice; rename one of the parameter and the metric that share it"
    );
    let mut set = crate::common::sample();
    set.columns
        .push(Column::metric("mode", ColumnKind::Text, ""));
    assert!(
        set.check()
            .unwrap_err()
            .to_string()
            .contains("`mode` is described twice")
    );
    let mut set = crate::common::sample();
    set.summary.facts.push(set.summary.facts[0].clone());
    assert!(
        set.check()
            .unwrap_err()
            .to_string()
            .contains("`simulated_bytes` is given twice")
    );
}

#[test]
fn a_plot_of_an_unknown_column_is_refused_with_the_known_ones() {
    let mut set = crate::common::sample();
    let parts = vec![("rangse_1".to_owned(), "one".to_owned())];
    let form = StackedBars {
        x: "workload".into(),
        parts,
        as_shares: false,
    };
    set.plots
        .push(Plot::new("typo", "Typo", PlotForm::Stacked(form)));
    let message = set.check().unwrap_err().to_string();
    assert!(
        message.contains("`typo` needs column `rangse_1`"),
        "{message}"
    );
    assert!(
        message.contains("workload, mode, unit_bytes, time_ns"),
        "{message}"
    );
}
