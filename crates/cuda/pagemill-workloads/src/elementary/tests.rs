use super::*;

#[test]
fn powers_of_two_are_close_to_the_exact_ones() {
    for i in -1260..=1260 {
        let x = i as f32 * 0.0999;
        let exact = f64::from(x).exp2();
        let error = (f64::from(power_of_two(x)) / exact - 1.0).abs();
        assert!(error < 3e-7, "2^{x}: relative error {error:e}");
    }
    assert_eq!(power_of_two(-3.0), 0.125);
    assert_eq!(power_of_two(1e9), power_of_two(126.0));
    assert_eq!(power_of_two(-1e9), power_of_two(-126.0));
}

#[test]
fn logarithms_are_close_to_the_exact_ones() {
    for i in 1..4000 {
        for scale in [1e-12, 1e-3, 1.0, 1e6] {
            let x = i as f32 * scale;
            let exact = f64::from(x).log2();
            let error = (f64::from(log_two(x)) - exact).abs() / exact.abs().max(1.0);
            assert!(error < 2e-7, "log2({x}): error {error:e}");
        }
    }
    assert_eq!(log_two(1.0), 0.0);
    assert_eq!(log_two(1024.0), 10.0);
}

#[test]
fn powers_agree_with_the_square_root() {
    for i in 1..100 {
        let x = i as f32 * 1e-4;
        assert!((power(x, 0.5) / x.sqrt() - 1.0).abs() < 3e-6, "{x}");
    }
}
