use super::{QuotaPolicy, QuotaPolicyEntry};
use crate::coloring::MissCurve;

/// Utility-based division with look-ahead (Qureshi and Patt 2006, section 5): the task that saves the most misses a color, over
/// any number of colors that are left, gets that many. Where nothing saves misses, the smallest share grows.
#[derive(Debug)]
pub struct Utility;

/// More colors for one task.
#[derive(Clone, Copy)]
struct Step {
    task: usize,
    colors: u16,
    saved_misses: u64,
}

impl Step {
    /// Whether it saves more misses a color.
    fn saves_more_than(self, other: Self) -> bool {
        // Cross-multiplied: no rounding decides between two tasks.
        let rate = |step: Self, per: Self| u128::from(step.saved_misses) * u128::from(per.colors);
        rate(self, other) > rate(other, self)
    }
}

impl Utility {
    pub(super) const ENTRY: QuotaPolicyEntry = QuotaPolicyEntry {
        name: "utility",
        summary: "each color goes where it saves the most misses, looking ahead over plateaus",
        policy: &Self,
    };
}

impl QuotaPolicy for Utility {
    fn quotas(&self, colors: u16, curves: &[MissCurve]) -> Vec<u16> {
        let mut quotas = vec![1_u16; curves.len()];
        let mut left = colors - curves.len() as u16;
        while left > 0 {
            let step = best_step(curves, &quotas, left);
            quotas[step.task] += step.colors;
            left -= step.colors;
        }
        quotas
    }
}

fn best_step(curves: &[MissCurve], quotas: &[u16], left: u16) -> Step {
    let smallest = (0..quotas.len())
        .min_by_key(|task| quotas[*task])
        .unwrap_or(0);
    let mut best = Step {
        task: smallest,
        colors: 1,
        saved_misses: 0,
    };
    for (task, curve) in curves.iter().enumerate() {
        let now = curve.misses(quotas[task]);
        // Any number of colors, not one: before a knee the curve is flat, and a greedy color would never get there.
        for colors in 1..=left {
            let saved_misses = now.saturating_sub(curve.misses(quotas[task] + colors));
            let step = Step {
                task,
                colors,
                saved_misses,
            };
            if step.saves_more_than(best) {
                best = step;
            }
        }
    }
    best
}
