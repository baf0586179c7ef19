use super::*;

fn report(lines: &[&str]) -> Report {
    let mut report = Report::default();
    for line in lines {
        report.see(line);
    }
    report
}

#[test]
fn a_good_boot() {
    let report = report(&[
        "noise",
        "@ start a",
        "@ value fault 12 instructions",
        "@ pass a\r",
        "@ start b",
        "@ skip b no 1 GiB pages",
        "@ end 2",
    ]);
    assert_eq!(report.outcome("a"), Outcome::Passed);
    assert_eq!(
        report.outcome("b"),
        Outcome::Skipped("no 1 GiB pages".to_owned())
    );
    assert_eq!(report.problem(2), None);
    assert_eq!(
        report.csv(&[("kernel", "6.1")]).unwrap(),
        "# kernel: 6.1\ntest,name,value,unit\na,fault,12,instructions\n"
    );
}

#[test]
fn what_was_not_heard_of_failed() {
    let report = report(&["@ start a", "@ pass b", "@ value 1 2"]);
    assert!(matches!(report.outcome("a"), Outcome::Failed(reason) if reason.contains("hung")));
    assert!(
        matches!(report.outcome("b"), Outcome::Failed(reason) if reason.contains("never started"))
    );
    assert!(report.problem(2).unwrap().contains("went away"));
    assert_eq!(report.csv(&[]), None);
}

#[test]
fn tasks_are_known_by_what_is_observed_of_them() {
    let mut report = Report::default();
    for name in [
        "a.task0.l1_misses",
        "a.task12.l1_misses",
        "a.task12.l2_misses",
        "ab.task3.l1_misses",
    ] {
        report.see_observed(&format!("value {name} 1 misses"));
    }
    assert_eq!(report.observed_tasks("a"), [0, 12]);
    assert!(report.observed_tasks("c").is_empty());
}

#[test]
fn too_few_tests_and_a_broken_setup_are_problems() {
    assert!(report(&["@ end 1"]).problem(2).unwrap().contains("1 of 2"));
    assert_eq!(
        report(&["@ broken setup: no module"]).problem(1).unwrap(),
        "setup: no module"
    );
}
