use super::*;

fn rows_of(mode: &str, time_ns: u64) -> ResultSet {
    let row = |workload: &str| {
        let row = Row {
            kind: "gpu".to_owned(),
            ..Row::new()
        };
        row.parameter("workload", workload)
            .parameter("mode", mode)
            .metric("time_ns", time_ns)
    };
    ResultSet {
        rows: vec![row("bfs"), row("laplace3d")],
        ..ResultSet::default()
    }
}

#[test]
fn merged_rows_have_ratios_and_figures_of_their_kind() {
    let merged = merged([&rows_of("programmer-copy", 10), &rows_of("whole-page", 30)]);
    let ratios: Vec<_> = merged
        .rows
        .iter()
        .map(|row| row.number("time_over_programmer_copy"))
        .collect();
    assert_eq!(ratios, [Some(1.0), Some(1.0), Some(3.0), Some(3.0)]);
    let columns: Vec<_> = merged.plots[0].column_names();
    assert_eq!(columns, ["workload", "mode", "time_ns"]);
}

#[test]
fn figures_of_several_kinds_stay_apart() {
    let mut programs = rows_of("whole-page", 5);
    for row in &mut programs.rows {
        row.kind = "cuda".to_owned();
        *row = std::mem::take(row)
            .parameter("table", "kernel")
            .parameter("kernel", "join")
            .parameter("program", "./join");
    }
    let merged = merged([&rows_of("programmer-copy", 10), &programs]);
    let ids: std::collections::BTreeSet<&str> =
        merged.plots.iter().map(|plot| plot.id.as_str()).collect();
    assert_eq!(ids.len(), merged.plots.len());
    assert!(
        ids.contains("gpu-time") && ids.contains("cuda-time"),
        "{ids:?}"
    );
}

#[test]
fn machines_are_never_averaged() {
    let of_machine = |machine: &str, mode: &str, factor: f64| {
        let mut set = rows_of(mode, 10);
        for row in &mut set.rows {
            let rest = std::mem::take(row);
            *row = rest
                .parameter("machine", machine)
                .parameter("workload.factor", factor);
        }
        set
    };
    let panels = |sets: &[ResultSet]| {
        let plots = merged(sets).plots;
        let panel = |plot: &Plot| (plot.id.clone(), plot.panel_by.clone(), plot.only.len());
        plots.iter().map(panel).collect::<Vec<_>>()
    };
    let one = |factor| of_machine("gtx480", "whole-page", factor);
    let other = |factor| of_machine("v100", "whole-page", factor);
    let time = |sets: &[ResultSet]| panels(sets).remove(0);
    assert_eq!(time(&[one(1.0), one(1.0)]), ("time".to_owned(), None, 0));
    // Machines that share no place are no mean.
    let apart = of_machine("v100", "multi-range", 1.0);
    assert_eq!(time(&[one(1.0), apart]), ("time".to_owned(), None, 0));
    let by_machine = Some("machine".to_owned());
    assert_eq!(
        time(&[one(1.0), other(1.0)]),
        ("time".to_owned(), by_machine, 0)
    );
}
