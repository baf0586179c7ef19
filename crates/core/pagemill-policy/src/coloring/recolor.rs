use super::{Color, ColorRange};

/// A new map of colors for the pages of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecolorPlan {
    /// The color that each page is to have.
    pub target: Vec<Color>,
    /// How many pages change their color: as few as any even map needs.
    pub moved: usize,
}

/// The even map to `range` that is nearest to `current`: the counts of two colors differ by one at most, and the fewest
/// pages change their color (CachePM, section 3.2.1).
///
/// The published algorithm gives the odd pages to the colors with the lowest numbers, which is only the nearest map if
/// these have enough pages. Here they go to colors that hold more than the even share already.
pub fn plan_recolor(current: &[Color], range: ColorRange) -> RecolorPlan {
    let mut room = even_shares(current, range);
    let mut target = current.to_vec();
    let mut moving = Vec::new();
    for (page, color) in current.iter().enumerate() {
        match range.position(*color) {
            Some(position) if room[position] > 0 => room[position] -= 1,
            _ => moving.push(page),
        }
    }
    let mut position = 0;
    for page in &moving {
        // Round robin, so that neighbors which move together part.
        while room[position] == 0 {
            position = (position + 1) % room.len();
        }
        room[position] -= 1;
        target[*page] = range.at(position);
        position = (position + 1) % room.len();
    }
    RecolorPlan {
        target,
        moved: moving.len(),
    }
}

/// How many pages each color of `range` is to have.
fn even_shares(current: &[Color], range: ColorRange) -> Vec<usize> {
    let colors = usize::from(range.count());
    let (share, mut odd) = (current.len() / colors, current.len() % colors);
    let mut held = vec![0_usize; colors];
    for position in current.iter().filter_map(|color| range.position(*color)) {
        held[position] += 1;
    }
    let mut shares = vec![share; colors];
    let mut give_odd = |wanted: &dyn Fn(usize) -> bool, shares: &mut Vec<usize>| {
        for position in 0..colors {
            if odd > 0 && shares[position] == share && wanted(held[position]) {
                shares[position] += 1;
                odd -= 1;
            }
        }
    };
    // A color that holds more than the share keeps one page more if it gets an odd one; given to another color, that
    // page would move.
    give_odd(&|held| held > share, &mut shares);
    give_odd(&|_| true, &mut shares);
    shares
}
