use super::*;

fn squares(jobs: usize, bad: &[u32]) -> Result<Vec<u32>, String> {
    let items: Vec<u32> = (0..50).collect();
    let work = |item: &u32| match *item {
        item if !bad.contains(&item) => Ok(item * item),
        13 => panic!("thirteen"),
        item => Err(PointError::Failed(format!("{item} is bad"))),
    };
    run_all(&items, jobs, work).map_err(|(index, error)| format!("{index}: {error}"))
}

#[test]
fn results_are_in_order_for_any_number_of_jobs() {
    let expected: Vec<u32> = (0..50).map(|item| item * item).collect();
    for jobs in [1, 2, 7, 100] {
        assert_eq!(squares(jobs, &[]), Ok(expected.clone()), "{jobs} jobs");
    }
}

#[test]
fn the_first_failure_in_order_is_told() {
    for jobs in [1, 2, 7, 100] {
        for _ in 0..20 {
            assert_eq!(
                squares(jobs, &[49, 20, 21]),
                Err("20: 20 is bad".to_owned()),
                "{jobs} jobs"
            );
        }
    }
}

#[test]
fn a_panic_is_a_failure_of_its_point() {
    let error = squares(3, &[13, 40]).expect_err("13 panics");
    assert!(
        error.starts_with("13: internal error, a defect of pagemill: thirteen ("),
        "{error}"
    );
    assert!(error.contains("pool/tests.rs"), "{error}");
}

#[test]
fn no_items_are_no_results() {
    assert_eq!(
        run_all(&[], 4, |(): &()| Ok(()))
            .expect("nothing fails")
            .len(),
        0
    );
}
