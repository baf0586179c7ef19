use super::*;

#[test]
fn a_table_has_the_dearest_lines_and_says_how_many_it_leaves_out() {
    let of_line = |number: u64| {
        let row = Row::new().parameter("table", "line");
        let row = row.parameter("line", format!("a.cu:{number}"));
        row.metric("waiting_time_ns", number)
    };
    let kernel = Row::new().parameter("table", "kernel");
    let mut set = ResultSet::default();
    set.rows.push(kernel.clone());
    set.rows.extend((1..=20).map(of_line));
    assert_eq!(for_people(&set).rows, set.rows);
    set.rows.extend((21..=25).map(of_line));
    let shown = for_people(&set);
    let dearest: Vec<Row> = (6..=25).rev().map(of_line).collect();
    assert_eq!(shown.rows, [vec![kernel], dearest].concat());
    assert_eq!(shown.summary.facts[0].value, 5u64.into());
}
