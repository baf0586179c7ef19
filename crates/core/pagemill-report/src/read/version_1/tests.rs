use super::*;

fn divided(columns: &[&str], rows: Vec<Row>) -> (Vec<String>, Vec<String>) {
    let described = columns.iter();
    let mut set = ResultSet {
        columns: described
            .map(|name| Column::parameter(*name, ColumnKind::Text, ""))
            .collect(),
        rows,
        ..ResultSet::default()
    };
    divide(&mut set);
    let shown = |row: &Row| {
        let own = row.parameters.iter();
        let own = own.map(|(name, value)| format!("{name}={value}"));
        own.collect::<Vec<_>>().join(" ")
    };
    let columns = set.columns.iter().map(|column| column.name.clone());
    (columns.collect(), set.rows.iter().map(shown).collect())
}

#[test]
fn rows_of_programs_are_divided_by_what_they_are_about() {
    let row = |kernel: &str| {
        Row::new()
            .parameter("kernel", kernel)
            .parameter("program", "./p")
    };
    let alone = Row::new().parameter("kernel", "add");
    let other = Row::new().parameter("workload", "bfs");
    let defect = |name: &str| row(name).metric("defect", "shared-race");
    let rows = vec![
        row("(all)"),
        row("sum<int>(int*, int)"),
        row("managed #2"),
        row("my join.cu:15"),
        defect("my join.cu:15 shared-race"),
        defect("no line"),
        alone,
        other,
    ];
    // In any order of columns, as joined sets have them.
    for columns in [
        ["kernel", "program", "workload"],
        ["workload", "program", "kernel"],
    ] {
        let (columns, rows) = divided(&columns, rows.clone());
        assert_eq!(columns[..3], ["table", "allocation", "line"]);
        assert_eq!(columns.len(), 6);
        assert_eq!(
            rows,
            [
                "table=program program=./p",
                "table=kernel kernel=sum<int>(int*, int) program=./p",
                "table=allocation allocation=managed #2 program=./p",
                "table=line line=my join.cu:15 program=./p",
                "table=defect line=my join.cu:15 program=./p",
                "table=defect line=no program=./p",
                "table=kernel kernel=add",
                "workload=bfs",
            ]
        );
    }
}

#[test]
fn a_rank_is_no_call() {
    let row = |call: &str| Row::new().parameter("rank", 3u64).parameter("call", call);
    let (columns, rows) = divided(&["rank", "call"], vec![row("(all)"), row("send")]);
    assert_eq!(columns, ["table", "rank", "call"]);
    assert_eq!(rows, ["table=rank rank=3", "table=call call=send rank=3"]);
}

#[test]
fn rows_of_other_kinds_stay_as_they_are() {
    let row = Row::new()
        .parameter("kernel", "6.1")
        .parameter("mode", "pool");
    let (columns, rows) = divided(&["kernel", "mode"], vec![row]);
    assert_eq!(columns, ["kernel", "mode"]);
    assert_eq!(rows, ["kernel=6.1 mode=pool"]);
}

#[test]
fn advice_has_its_table() {
    let row = |about: &str| Row::new().parameter("row", about).parameter("change", "");
    let (columns, rows) = divided(
        &["row", "allocation", "change"],
        vec![row("allocation"), row("machine")],
    );
    assert_eq!(columns, ["table", "allocation", "change"]);
    assert_eq!(rows, ["table=allocation change=", "table=machine change="]);
}
