use pagemill_policy::coloring::{Color, Palette};

use crate::parts::random::Random;

/// How frames are chosen where no colors are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlainOrder {
    /// Anywhere: what a kernel hands out after some time.
    Random,
    /// One after the other: what a kernel hands out after its start.
    Sequential,
}

/// The frames that were handed out. The n-th has physical page number n x colors + its color: memory is as large as it
/// has to be, and no frame is handed out twice.
#[derive(Debug)]
pub struct Frames {
    colors: u64,
    lines_of_page: u64,
    order: PlainOrder,
    random: Random,
    taken: u64,
}

impl Frames {
    pub fn new(palette: Palette, order: PlainOrder, seed: u64) -> Self {
        Self {
            colors: palette.colors().into(),
            lines_of_page: palette.sets_per_color().into(),
            order,
            random: Random::new(seed),
            taken: 0,
        }
    }

    /// A frame, of `color` where one is asked for: its physical page number and its color.
    pub fn take(&mut self, color: Option<Color>) -> (u64, Color) {
        let number = self.taken;
        self.taken += 1;
        let color = color.map_or_else(|| self.plain_color(number), |color| u64::from(color.0));
        (number * self.colors + color, Color(color as u16))
    }

    fn plain_color(&mut self, number: u64) -> u64 {
        match self.order {
            PlainOrder::Random => self.random.below(self.colors),
            PlainOrder::Sequential => number % self.colors,
        }
    }

    /// The first physical line of a frame, by its physical page number.
    pub fn first_line(&self, page: u64) -> u64 {
        page * self.lines_of_page
    }
}
