use super::MissCurve;

/// When a change of colors is due whose cost is known and whose gain is not, because no one knows how long a task will run: once the
/// misses that the new colors would have saved have cost as much as the change.
///
/// A task that ends earlier pays for no change at all; for any other the loss and the change together are at most twice what the better
/// of *at once* and *never* costs (the rule of renting and buying). It follows the phases of a task, since it counts the misses that there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueChange {
    /// Misses from the start of the wait on, of which a share is avoidable, that cost as much as the change.
    misses: u64,
}

impl DueChange {
    /// Of a task with `curve` that has `colors` and could have `wanted`; its change costs `change_ns`, and a miss `miss_ns`. `None`: it
    /// would save nothing.
    pub fn new(
        curve: &MissCurve,
        (colors, wanted): (u16, u16),
        change_ns: f64,
        miss_ns: f64,
    ) -> Option<Self> {
        let (now, then) = (curve.misses(colors), curve.misses(wanted));
        if then >= now {
            return None;
        }
        // The curve was measured on another run, maybe of another length: only the share of its misses carries over
        // to this one.
        let avoidable = (now - then) as f64 / now as f64;
        let misses = change_ns / (miss_ns * avoidable);
        Some(Self {
            misses: misses.ceil() as u64,
        })
    }

    /// Whether it is due after so many misses.
    pub fn is_due(&self, misses: u64) -> bool {
        misses >= self.misses
    }
}

#[cfg(test)]
mod tests;
