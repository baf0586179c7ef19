use super::*;
use crate::wp::atmosphere::Atmosphere;

const WEATHER: Atmosphere = Atmosphere {
    west_east: 40,
    south_north: 40,
    levels: 28,
    seed: 2,
};

/// All water above and on a square meter of ground, in kg.
fn water(column: &Column) -> f64 {
    let [rain, snow] = column.on_ground().map(f64::from);
    let above: f64 = (0..column.theta.len())
        .map(|level| {
            let air = f64::from(column.density[level]) * f64::from(column.thickness[level]);
            let kinds = &column.fields()[5..];
            air * kinds.iter().map(|kind| f64::from(kind[level])).sum::<f64>()
        })
        .sum();
    rain + snow + above
}

#[test]
fn no_column_gains_or_loses_water() {
    let mut rained = 0;
    for place in 0..40 {
        let mut column = WEATHER.column(place, place);
        let before = water(&column);
        (0..30).for_each(|_| column.step(60.0));
        assert!(
            (water(&column) / before - 1.0).abs() < 1e-5,
            "column {place}"
        );
        rained += u32::from(column.on_ground()[0] > 0.1);
    }
    assert!(rained > 0, "it rained nowhere");
}

#[test]
fn the_state_stays_physical() {
    for place in 0..40 {
        let mut column = WEATHER.column(place, 39 - place);
        (0..60).for_each(|_| column.step(60.0));
        for kind in &column.fields()[5..] {
            assert!(
                kind.iter().all(|value| (-1e-8..0.1).contains(value)),
                "column {place}"
            );
        }
        let kelvin = column
            .theta
            .iter()
            .zip(&column.exner)
            .map(|(theta, exner)| theta * exner);
        assert!(
            kelvin
                .into_iter()
                .all(|kelvin| (200.0..310.0).contains(&kelvin))
        );
    }
}

#[test]
fn what_falls_is_all_on_the_ground_in_the_end() {
    let (density, thickness) = ([1.2, 1.0, 0.8], [200.0, 400.0, 600.0]);
    let mut rain = [0.0, 0.0, 1e-3];
    let mut on_ground = 0.0;
    for _ in 0..200 {
        on_ground += sediment(&mut rain, &density, &thickness, rain_speed, 60.0);
    }
    let before = 0.8 * 600.0 * 1e-3;
    assert!(
        (on_ground / before - 1.0).abs() < 1e-3,
        "{on_ground} of {before} kg"
    );
}

#[test]
fn rain_falls_at_meters_a_second_and_faster_than_snow() {
    let rain = rain_speed(1.225, 1e-3);
    assert!((4.0..8.0).contains(&rain), "{rain} m/s");
    let snow = snow_speed(1.225, 1e-3);
    assert!((0.5..2.0).contains(&snow), "{snow} m/s");
}

#[test]
fn still_air_without_water_does_not_change() {
    let mut column = WEATHER.column(0, 0);
    for kind in [
        &mut column.vapour,
        &mut column.cloud,
        &mut column.ice,
        &mut column.rain,
        &mut column.snow,
    ] {
        kind.fill(0.0);
    }
    let before = column.clone();
    column.step(60.0);
    for (after, before) in column.theta.iter().zip(&before.theta) {
        assert!((after / before - 1.0).abs() < 1e-6);
    }
    assert_eq!(column.rain, before.rain);
    assert_eq!(column.on_ground(), [0.0; 2]);
}
