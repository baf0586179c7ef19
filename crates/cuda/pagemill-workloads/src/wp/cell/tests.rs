use super::*;

const DRY: Cell = Cell {
    temperature: 285.0,
    vapour: 0.0,
    cloud: 0.0,
    ice: 0.0,
    rain: 0.0,
    snow: 0.0,
};
const PRESSURE: f32 = 9e4;

fn water(cell: &Cell) -> f64 {
    [cell.vapour, cell.cloud, cell.ice, cell.rain, cell.snow]
        .into_iter()
        .map(f64::from)
        .sum()
}

/// Enthalpy of the air with the heat that its water could still give, in J/kg.
fn enthalpy(cell: &Cell) -> f64 {
    let frozen = f64::from(cell.ice) + f64::from(cell.snow);
    f64::from(HEAT_CAPACITY) * f64::from(cell.temperature)
        + f64::from(HEAT_OF_VAPORISATION) * f64::from(cell.vapour)
        - f64::from(HEAT_OF_FUSION) * frozen
}

fn saturation_of(cell: &Cell) -> f32 {
    saturated(cell.temperature, Phase::at(cell.temperature), PRESSURE)
}

#[test]
fn saturation_is_what_tables_say() {
    // 23.4 hPa over water at 20 degrees, 6.11 hPa at the freezing point, 0.128 hPa over ice at -40 degrees.
    for (kelvin, hectopascal) in [(293.15, 23.4), (273.15, 6.11), (233.15, 0.128)] {
        let ratio = saturated(kelvin, Phase::at(kelvin), 1e5);
        let pressure = 1e3 * ratio / (0.622 + ratio);
        assert!(
            (pressure / hectopascal - 1.0).abs() < 0.02,
            "{kelvin} K: {pressure} hPa"
        );
    }
}

#[test]
fn excess_vapour_becomes_cloud_and_warms() {
    let mut cell = Cell {
        vapour: 1.2 * saturation_of(&DRY),
        ..DRY
    };
    cell.step(PRESSURE, 1.1, 60.0);
    assert!(cell.cloud > 0.0 && cell.temperature > DRY.temperature);
    assert!((cell.vapour / saturation_of(&cell) - 1.0).abs() < 0.01);
}

#[test]
fn cloud_in_dry_air_evaporates_and_cools() {
    let mut cell = Cell { cloud: 1e-4, ..DRY };
    cell.step(PRESSURE, 1.1, 60.0);
    assert_eq!(cell.cloud, 0.0);
    assert_eq!(cell.vapour, 1e-4);
    assert!(cell.temperature < DRY.temperature);
}

#[test]
fn snow_melts_above_freezing_and_drops_freeze_far_below() {
    let mut warm = Cell { snow: 1e-3, ..DRY };
    warm.melt();
    assert!(warm.snow == 0.0 && warm.rain == 1e-3);
    let mut cold = Cell {
        rain: 1e-3,
        cloud: 1e-3,
        temperature: 225.0,
        ..DRY
    };
    cold.freeze();
    assert!(cold.rain == 0.0 && cold.cloud == 0.0 && cold.ice > 0.0 && cold.snow > 0.0);
}

#[test]
fn a_step_keeps_water_and_enthalpy() {
    for kelvin in (200..310).step_by(5) {
        for humidity in [0.0, 0.5, 1.0, 1.3] {
            let temperature = kelvin as f32;
            let mut cell = Cell {
                temperature,
                vapour: humidity * saturated(temperature, Phase::at(temperature), PRESSURE),
                cloud: 1e-3,
                ice: 4e-4,
                rain: 7e-4,
                snow: 3e-4,
            };
            let (water_before, enthalpy_before) = (water(&cell), enthalpy(&cell));
            cell.step(PRESSURE, 1.0, 60.0);
            assert!(
                (water(&cell) / water_before - 1.0).abs() < 1e-6,
                "{kelvin} {humidity}"
            );
            assert!(
                (enthalpy(&cell) / enthalpy_before - 1.0).abs() < 1e-6,
                "{kelvin} {humidity}"
            );
            for kind in [cell.vapour, cell.cloud, cell.ice, cell.rain, cell.snow] {
                assert!(kind >= -1e-9, "{kelvin} {humidity}: {cell:?}");
            }
        }
    }
}
