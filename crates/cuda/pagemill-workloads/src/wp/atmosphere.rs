//! The generated weather: a standard troposphere under a tropopause, with storms in squares of columns.

use super::cell::{Phase, saturated};
use super::column::Column;
use crate::elementary::{power, power_of_two};
use crate::random::Random;

const TOP_METERS: f32 = 15_000.0;
const GROUND_KELVIN: f32 = 300.0;
const TROPOPAUSE_KELVIN: f32 = 215.0;
const LAPSE_KELVIN_PER_METER: f32 = 6.5e-3;
const GROUND_PASCAL: f32 = 1.0e5;
const GAS_CONSTANT_AIR: f32 = 287.0;
const GAS_CONSTANT_BY_HEAT_CAPACITY: f32 = 287.0 / 1004.5;
/// Gravity by the gas constant of air, for powers of two, in kelvin per meter.
const FALL_OF_PRESSURE: f32 = 9.81 / 287.0 * std::f32::consts::LOG2_E;
/// Columns on a side of a square that is stormy as a whole, or not.
const STORM_COLUMNS: u32 = 12;
const STORMY_SHARE: f32 = 0.4;

/// The initial state of every column, generated when asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Atmosphere {
    pub(super) west_east: u32,
    pub(super) south_north: u32,
    pub(super) levels: u32,
    pub(super) seed: u64,
}

/// What one column has in common with no other.
#[derive(Clone, Copy, Debug)]
struct Weather {
    warmer_kelvin: f32,
    humidity: f32,
    /// 0 in fair weather, up to 1.
    storm: f32,
}

impl Atmosphere {
    pub(super) fn columns(&self) -> u64 {
        u64::from(self.west_east) * u64::from(self.south_north)
    }

    pub(super) fn cells(&self) -> u64 {
        self.columns() * u64::from(self.levels)
    }

    /// Index of a cell in the 3-D arrays.
    pub(super) fn cell(&self, i: u32, j: u32, level: u32) -> u64 {
        let row = u64::from(j) * u64::from(self.levels) + u64::from(level);
        row * u64::from(self.west_east) + u64::from(i)
    }

    /// The column at (`i`, `j`) before the first step.
    pub(super) fn column(&self, i: u32, j: u32) -> Column {
        let weather = self.weather(i, j);
        let mut column = Column::with_capacity(self.levels as usize);
        let mut bottom_meters = 0.0;
        let mut bottom_pascal = GROUND_PASCAL;
        for level in 0..self.levels {
            let thickness = self.thickness_meters(level);
            let height = bottom_meters + 0.5 * thickness;
            let standard = GROUND_KELVIN - LAPSE_KELVIN_PER_METER * height;
            let temperature = standard.max(TROPOPAUSE_KELVIN) + weather.warmer_kelvin;
            let half = power_of_two(-FALL_OF_PRESSURE * 0.5 * thickness / temperature);
            let pressure = bottom_pascal * half;
            push_level(
                &mut column,
                weather,
                height,
                thickness,
                temperature,
                pressure,
            );
            bottom_meters += thickness;
            bottom_pascal = pressure * half;
        }
        column
    }

    fn weather(&self, i: u32, j: u32) -> Weather {
        let index = u64::from(j) * u64::from(self.west_east) + u64::from(i);
        let own = Random::new(self.seed, 0);
        let square = u64::from(j / STORM_COLUMNS) << 32 | u64::from(i / STORM_COLUMNS);
        let shared = Random::new(self.seed, 1).unit_f32(square);
        let storm = (shared - (1.0 - STORMY_SHARE)).max(0.0) / STORMY_SHARE;
        Weather {
            warmer_kelvin: own.f32_in(3 * index, -0.5, 0.5),
            humidity: own.f32_in(3 * index + 1, 0.6, 0.9),
            storm: storm * own.f32_in(3 * index + 2, 0.6, 1.0),
        }
    }

    /// Thin levels at the ground, four times thicker ones at the top.
    fn thickness_meters(&self, level: u32) -> f32 {
        let levels = self.levels as f32;
        let share = (level as f32 + 0.5) / levels;
        TOP_METERS / levels * (0.4 + 1.2 * share)
    }
}

fn push_level(
    column: &mut Column,
    weather: Weather,
    height: f32,
    thickness: f32,
    temperature: f32,
    pressure: f32,
) {
    let Weather {
        humidity, storm, ..
    } = weather;
    let exner = power(pressure / GROUND_PASCAL, GAS_CONSTANT_BY_HEAT_CAPACITY);
    column.exner.push(exner);
    column.pressure.push(pressure);
    column
        .density
        .push(pressure / (GAS_CONSTANT_AIR * temperature));
    column.thickness.push(thickness);
    column.theta.push(temperature / exner);

    let between = |low, high| {
        if low < height && height < high {
            storm
        } else {
            0.0
        }
    };
    let saturation = saturated(temperature, Phase::at(temperature), pressure);
    let relative = if between(0.0, 10_000.0) > 0.0 {
        1.02
    } else {
        humidity * (1.0 - 0.5 * height / TOP_METERS)
    };
    column.vapour.push(relative * saturation);
    column.cloud.push(1.5e-3 * between(1_000.0, 6_000.0));
    column.ice.push(5e-4 * between(6_000.0, 11_000.0));
    column.rain.push(1.5e-3 * between(0.0, 4_000.0));
    column.snow.push(8e-4 * between(4_000.0, 9_000.0));
}

#[cfg(test)]
mod tests;
