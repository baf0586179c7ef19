use super::*;

#[test]
fn a_rank_is_no_call() {
    let row = |call: &str| Row::new().parameter("call", call).parameter("rank", 3u64);
    let mut set = ResultSet {
        columns: ["call", "rank"]
            .map(|name| Column::parameter(name, ColumnKind::Text, ""))
            .to_vec(),
        rows: vec![row("(all)"), row("send")],
        ..ResultSet::default()
    };
    divide(&mut set);
    assert_eq!(set.rows[0].parameters.len(), 2);
    assert_eq!(set.rows[0].get("table"), Some(&"rank".into()));
    assert_eq!(set.rows[1].get("table"), Some(&"call".into()));
    assert_eq!(set.rows[1].get("call"), Some(&"send".into()));
}

#[test]
fn rows_of_programs_are_divided_by_what_they_are_about() {
    let row = |kernel: &str| {
        Row::new()
            .parameter("kernel", kernel)
            .parameter("program", "./p")
            .parameter("mode", "on-demand")
    };
    let columns = ["kernel", "program", "mode"];
    let mut set = ResultSet {
        columns: columns
            .map(|name| Column::parameter(name, ColumnKind::Text, ""))
            .to_vec(),
        rows: vec![
            row("(all)"),
            row("sum<int>(int*, int)"),
            row("managed #2"),
            row("join.cu:15"),
            row("join.cu:15 shared-race").metric("defect", "shared-race"),
        ],
        ..ResultSet::default()
    };
    divide(&mut set);
    let about = |row: &Row| {
        let own = row
            .parameters
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        own.collect::<Vec<_>>().join(" ")
    };
    let about: Vec<String> = set.rows.iter().map(about).collect();
    assert_eq!(
        about,
        [
            "table=program program=./p mode=on-demand",
            "table=kernel program=./p kernel=sum<int>(int*, int) mode=on-demand",
            "table=allocation program=./p allocation=managed #2 mode=on-demand",
            "table=line program=./p line=join.cu:15 mode=on-demand",
            "table=defect program=./p line=join.cu:15 mode=on-demand",
        ]
    );
    let names: Vec<&str> = set
        .columns
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    assert_eq!(
        names,
        ["table", "program", "kernel", "allocation", "line", "mode"]
    );
}
