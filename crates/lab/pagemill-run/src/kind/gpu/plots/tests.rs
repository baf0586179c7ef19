use super::*;

fn row(workload: &str, elements: Option<u64>, mode: &str) -> Row {
    let row = Row::new()
        .parameter("workload", workload)
        .parameter("mode", mode);
    let row = match elements {
        Some(elements) => row.parameter("workload.elements", elements),
        None => row,
    };
    row.metric("time_ns", 1u64)
}

fn columns() -> Vec<Column> {
    [
        ("workload", ColumnKind::Text),
        ("mode", ColumnKind::Text),
        ("workload.elements", ColumnKind::Count),
    ]
    .map(|(name, kind)| Column::parameter(name, kind, ""))
    .to_vec()
}

/// As in `quickstart`: three programs, one of which has a size of its own.
#[test]
fn a_size_that_belongs_to_one_program_makes_no_panels() {
    let rows: Vec<Row> = [
        ("vector-add", Some(4096)),
        ("bfs", None),
        ("laplace3d", None),
    ]
    .into_iter()
    .flat_map(|(name, elements)| {
        ["whole-page", "multi-range"].map(|mode| row(name, elements, mode))
    })
    .collect();
    let plots = plots(&rows, &columns(), "workload");
    assert!(plots.iter().all(|plot| plot.panel_by.is_none()));
    assert!(plots.iter().all(|plot| plot.id != "sweep"));
}

#[test]
fn a_swept_size_makes_panels() {
    let rows = [
        row("vector-add", Some(1), "whole-page"),
        row("vector-add", Some(2), "whole-page"),
    ];
    let plots = plots(&rows, &columns(), "workload");
    assert_eq!(plots[0].panel_by.as_deref(), Some("workload.elements"));
    assert_eq!(plots[3].id, "sweep");
}
