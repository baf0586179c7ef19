use super::*;

fn programs(figures: &[(&str, &[(&str, f64)])]) -> BTreeMap<String, Vec<(String, f64)>> {
    let named = |(name, figure): &(&str, f64)| ((*name).to_owned(), *figure);
    let program = |(name, own): &(&str, &[(&str, f64)])| {
        ((*name).to_owned(), own.iter().map(named).collect())
    };
    figures.iter().map(program).collect()
}

#[test]
fn the_best_everywhere_is_first_for_sure() {
    let programs = programs(&[
        ("x", &[("a", 10.0), ("b", 20.0)]),
        ("y", &[("a", 5.0), ("b", 40.0)]),
    ]);
    let standings = standings(&programs, 7);
    let [a, b] = &standings[..] else {
        panic!("two competitors")
    };
    assert_eq!(
        (a.name.as_str(), a.mean, a.low, a.high),
        ("a", 1.0, 1.0, 1.0)
    );
    assert_eq!((a.wins, a.first), (2, 1.0));
    // The square root of 2 x 8.
    assert!((b.mean - 4.0).abs() < 1e-9);
    assert!((b.low - 2.0).abs() < 1e-9 && (b.high - 8.0).abs() < 1e-9);
    assert_eq!(b.worst, (8.0, "y".to_owned()));
}

#[test]
fn who_is_first_by_one_program_alone_is_not_sure() {
    let mut figures: Vec<(String, Vec<(String, f64)>)> = (0..9)
        .map(|number| {
            (
                format!("p{number}"),
                vec![("a".to_owned(), 1.1), ("b".to_owned(), 1.0)],
            )
        })
        .collect();
    figures.push((
        "last".to_owned(),
        vec![("a".to_owned(), 1.0), ("b".to_owned(), 9.0)],
    ));
    let standings = standings(&figures.into_iter().collect(), 1);
    assert_eq!(standings[0].name, "a");
    assert!((0.4..0.9).contains(&standings[0].first), "{standings:?}");
    assert!(standings[0].low <= standings[0].mean && standings[0].mean <= standings[0].high);
}
