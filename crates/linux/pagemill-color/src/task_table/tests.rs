use pagemill_policy::coloring::quota::QUOTA_POLICIES;
use pagemill_policy::coloring::{Color, Sensitivity};

use super::*;

fn range(first: u16, count: u16) -> ColorRange {
    ColorRange::new(Color(first), count).expect("a range")
}

fn task(class: Sensitivity, has: Option<ColorRange>) -> Task {
    Task {
        wish: Wish::Curve(class.typical_curve(64)),
        colors: has,
        pages: 1,
    }
}

fn task_table() -> TaskTable {
    TaskTable::new(64, QUOTA_POLICIES.find("best-quota").expect("it is there"))
}

#[test]
fn a_sensitive_task_gets_the_most_and_all_when_it_is_alone_again() {
    let mut task_table = task_table();
    task_table
        .join(1, task(Sensitivity::High, None))
        .expect("room");
    assert_eq!(task_table.reassign(), [(1, range(0, 64))]);
    task_table
        .join(2, task(Sensitivity::LowManyMisses, None))
        .expect("room");
    let changed = task_table.reassign();
    assert_eq!(changed.len(), 2);
    assert!(changed[0].1.count() >= 48, "{changed:?}");
    assert!(task_table.leave(2));
    assert_eq!(task_table.reassign(), [(1, range(0, 64))]);
    assert!(!task_table.leave(2));
}

#[test]
fn tasks_that_come_back_after_a_restart_keep_what_they_have() {
    let mut before = task_table();
    for number in 0..4 {
        let class = Sensitivity::ALL[number as usize];
        before.join(number, task(class, None)).expect("room");
    }
    before.reassign();
    let mut after = task_table();
    for number in [2, 0, 3, 1] {
        let class = Sensitivity::ALL[number as usize];
        let has = before.task(number).expect("it runs").colors;
        after.join(number, task(class, has)).expect("room");
    }
    assert_eq!(after.reassign(), []);
}

#[test]
fn colors_that_are_taken_or_not_there_do_not_count() {
    let mut task_table = task_table();
    let ends = [Some(range(0, 10)), Some(range(5, 10)), Some(range(60, 10))];
    for (number, has) in ends.into_iter().enumerate() {
        task_table
            .join(number as u64, task(Sensitivity::Medium, has))
            .expect("room");
    }
    let had = |number| task_table.task(number).expect("it runs").colors;
    assert_eq!((had(0), had(1), had(2)), (Some(range(0, 10)), None, None));
}

#[test]
fn a_task_too_many_is_refused_and_changes_nothing() {
    let mut task_table = task_table();
    let fixed = |count| Task {
        wish: Wish::Colors(count),
        colors: None,
        pages: 0,
    };
    task_table.join(1, fixed(60)).expect("room");
    task_table.reassign();
    let error = task_table.join(2, fixed(5)).expect_err("only 4 are left");
    assert_eq!(
        error,
        AssignError::Full {
            needed: 65,
            colors: 64
        }
    );
    assert_eq!(task_table.reassign(), []);
    task_table.join(3, fixed(4)).expect("room");
    assert_eq!(task_table.reassign(), [(3, range(60, 4))]);
}
