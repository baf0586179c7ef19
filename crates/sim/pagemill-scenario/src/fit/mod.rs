//! `[fit]`: which keys a search may change, and which published values it has to come near to.

mod plan;
mod section;
mod values;

pub(crate) use section::is_of_fit;

pub use plan::{FitKey, FitPlan, FitSetting, Target};

use crate::document::{Origin, Table};
use values::Values;

/// Settings that a search tries where the scenario does not say.
const POINTS: u64 = 40;

/// The section `[fit]` of a scenario.
#[derive(Clone, Debug)]
pub struct FitSpec {
    /// Settings to try, beside the scenario as it is.
    pub points: u64,
    /// Seed of the search.
    pub seed: u64,
    /// Distances from a published value that differ by less than this count as equal.
    pub resolution: f64,
    /// Ids of the claims to come near to; every claim with a published value where it is empty.
    targets: Vec<(String, Origin)>,
    /// The keys and their values, in the order of the file.
    keys: Vec<Key>,
    /// Where the section stands.
    origin: Origin,
}

/// A key that the search may change.
#[derive(Clone, Debug)]
struct Key {
    path: String,
    origin: Origin,
    values: Values,
}

/// The section `[fit]`, taken out of a scenario before its points are read: they do not depend on it.
pub(crate) struct FitSection(Option<(Table, Origin)>);
