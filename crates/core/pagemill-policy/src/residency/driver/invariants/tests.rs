use super::super::{BLOCK_BYTES, DriverPolicy, Effects};
use super::*;
use pagemill_types::Picos;

/// Two blocks, of which one is on the GPU and the other untouched.
fn driver() -> Driver {
    let mut driver = Driver::empty(4 * BLOCK_BYTES, &DriverPolicy::default());
    driver.allocate(0..2 * BLOCK_BYTES);
    let mut effects = Effects::default();
    driver.service(0, &PageMask::FULL, Picos::ZERO, &mut effects);
    driver
}

#[test]
fn a_broken_state_says_what_is_wrong() {
    let with = |change: fn(&mut Driver)| {
        let mut driver = driver();
        change(&mut driver);
        driver.broken_invariant()
    };
    let one = PageMask::range(7..8);
    let says = |wrong: Option<String>, what: &str| {
        let wrong = wrong.expect("it is broken");
        assert!(wrong.contains(what), "{wrong}");
    };
    assert_eq!(with(|_| ()), None);
    says(with(|driver| driver.chunks.remove(0)), "no chunk");
    says(with(|driver| driver.chunks.push(1)), "without a page");
    says(
        with(|driver| driver.untouched.add(0, &PageMask::FULL)),
        "untouched",
    );
    says(
        with(|driver| driver.duplicates.add(1, &PageMask::FULL)),
        "both memories",
    );
    let mut cut = driver();
    cut.extents.insert(0, one);
    says(cut.broken_invariant(), "beyond the end");
}
