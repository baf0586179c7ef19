//! Which pages have a frame in GPU memory, and which of them goes when there is none left: the least recently used.

/// Frames of a GPU memory of limited size.
#[derive(Clone, Debug)]
pub(crate) struct Residents {
    frames: u64,
    used: u64,
    /// Ends of the list of residents; index of the page, most recently used first.
    newest: u32,
    oldest: u32,
    links: Vec<Links>,
}

#[derive(Clone, Copy, Debug)]
struct Links {
    newer: u32,
    older: u32,
    resident: bool,
}

const NONE: u32 = u32::MAX;
const ABSENT: Links = Links {
    newer: NONE,
    older: NONE,
    resident: false,
};

impl Residents {
    /// `frames` free frames, at least one.
    pub(crate) fn new(frames: u64) -> Self {
        Self {
            frames: frames.max(1),
            used: 0,
            newest: NONE,
            oldest: NONE,
            links: Vec::new(),
        }
    }

    /// Makes room for the list entries of `pages` pages.
    pub(crate) fn grow(&mut self, pages: usize) {
        self.links.resize(pages, ABSENT);
    }

    pub(crate) fn holds(&self, page: usize) -> bool {
        self.links[page].resident
    }

    /// The page is used now.
    #[inline]
    pub(crate) fn touch(&mut self, page: usize) {
        if self.newest != page as u32 && self.links[page].resident {
            self.unlink(page);
            self.link_newest(page);
        }
    }

    /// Gives an absent page a frame; returns the page that had to leave, if any.
    pub(crate) fn admit(&mut self, page: usize) -> Option<usize> {
        debug_assert!(!self.holds(page), "page {page} has a frame already");
        let mut victim = None;
        if self.used == self.frames {
            let oldest = self.oldest as usize;
            self.release(oldest);
            victim = Some(oldest);
        }
        self.used += 1;
        self.links[page].resident = true;
        self.link_newest(page);
        victim
    }

    /// Sets how many frames there are, at least one. While more are used, returns a page that had to leave.
    pub(crate) fn shrink(&mut self, frames: u64) -> Option<usize> {
        self.frames = frames.max(1);
        (self.used > self.frames).then(|| {
            let oldest = self.oldest as usize;
            self.release(oldest);
            oldest
        })
    }

    /// The page gives its frame back, if it has one.
    pub(crate) fn release(&mut self, page: usize) {
        if self.links[page].resident {
            self.unlink(page);
            self.links[page] = ABSENT;
            self.used -= 1;
        }
    }

    fn unlink(&mut self, page: usize) {
        let Links { newer, older, .. } = self.links[page];
        match newer {
            NONE => self.newest = older,
            newer => self.links[newer as usize].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.links[older as usize].newer = newer,
        }
    }

    fn link_newest(&mut self, page: usize) {
        self.links[page].newer = NONE;
        self.links[page].older = self.newest;
        match self.newest {
            NONE => self.oldest = page as u32,
            newest => self.links[newest as usize].newer = page as u32,
        }
        self.newest = page as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn victims_equal_the_list_model(frames in 1u64..6, actions in prop::collection::vec((0u8..4, 0usize..10), 1..300)) {
            let mut residents = Residents::new(frames);
            residents.grow(10);
            let mut model: Vec<usize> = Vec::new();
            for (action, page) in actions {
                let place = model.iter().position(|&held| held == page);
                prop_assert_eq!(residents.holds(page), place.is_some());
                match (action, place) {
                    (0, _) => {
                        residents.release(page);
                        model.retain(|&held| held != page);
                    }
                    (_, Some(place)) => {
                        residents.touch(page);
                        model.remove(place);
                        model.insert(0, page);
                    }
                    (_, None) => {
                        let victim = (model.len() as u64 == frames).then(|| model.pop().unwrap());
                        prop_assert_eq!(residents.admit(page), victim);
                        model.insert(0, page);
                    }
                }
            }
        }
    }
}
