use super::*;
use pagemill_sim::LineAccount;
use pagemill_types::Picos;

fn line(file: &str, line: u32, waiting: u64) -> LineReport {
    let account = LineAccount {
        waiting: Picos(waiting),
        ..LineAccount::default()
    };
    LineReport {
        file: file.to_owned(),
        line,
        account,
    }
}

#[test]
fn names_are_as_long_as_they_must_be() {
    let lines = [
        line("/r/a/x.cu", 1, 0),
        line("/r/b/x.cu", 2, 0),
        line("/r/b/y.cu", 3, 0),
    ];
    let names: Vec<String> = lines.iter().map(|one| name(one, &lines)).collect();
    assert_eq!(names, ["a/x.cu:1", "b/x.cu:2", "y.cu:3"]);
}

#[test]
fn the_longest_waits_stay_where_there_are_many_lines() {
    let lines: Vec<_> = (1..=60).map(|at| line("x.cu", at, u64::from(at))).collect();
    let numbers: Vec<u32> = busiest(&lines).iter().map(|line| line.line).collect();
    assert_eq!(numbers, (11..=60).collect::<Vec<_>>());
}
