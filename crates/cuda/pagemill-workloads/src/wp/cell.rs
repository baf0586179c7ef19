//! What happens to the water of one cell in one time step, in the kernel's order of operations.

use crate::elementary::{power, power_of_two};

const GAS_CONSTANT_VAPOUR: f32 = 461.5;
const HEAT_CAPACITY: f32 = 1004.5;
const HEAT_OF_VAPORISATION: f32 = 2.5e6;
const HEAT_OF_FUSION: f32 = 3.34e5;
const FREEZING: f32 = 273.15;
const ALL_ICE: f32 = 233.15;
/// Less rain or snow than this does nothing.
pub(super) const TRACE: f32 = 1e-9;

/// The smaller number, by the comparison that the kernel makes.
pub(super) fn lesser(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// Temperature in kelvin and the five kinds of water in kg per kg of air.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    pub(super) temperature: f32,
    pub(super) vapour: f32,
    pub(super) cloud: f32,
    pub(super) ice: f32,
    pub(super) rain: f32,
    pub(super) snow: f32,
}

/// What cloud consists of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Phase {
    liquid: f32,
}

impl Phase {
    pub(super) fn at(temperature: f32) -> Self {
        let share = (temperature - ALL_ICE) * (1.0 / (FREEZING - ALL_ICE));
        let liquid = if share < 0.0 { 0.0 } else { lesser(share, 1.0) };
        Self { liquid }
    }
}

/// Mixing ratio at which vapour is saturated over cloud of this phase.
pub(super) fn saturated(temperature: f32, phase: Phase, pressure: f32) -> f32 {
    let mut over_water = 0.0;
    if phase.liquid > 0.0 {
        over_water =
            611.2 * power_of_two(25.492_42 * (temperature - 273.15) / (temperature - 29.65));
    }
    let mut over_ice = 0.0;
    if phase.liquid < 1.0 {
        over_ice = 611.2 * power_of_two(31.558317 * (temperature - 273.16) / (temperature - 7.66));
    }
    let vapour_pressure = phase.liquid * over_water + (1.0 - phase.liquid) * over_ice;
    let vapour_pressure = lesser(vapour_pressure, 0.5 * pressure);
    0.622 * vapour_pressure / (pressure - vapour_pressure)
}

impl Cell {
    /// One time step of everything but falling.
    pub(super) fn step(&mut self, pressure: f32, density: f32, seconds: f32) {
        if self.temperature > FREEZING {
            self.melt();
        } else if self.temperature < ALL_ICE {
            self.freeze();
        }
        self.begin_precipitation(seconds);
        self.collect(seconds);
        let phase = Phase::at(self.temperature);
        let saturation = saturated(self.temperature, phase, pressure);
        self.evaporate_rain(saturation, pressure, density, seconds);
        self.adjust(saturation, phase);
    }

    fn warm(&mut self, amount: f32, heat: f32) {
        self.temperature += amount * (heat / HEAT_CAPACITY);
    }

    fn melt(&mut self) {
        let possible = (self.temperature - FREEZING) * (HEAT_CAPACITY / HEAT_OF_FUSION);
        let melted = lesser(self.ice, possible);
        self.ice -= melted;
        self.cloud += melted;
        self.warm(-melted, HEAT_OF_FUSION);
        let melted = lesser(self.snow, 0.5 * (possible - melted));
        self.snow -= melted;
        self.rain += melted;
        self.warm(-melted, HEAT_OF_FUSION);
    }

    fn freeze(&mut self) {
        let possible = (ALL_ICE - self.temperature) * (HEAT_CAPACITY / HEAT_OF_FUSION);
        let frozen = lesser(self.cloud, possible);
        self.cloud -= frozen;
        self.ice += frozen;
        self.warm(frozen, HEAT_OF_FUSION);
        let frozen = lesser(self.rain, possible - frozen);
        self.rain -= frozen;
        self.snow += frozen;
        self.warm(frozen, HEAT_OF_FUSION);
    }

    /// Autoconversion.
    fn begin_precipitation(&mut self, seconds: f32) {
        if self.cloud > 5e-4 {
            let converted = lesser(self.cloud, 1e-3 * (self.cloud - 5e-4) * seconds);
            self.cloud -= converted;
            self.rain += converted;
        }
        if self.ice > 1e-4 {
            let converted = lesser(self.ice, 1e-3 * (self.ice - 1e-4) * seconds);
            self.ice -= converted;
            self.snow += converted;
        }
    }

    /// Accretion.
    fn collect(&mut self, seconds: f32) {
        if self.rain > TRACE && self.cloud > 0.0 {
            let collected = lesser(
                self.cloud,
                2.2 * self.cloud * power(self.rain, 0.875) * seconds,
            );
            self.cloud -= collected;
            self.rain += collected;
        }
        if self.snow > TRACE && (self.cloud > 0.0 || self.ice > 0.0) {
            let share = lesser(1.0, power(self.snow, 0.875) * seconds);
            let riming = self.cloud * share;
            let aggregating = self.ice * (0.5 * share);
            self.cloud -= riming;
            self.ice -= aggregating;
            self.snow += aggregating;
            if self.temperature < FREEZING {
                self.snow += riming;
                self.warm(riming, HEAT_OF_FUSION);
            } else {
                self.rain += riming;
            }
        }
    }

    fn evaporate_rain(&mut self, saturation: f32, pressure: f32, density: f32, seconds: f32) {
        if self.rain <= TRACE || self.vapour >= saturation {
            return;
        }
        let air = 0.001 * density;
        let water = air * self.rain;
        let ventilation = 1.6 + 124.9 * power(water, 0.2046);
        let rate = (1.0 - self.vapour / saturation) * ventilation * power(water, 0.525)
            / (air * (5.4e5 + 2.55e6 / (0.01 * pressure * saturation)));
        let evaporated = lesser(
            lesser(self.rain, rate * seconds),
            0.5 * (saturation - self.vapour),
        );
        self.rain -= evaporated;
        self.vapour += evaporated;
        self.warm(-evaporated, HEAT_OF_VAPORISATION);
    }

    /// One Newton step towards saturation.
    fn adjust(&mut self, saturation: f32, phase: Phase) {
        let liquid = phase.liquid;
        let heat = HEAT_OF_VAPORISATION + (1.0 - liquid) * HEAT_OF_FUSION;
        let slope = heat * heat * saturation
            / (HEAT_CAPACITY * GAS_CONSTANT_VAPOUR * self.temperature * self.temperature);
        let excess = (self.vapour - saturation) / (1.0 + slope);
        if excess > 0.0 {
            self.vapour -= excess;
            self.cloud += excess * liquid;
            self.ice += excess * (1.0 - liquid);
            self.warm(excess, heat);
            return;
        }
        let from_cloud = lesser(self.cloud, -excess);
        self.cloud -= from_cloud;
        self.vapour += from_cloud;
        self.warm(-from_cloud, HEAT_OF_VAPORISATION);
        let from_ice = lesser(self.ice, -excess - from_cloud);
        self.ice -= from_ice;
        self.vapour += from_ice;
        self.warm(-from_ice, HEAT_OF_VAPORISATION + HEAT_OF_FUSION);
    }
}

#[cfg(test)]
mod tests;
