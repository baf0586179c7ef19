use super::*;

#[test]
fn the_first_difference_is_named() {
    let mut check = Check::bit_exact("demo");
    check.equal("out", 0, 5, 5).expect("equal");
    let error = check.equal("out", 1, 5, 6).expect_err("different");
    assert_eq!(
        error.to_string(),
        "demo: out[1] is 6, the CPU reference says 5 (must be equal)"
    );
}

#[test]
fn signed_zeros_and_nan_are_told_apart() {
    assert!(
        Check::bit_exact("demo")
            .same_bits("out", 0, 0.0, -0.0)
            .is_err()
    );
    assert!(
        Check::bit_exact("demo")
            .same_bits("out", 0, f32::NAN, f32::NAN)
            .is_ok()
    );
    assert!(
        Check::within("demo", 1.0)
            .close("out", 0, 0.0, f32::NAN, 1.0)
            .is_err()
    );
}

#[test]
fn the_largest_error_is_kept() {
    let mut check = Check::within("demo", 0.5);
    check.close("out", 0, 1.0, 1.25, 1.0).expect("within");
    check.close("out", 1, 1.0, 1.125, 1.0).expect("within");
    assert!(check.close("out", 2, 1.0, 1.75, 1.0).is_err());
    assert_eq!(check.finish().largest_error, 0.25);
}
