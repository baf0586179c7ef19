use super::*;

const HINTS: &str = r#"
program = "app"
machine = ""
allocation = [{ number = 1, bytes = 100, name = "a" }, { number = 3, bytes = 300, name = "b" }]
call = [
    { allocation = 3, action = "prefetch-gpu", before_launch = 2, ranges = [[10, 20], [30, 40]] },
    { allocation = 1, action = "read-mostly" },
    { allocation = 1, action = "prefetch-gpu", before_launch = 1 },
    { allocation = 3, action = "prefetch-cpu", before_launch = 9 },
]
"#;

fn front() -> Front {
    Front::new(Hints::parse(HINTS).unwrap())
}

fn outcomes(front: &Front) -> Vec<Outcome> {
    front.report(1, 0, 0, Vec::new()).outcomes
}

#[test]
fn each_call_is_due_at_its_moment() {
    let mut front = front();
    let whole: Vec<Range<u64>> = std::iter::once(0x1000..0x1064).collect();
    let advice = front.allocated(0x1000, 100);
    assert_eq!(advice.len(), 1);
    assert_eq!(
        (advice[0].action, advice[0].ranges.as_slice()),
        (HintAction::ReadMostly, whole.as_slice())
    );
    assert_eq!(front.allocated(0x2000, 200), []);
    assert_eq!(front.allocated(0x3000, 300), []);
    assert_eq!(front.next_due(), Some(1));
    assert_eq!(front.before_launch(1)[0].ranges, whole);
    let second = front.before_launch(2);
    assert_eq!(second[0].ranges, [0x300a..0x3014, 0x301e..0x3028]);
    front.ended(&advice[0], Ok(()));
    front.ended(&second[0], Err("no".to_owned()));
    assert_eq!(front.next_due(), Some(9));
    let left_out = Outcome::LeftOut("no".to_owned());
    assert_eq!(
        outcomes(&front),
        [
            left_out,
            Outcome::Made,
            Outcome::NotReached,
            Outcome::NotReached
        ]
    );
}

#[test]
fn memory_of_another_size_is_left_alone() {
    let mut front = front();
    assert_eq!(front.allocated(0x1000, 101), []);
    assert_eq!(front.before_launch(1), []);
    let Outcome::LeftOut(reason) = &outcomes(&front)[1] else {
        panic!()
    };
    assert!(
        reason.contains("has 101 bytes, and the hints are for one of 100"),
        "{reason}"
    );
    assert_eq!(outcomes(&front)[1], outcomes(&front)[2]);
}

#[test]
fn memory_that_was_freed_is_not_touched() {
    let mut front = front();
    front.allocated(0x1000, 100);
    front.freed(0x1000);
    // Another allocation at the same address has another number.
    front.allocated(0x1000, 100);
    assert_eq!(front.before_launch(1), []);
    let Outcome::LeftOut(reason) = &outcomes(&front)[2] else {
        panic!()
    };
    assert_eq!(reason, "allocation 1 is not alive before launch 1");
}

#[test]
fn launches_that_cannot_be_counted_get_nothing() {
    let mut front = front();
    front.allocated(0x1000, 100);
    front.stop_counting("a graph");
    assert_eq!(front.next_due(), None);
    assert_eq!(front.before_launch(1), []);
    assert_eq!(outcomes(&front)[3], Outcome::LeftOut("a graph".to_owned()));
}

#[test]
fn reports_are_read_back_and_strangers_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let report = front().report(7, 3, 99, vec!["x".to_owned()]);
    report.write(folder.path()).unwrap();
    std::fs::write(folder.path().join("hints.toml"), HINTS).unwrap();
    assert_eq!(FrontReport::read_all(folder.path()).unwrap(), [report]);
    std::fs::write(folder.path().join("front-8.json"), "{}").unwrap();
    let error = FrontReport::read_all(folder.path()).unwrap_err();
    assert!(error.contains("front-8.json"), "{error}");
}
