use super::*;

fn value_with_longest_rate(longest: f64, normals: &[f64; STEPS]) -> f64 {
    let mut rates = [Dual::constant(INITIAL_RATE); RATES];
    rates[RATES - 1].value = longest;
    portfolio(&final_rates(rates, normals)).value
}

#[test]
fn the_derivative_equals_a_finite_difference() {
    let bump = 1e-6;
    for path in 0..50 {
        let normals = std::array::from_fn(|step| normal(3, path, step as u32));
        let above = value_with_longest_rate(INITIAL_RATE + bump, &normals);
        let below = value_with_longest_rate(INITIAL_RATE - bump, &normals);
        let delta = valuation(3, path).delta;
        assert!(
            ((above - below) / (2.0 * bump) - delta).abs() < 1e-5,
            "path {path}: {delta}"
        );
    }
}

#[test]
fn flat_rates_price_a_swap_at_par() {
    let rates = [Dual::constant(0.05); RATES];
    // At a swap rate equal to the forward rate a swap is worth nothing: bond + rate x annuity = 1.
    assert!(portfolio(&rates).nearest_strike < 1e-12);
    // A portfolio of receiver swaptions is worth what the lowest swap rates give.
    assert!(portfolio(&rates).value > 0.0);
}

#[test]
fn the_normals_have_mean_0_and_deviation_1() {
    let drawn: Vec<f64> = (0..5000)
        .flat_map(|path| (0..40).map(move |step| normal(9, path, step)))
        .collect();
    let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
    let variance = drawn.iter().map(|z| (z - mean).powi(2)).sum::<f64>() / drawn.len() as f64;
    assert!(mean.abs() < 0.01, "{mean}");
    assert!((variance - 1.0).abs() < 0.01, "{variance}");
}
