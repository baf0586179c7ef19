use super::quota::{QuotaPolicyEntry, divide};
use super::{ArrangeError, ColorRange, MissCurve, arrange_pages};

/// What a task asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// So many colors, whatever others need.
    Colors(u16),
    /// What its miss curve is worth beside those of the others.
    Curve(MissCurve),
}

/// A running task.
#[derive(Clone, Debug)]
pub struct Claim<'a> {
    /// What it asks for.
    pub wish: &'a Wish,
    /// The colors that it has.
    pub former: Option<ColorRange>,
    /// Pages that it has in these.
    pub pages: u64,
}

/// Why the tasks cannot all have colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssignError {
    /// Every task needs a color, and those that ask for a number need that.
    Full {
        /// Colors that the tasks need at least.
        needed: u64,
        /// Colors that there are.
        colors: u16,
    },
    /// A task asks for no color.
    Nothing {
        /// The place of the task.
        task: usize,
    },
}

impl std::fmt::Display for AssignError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Full { needed, colors } => write!(
                f,
                "the tasks need {needed} colors, and the cache has {colors}: wait for one to end, or ask for fewer"
            ),
            Self::Nothing { task } => write!(
                f,
                "task {task} asks for 0 colors; every task needs at least 1"
            ),
        }
    }
}

impl std::error::Error for AssignError {}

/// Colors for all tasks: disjoint, contiguous, and arranged so that the fewest pages move. Tasks that ask for a number get it; the
/// rest is divided among the others by their curves.
///
/// # Errors
/// There are too few colors.
pub fn assign(
    colors: u16,
    claims: &[Claim<'_>],
    policy: &QuotaPolicyEntry,
) -> Result<Vec<ColorRange>, AssignError> {
    let wishes = claims.iter().map(|claim| claim.wish);
    let needed: u64 = wishes.clone().map(least).sum();
    if needed > u64::from(colors) {
        return Err(AssignError::Full { needed, colors });
    }
    let fixed: u64 = wishes
        .clone()
        .filter(|wish| matches!(wish, Wish::Colors(_)))
        .map(least)
        .sum();
    let curves: Vec<MissCurve> = wishes
        .clone()
        .filter_map(|wish| match wish {
            Wish::Curve(curve) => Some(curve.clone()),
            Wish::Colors(_) => None,
        })
        .collect();
    // Numbers come first: a task that names one may have measured what it needs, and a curve is worth what is left.
    let left = (u64::from(colors) - fixed) as u16;
    let mut divided = divide(policy, left, &curves)
        .unwrap_or_default()
        .into_iter();
    let quotas: Vec<u16> = wishes
        .map(|wish| match wish {
            Wish::Colors(count) => *count,
            Wish::Curve(_) => divided.next().unwrap_or(1),
        })
        .collect();
    let former: Vec<_> = claims.iter().map(|claim| claim.former).collect();
    let pages: Vec<_> = claims.iter().map(|claim| claim.pages).collect();
    arrange_pages(colors, &quotas, &former, &pages).map_err(|error| match error {
        ArrangeError::NoColor { task } => AssignError::Nothing { task },
        ArrangeError::TooMany { asked, colors } => AssignError::Full {
            needed: asked,
            colors,
        },
    })
}

/// Colors that it needs at least.
fn least(wish: &Wish) -> u64 {
    match wish {
        Wish::Colors(count) => u64::from(*count),
        Wish::Curve(_) => 1,
    }
}

#[cfg(test)]
mod tests;
