use super::*;

const SMALL: Atmosphere = Atmosphere {
    west_east: 30,
    south_north: 20,
    levels: 28,
    seed: 1,
};

#[test]
fn pressure_and_density_are_those_of_the_standard_atmosphere() {
    let column = SMALL.column(3, 4);
    // At 5.5 km about half the air is below.
    let mut meters = 0.0;
    for level in 0..28 {
        let height = meters + 0.5 * column.thickness[level];
        meters += column.thickness[level];
        if (5_000.0..6_000.0).contains(&height) {
            assert!((48_000.0..58_000.0).contains(&column.pressure[level]));
        }
        let kelvin = column.theta[level] * column.exner[level];
        assert!((214.0..301.0).contains(&kelvin), "{kelvin} K at {height} m");
    }
    assert!((meters - TOP_METERS).abs() < 1.0, "{meters}");
    assert!((1.1..1.25).contains(&column.density[0]));
    assert!(column.pressure.is_sorted_by(|below, above| below > above));
}

#[test]
fn some_columns_are_stormy_and_some_fair() {
    let rain_at = |index: u32| SMALL.column(index % 30, index / 30).rain[0];
    let stormy = (0..600).filter(|&index| rain_at(index) > 0.0).count();
    assert!((1..600).contains(&stormy), "{stormy} of 600");
}

#[test]
fn cells_are_numbered_without_gaps() {
    let mut seen = vec![false; SMALL.cells() as usize];
    for j in 0..20 {
        for i in 0..30 {
            for level in 0..28 {
                seen[SMALL.cell(i, j, level) as usize] = true;
            }
        }
    }
    assert!(seen.into_iter().all(|seen| seen));
}
