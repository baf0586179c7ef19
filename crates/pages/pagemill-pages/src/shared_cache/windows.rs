use super::place::Line;

/// Shortens lists of touches to ones that have the same misses in the same order, and leave the same lines in the same order of use.
///
/// In a window of touches to no more pages than a set has ways, only the first touch of a page can miss: no set loses a page of the
/// window before its end. So first touches come first, and then those pages again that are not in the order of their last touches.
#[derive(Debug)]
pub struct Windows {
    ways: usize,
    /// Time in touches.
    clock: u32,
    clock_max: u32,
    /// Of the window: its pages, in the order of their first touches.
    pages: Vec<u32>,
    /// When each of them was touched last, and which it is.
    order: Vec<(u32, u32)>,
    short: Vec<u32>,
}

impl Windows {
    /// For sets of `ways` lines.
    pub fn new(ways: u8, clock_max: u32) -> Self {
        Self {
            ways: ways.into(),
            clock: 0,
            clock_max,
            pages: Vec::new(),
            order: Vec::new(),
            short: Vec::new(),
        }
    }

    /// The short form of `touched`: at most as long. Hand the list back with [`reuse`](Self::reuse).
    pub fn shorten(&mut self, touched: &[u32], lines: &mut [Line]) -> Vec<u32> {
        self.short.clear();
        let mut rest = touched;
        while !rest.is_empty() {
            if self.clock as usize + rest.len() >= self.clock_max as usize {
                lines.iter_mut().for_each(|line| line.seen = 0);
                self.clock = 0;
            }
            let (window, after) = rest.split_at(self.find(rest, lines));
            self.end(window, lines);
            rest = after;
        }
        std::mem::take(&mut self.short)
    }

    /// Takes the list back.
    pub fn reuse(&mut self, short: Vec<u32>) {
        self.short = short;
    }

    /// How long the first window of `touched` is.
    fn find(&mut self, touched: &[u32], lines: &mut [Line]) -> usize {
        let start = self.clock;
        self.pages.clear();
        for (at, page) in touched.iter().enumerate() {
            let seen = &mut lines[*page as usize].seen;
            if *seen <= start {
                if self.pages.len() == self.ways {
                    return at;
                }
                self.pages.push(*page);
            }
            self.clock += 1;
            *seen = self.clock;
        }
        touched.len()
    }

    /// Appends the short form of `window`.
    fn end(&mut self, window: &[u32], lines: &[Line]) {
        // Few repetitions are not worth the sorting.
        if window.len() * 3 < self.pages.len() * 4 {
            self.short.extend(window);
            return;
        }
        self.order.clear();
        let pages = self.pages.iter().zip(0..);
        self.order
            .extend(pages.map(|(page, place)| (lines[*page as usize].seen, place)));
        self.order.sort_unstable();
        let is_later = |pair: &[(u32, u32)]| pair[0].1 > pair[1].1;
        let in_order = self.order.windows(2).position(is_later);
        let again = &self.order[in_order.map_or(self.order.len(), |last| last + 1)..];
        if self.pages.len() + again.len() < window.len() {
            self.short.extend(&self.pages);
            let again = again.iter().map(|(_, place)| self.pages[*place as usize]);
            self.short.extend(again);
        } else {
            self.short.extend(window);
        }
    }
}

#[cfg(test)]
mod tests;
