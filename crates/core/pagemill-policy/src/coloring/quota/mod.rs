//! How many colors each task gets. One policy = one file + one line in [`QUOTA_POLICIES`].

mod best_quota;
mod equal;
mod utility;

use pagemill_types::{Registry, named};

use super::MissCurve;

/// Divides the colors of a cache among tasks.
///
/// Every policy keeps this contract: one quota for each task, at least 1, all together exactly `colors`. It is only asked
/// with at least one task, and no more tasks than colors.
pub trait QuotaPolicy: Send + Sync + std::fmt::Debug {
    /// The quotas of tasks with these curves.
    fn quotas(&self, colors: u16, curves: &[MissCurve]) -> Vec<u16>;
}

/// A policy, and how it is called.
pub struct QuotaPolicyEntry {
    /// What it is asked for by.
    pub name: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// The policy.
    pub policy: &'static dyn QuotaPolicy,
}

named!(QuotaPolicyEntry);

/// All policies, the default first.
#[rustfmt::skip]
pub static QUOTA_POLICIES: Registry<QuotaPolicyEntry> = Registry::new("quota policy", &[
    best_quota::BestQuota::ENTRY,
    utility::Utility::ENTRY,
    equal::Equal::ENTRY,
]);

/// The quotas of `entry`; `None` without tasks, or with more tasks than colors.
pub fn divide(entry: &QuotaPolicyEntry, colors: u16, curves: &[MissCurve]) -> Option<Vec<u16>> {
    let is_possible = !curves.is_empty() && curves.len() <= usize::from(colors);
    is_possible.then(|| entry.policy.quotas(colors, curves))
}

/// Parts of `total` in proportion to `weights`, which are not all 0; they differ from exact shares by less than 1.
fn proportional(total: u16, weights: &[u64]) -> Vec<u16> {
    let sum: u64 = weights.iter().sum();
    let exact = |weight: u64| (u128::from(total) * u128::from(weight), u128::from(sum));
    let mut parts: Vec<u16> = weights
        .iter()
        .map(|weight| {
            let (numerator, denominator) = exact(*weight);
            (numerator / denominator) as u16
        })
        .collect();
    let given: u16 = parts.iter().sum();
    // What rounding down leaves goes to the largest remainders. The sort is stable: of equals the task that was named
    // first.
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|place| {
        let (numerator, denominator) = exact(weights[*place]);
        std::cmp::Reverse(numerator % denominator)
    });
    for place in order.into_iter().take(usize::from(total - given)) {
        parts[place] += 1;
    }
    parts
}

#[cfg(test)]
mod tests;
