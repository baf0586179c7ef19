use pagemill_scenario::load;

use crate::result_set;

/// The figures of the sister document have published means; each is drawn in the panel of its link.
#[test]
fn published_means_are_in_their_panels() {
    let scenario = load("ppm-fig4", &[]).expect("a built-in scenario");
    let set = result_set(&scenario, std::iter::empty());
    let published: Vec<(String, f64)> = set.plots[0]
        .published
        .iter()
        .map(|item| (item.series.to_string(), item.value))
        .collect();
    let expected = [
        ("whole-page", 72.72),
        ("whole-page", 77.86),
        ("single-range", 1.30),
        ("single-range", 1.10),
        ("single-range", 2.0),
    ];
    assert_eq!(
        published,
        expected.map(|(series, value)| (series.to_owned(), value))
    );
    let panels: Vec<f64> = set.plots[0]
        .published
        .iter()
        .filter_map(|item| item.panel.as_ref()?.as_f64())
        .collect();
    assert_eq!(panels, [16e9, 32e9, 16e9, 32e9, 16e9]);
    assert_eq!(set.plots[0].published[4].x, Some("laplace3d".into()));
}
