//! One column of the atmosphere in scalar code, in the kernel's order of operations.

use super::cell::{Cell, TRACE, lesser};
use crate::elementary::power;

/// The 3-D arrays in the kernel's order: what a step reads, then what it changes.
pub(super) const FIELDS: [&str; 10] = [
    "exner",
    "pressure",
    "density",
    "thickness",
    "theta",
    "vapour",
    "cloud",
    "ice",
    "rain",
    "snow",
];
/// The last so many of [`FIELDS`] change.
pub(super) const STATE_FIELDS: usize = 6;
/// The 2-D arrays in the kernel's order.
pub(super) const GROUND_FIELDS: [&str; 2] = ["rain_on_ground", "snow_on_ground"];

const SURFACE_AIR_DENSITY: f32 = 1.225;

/// Every value of a column, the level at the ground first.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Column {
    pub(super) exner: Vec<f32>,
    pub(super) pressure: Vec<f32>,
    pub(super) density: Vec<f32>,
    pub(super) thickness: Vec<f32>,
    pub(super) theta: Vec<f32>,
    pub(super) vapour: Vec<f32>,
    pub(super) cloud: Vec<f32>,
    pub(super) ice: Vec<f32>,
    pub(super) rain: Vec<f32>,
    pub(super) snow: Vec<f32>,
    rain_on_ground: f32,
    snow_on_ground: f32,
}

impl Column {
    pub(super) fn with_capacity(levels: usize) -> Self {
        let field = || Vec::with_capacity(levels);
        Self {
            exner: field(),
            pressure: field(),
            density: field(),
            thickness: field(),
            theta: field(),
            vapour: field(),
            cloud: field(),
            ice: field(),
            rain: field(),
            snow: field(),
            rain_on_ground: 0.0,
            snow_on_ground: 0.0,
        }
    }

    /// The values in the order of [`FIELDS`].
    pub(super) fn fields(&self) -> [&[f32]; FIELDS.len()] {
        [
            &self.exner,
            &self.pressure,
            &self.density,
            &self.thickness,
            &self.theta,
            &self.vapour,
            &self.cloud,
            &self.ice,
            &self.rain,
            &self.snow,
        ]
    }

    /// What reached the ground since the start in kg per square meter, in the order of [`GROUND_FIELDS`].
    pub(super) fn on_ground(&self) -> [f32; GROUND_FIELDS.len()] {
        [self.rain_on_ground, self.snow_on_ground]
    }

    /// One time step.
    pub(super) fn step(&mut self, seconds: f32) {
        let (density, thickness) = (&self.density, &self.thickness);
        self.rain_on_ground += sediment(&mut self.rain, density, thickness, rain_speed, seconds);
        self.snow_on_ground += sediment(&mut self.snow, density, thickness, snow_speed, seconds);
        for level in 0..self.theta.len() {
            let exner = self.exner[level];
            let mut cell = Cell {
                temperature: self.theta[level] * exner,
                vapour: self.vapour[level],
                cloud: self.cloud[level],
                ice: self.ice[level],
                rain: self.rain[level],
                snow: self.snow[level],
            };
            cell.step(self.pressure[level], self.density[level], seconds);
            self.theta[level] = cell.temperature / exner;
            self.vapour[level] = cell.vapour;
            self.cloud[level] = cell.cloud;
            self.ice[level] = cell.ice;
            self.rain[level] = cell.rain;
            self.snow[level] = cell.snow;
        }
    }
}

/// Meters a second, by density of air and of rain in kg per cubic meter.
fn rain_speed(air: f32, rain: f32) -> f32 {
    36.34 * power(0.001 * rain, 0.1364) * (SURFACE_AIR_DENSITY / air).sqrt()
}

fn snow_speed(air: f32, snow: f32) -> f32 {
    3.1 * power(0.001 * snow, 0.0625) * (SURFACE_AIR_DENSITY / air).sqrt()
}

/// Lets rain or snow fall, in so many parts of the time step that nothing falls through a level at once.
/// Returns what reached the ground in kg per square meter.
fn sediment(
    falling: &mut [f32],
    density: &[f32],
    thickness: &[f32],
    speed: fn(f32, f32) -> f32,
    seconds: f32,
) -> f32 {
    let mut levels_crossed = 0.0;
    for (level, &mixing_ratio) in falling.iter().enumerate() {
        if mixing_ratio > TRACE {
            let speed = speed(density[level], density[level] * mixing_ratio);
            let crossed = speed * seconds / thickness[level];
            levels_crossed = if crossed > levels_crossed {
                crossed
            } else {
                levels_crossed
            };
        }
    }
    if levels_crossed == 0.0 {
        return 0.0;
    }

    let parts = levels_crossed as i32 + 1;
    let part_seconds = seconds / parts as f32;
    let mut on_ground = 0.0;
    for _ in 0..parts {
        let mut from_above = 0.0;
        for level in (0..falling.len()).rev() {
            let (density, thickness) = (density[level], thickness[level]);
            let mixing_ratio = falling[level];
            let mut leaving = 0.0;
            if mixing_ratio > TRACE {
                let speed = speed(density, density * mixing_ratio);
                let share = speed * part_seconds / thickness;
                leaving = lesser(share, 1.0) * (density * mixing_ratio * thickness);
            }
            if mixing_ratio > TRACE || from_above > 0.0 {
                falling[level] = mixing_ratio + (from_above - leaving) / (density * thickness);
            }
            from_above = leaving;
        }
        on_ground += from_above;
    }
    on_ground
}

#[cfg(test)]
mod tests;
