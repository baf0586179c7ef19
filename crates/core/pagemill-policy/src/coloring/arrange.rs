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

/// Disjoint, contiguous colors for tasks with these quotas, so that few pages move: [`arrange_pages`] for tasks with equally
/// many pages.
///
/// # Errors
/// A quota is 0, or the quotas are more than `colors`.
pub fn arrange(
    colors: u16,
    quotas: &[u16],
    former: &[Option<ColorRange>],
) -> Result<Vec<ColorRange>, ArrangeError> {
    arrange_pages(colors, quotas, former, &[])
}

/// Disjoint, contiguous colors for tasks with these quotas, so that the fewest of their `pages` (1 where it is not told) move.
///
/// Tasks keep the order of their `former` colors; those without are put where they disturb the others least, in the order
/// in which they are named. Colors without a task may lie between.
///
/// # Errors
/// A quota is 0, or the quotas are more than `colors`.
pub fn arrange_pages(
    colors: u16,
    quotas: &[u16],
    former: &[Option<ColorRange>],
    pages: &[u64],
) -> Result<Vec<ColorRange>, ArrangeError> {
    if let Some(task) = quotas.iter().position(|quota| *quota == 0) {
        return Err(ArrangeError::NoColor { task });
    }
    let asked: u64 = quotas.iter().copied().map(u64::from).sum();
    if asked > u64::from(colors) {
        return Err(ArrangeError::TooMany { asked, colors });
    }
    let slots: Vec<Slot> = quotas
        .iter()
        .enumerate()
        .map(|(task, quota)| Slot {
            task,
            quota: *quota,
            former: former.get(task).copied().flatten(),
            pages: pages.get(task).copied().unwrap_or(1),
        })
        .collect();
    let mut ranges = vec![ColorRange::new(Color(0), 1); quotas.len()];
    let order = order(colors, &slots);
    for (slot, first) in order.iter().zip(place(colors, &order).firsts) {
        ranges[slot.task] = ColorRange::new(Color(first), slot.quota);
    }
    Ok(ranges.into_iter().flatten().collect())
}

/// A task that is to be placed.
#[derive(Clone, Copy)]
struct Slot {
    task: usize,
    quota: u16,
    former: Option<ColorRange>,
    pages: u64,
}

/// Pages that move are parts of a page where they do not divide: counted in these.
const PARTS_OF_A_PAGE: u128 = 1 << 20;

impl Slot {
    /// What moves if its colors begin at `first`: of an even map to `f` colors, an even map to `q` keeps as many of the common ones as
    /// the larger of both allows.
    fn moved(self, first: u16) -> u128 {
        let Some((former, now)) = self.former.zip(ColorRange::new(Color(first), self.quota)) else {
            return 0;
        };
        // P pages in f colors are P/f in each, and are to be P/q: a common color keeps the smaller of both, P over
        // the larger count.
        let most = u128::from(former.count().max(now.count()));
        let kept = u128::from(former.overlap(now));
        u128::from(self.pages) * PARTS_OF_A_PAGE * (most - kept) / most
    }
}

/// Where tasks of one order begin, and what that moves.
struct Placing {
    firsts: Vec<u16>,
    moved: u128,
}

/// The tasks in the order of their colors.
fn order(colors: u16, slots: &[Slot]) -> Vec<Slot> {
    let (mut order, newcomers): (Vec<Slot>, Vec<Slot>) =
        slots.iter().partition(|slot| slot.former.is_some());
    order.sort_by_key(|slot| slot.former.map(|range| range.first()));
    for newcomer in newcomers {
        // The last of equals: behind the others, if it does not matter.
        let with = |at: usize| {
            let mut with = order.clone();
            with.insert(at, newcomer);
            with
        };
        // One newcomer after the other, each at its best place: all orders of n newcomers would be n! programs of
        // `place`. Tasks that have colors keep their order, since to swap two would move all pages of one.
        let best = (0..=order.len())
            .rev()
            .min_by_key(|at| place(colors, &with(*at)).moved);
        order = with(best.unwrap_or(order.len()));
    }
    order
}

/// The best places of tasks in this order; they fit. Among equals the lowest.
fn place(colors: u16, order: &[Slot]) -> Placing {
    // least[i][end]: what the first i tasks move, if they end at or before `end`; starts[i][end]: where the last of them begins.
    let ends = usize::from(colors) + 1;
    let mut least = vec![Some(0_u128); ends];
    let mut starts = Vec::new();
    for slot in order {
        let mut next: Vec<Option<u128>> = vec![None; ends];
        let mut start = vec![0_u16; ends];
        // Dynamic programming over where a task ends, exact for this order: tasks x colors steps. Only a strictly
        // better place moves a task up, so that of equals the lowest wins and the same question has the same answer.
        for end in usize::from(slot.quota)..ends {
            let first = end - usize::from(slot.quota);
            let here = least[first].map(|before| before + slot.moved(first as u16));
            (next[end], start[end]) = match (next[end - 1], here) {
                (Some(earlier), Some(here)) if here < earlier => (Some(here), first as u16),
                (Some(earlier), _) => (Some(earlier), start[end - 1]),
                (None, here) => (here, first as u16),
            };
        }
        least = next;
        starts.push(start);
    }
    let mut firsts = vec![0; order.len()];
    let mut end = usize::from(colors);
    for (place, start) in starts.iter().enumerate().rev() {
        firsts[place] = start[end];
        end = usize::from(start[end]);
    }
    let moved = least[usize::from(colors)].unwrap_or(0);
    Placing { firsts, moved }
}
