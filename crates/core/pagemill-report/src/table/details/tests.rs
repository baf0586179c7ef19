use super::*;

fn of_line(number: u64) -> Row {
    let row = Row::new().parameter("table", "line");
    let row = row.parameter("line", format!("a.cu:{number}"));
    row.metric("waiting_time_ns", number)
}

fn of_kernel(launches: u64) -> Row {
    let row = Row::new().parameter("table", "kernel");
    row.metric("launches", launches)
}

#[test]
fn a_table_has_the_dearest_rows_of_a_kind_and_says_how_many_it_leaves_out() {
    let whole = Row::new().parameter("table", "program");
    let mut set = ResultSet::default();
    set.rows.push(whole.clone());
    set.rows.extend((1..=23).map(of_kernel));
    set.rows.extend((1..=20).map(of_line));
    let kernels: Vec<Row> = (4..=23).rev().map(of_kernel).collect();
    let lines: Vec<Row> = (1..=20).map(of_line).collect();
    let shown = dearest(&set);
    assert_eq!(
        shown.rows,
        [vec![whole.clone()], kernels.clone(), lines].concat()
    );
    assert_eq!(shown.summary.facts.len(), 1);
    assert_eq!(shown.summary.facts[0].value, 3u64.into());
    set.rows.extend((21..=25).map(of_line));
    let shown = dearest(&set);
    let lines: Vec<Row> = (6..=25).rev().map(of_line).collect();
    assert_eq!(shown.rows, [vec![whole.clone()], kernels, lines].concat());
    assert_eq!(shown.summary.facts[1].value, 5u64.into());
    // A sweep compares programs: each may have as many.
    set.rows.push(whole);
    assert_eq!(dearest(&set).rows, set.rows);
}

#[test]
fn a_table_keeps_rows_whose_cost_was_not_measured() {
    let row = |number: u64| {
        Row::new()
            .parameter("table", "kernel")
            .parameter("kernel", number)
    };
    let mut set = ResultSet::default();
    set.rows.extend((1..=50).map(row));
    assert_eq!(dearest(&set).rows, set.rows);
}
