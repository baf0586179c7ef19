use super::{Color, ColorRange};

/// Why quotas cannot be turned into colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrangeError {
    /// A task without a color could not be given a page.
    NoColor {
        /// The place of the task.
        task: usize,
    },
    /// There are not as many colors.
    TooMany {
        /// Colors that the quotas ask for.
        asked: u64,
        /// Colors that there are.
        colors: u16,
    },
}

impl std::fmt::Display for ArrangeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoColor { task } => {
                write!(
                    f,
                    "task {task} has a quota of 0 colors; every task needs at least 1"
                )
            }
            Self::TooMany { asked, colors } => {
                write!(f, "the quotas ask for {asked} colors of {colors}")
            }
        }
    }
}

impl std::error::Error for ArrangeError {}

/// Disjoint, contiguous colors for tasks with these quotas. Tasks keep the order of their `former` colors, so that most of
/// a task's pages are in its new range already; tasks without come last.
///
/// # Errors
/// A quota is 0, or the quotas are more than `colors`.
pub fn arrange(
    colors: u16,
    quotas: &[u16],
    former: &[Option<ColorRange>],
) -> Result<Vec<ColorRange>, ArrangeError> {
    let asked: u64 = quotas.iter().copied().map(u64::from).sum();
    if asked > u64::from(colors) {
        return Err(ArrangeError::TooMany { asked, colors });
    }
    let mut order: Vec<usize> = (0..quotas.len()).collect();
    let place = |task: usize| {
        former
            .get(task)
            .copied()
            .flatten()
            .map_or(u16::MAX, |range| range.first().0)
    };
    order.sort_by_key(|task| place(*task));
    let mut ranges = vec![None; quotas.len()];
    let mut next = 0;
    for task in order {
        let range = ColorRange::new(Color(next), quotas[task]);
        let range = range.ok_or(ArrangeError::NoColor { task })?;
        next = range.end().0;
        ranges[task] = Some(range);
    }
    Ok(ranges.into_iter().flatten().collect())
}
