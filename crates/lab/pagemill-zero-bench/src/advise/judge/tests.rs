use super::*;
use Standing::{Faster, Same, Slower};

#[test]
fn only_runs_that_do_not_overlap_differ() {
    let advice = compare(&[
        &[10, 12, 11],
        &[9, 10, 8],
        &[9, 8, 9],
        &[13, 14, 15],
        &[12, 20, 13],
    ]);
    assert_eq!(advice.standings, [Same, Same, Faster, Slower, Same]);
    assert_eq!(advice.best, 2);
}

#[test]
fn the_simpler_one_is_advised_unless_the_fastest_is_clearly_ahead() {
    let base: &[u64] = &[100, 101];
    assert_eq!(compare(&[base, &[50, 60], &[45, 55]]).best, 1);
    assert_eq!(compare(&[base, &[50, 60], &[40, 45]]).best, 2);
    assert_eq!(compare(&[base, &[90, 91], &[50, 60], &[45, 55]]).best, 2);
}

#[test]
fn without_a_gain_nothing_is_changed() {
    assert_eq!(compare(&[&[5], &[5], &[6]]).best, 0);
    assert_eq!(compare(&[&[5, 6], &[]]).best, 0);
    assert_eq!(compare(&[]).best, 0);
}
