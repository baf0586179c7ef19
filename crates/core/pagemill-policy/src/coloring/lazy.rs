use super::{Color, ColorRange, RecolorPlan, plan_recolor};

/// The pages of a task while their colors change: nothing is copied before it is touched, and one flush serves a whole
/// change (CachePM, section 3.2.2).
#[derive(Clone, Debug, Default)]
pub struct LazyPages {
    pages: Vec<Option<LazyPage>>,
    copies: u64,
    flushes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LazyPage {
    /// The color of the frame that holds the data.
    at: Color,
    /// The color that it is to have.
    target: Color,
    /// Whether the page table leads to the frame.
    is_mapped: bool,
}

/// What a touch of a page asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// Nothing: the page is mapped.
    Mapped,
    /// Map the frame that it has: its color is right again.
    Map(Color),
    /// Copy to a frame of color `to`, map that, and free the frame of color `from`.
    Copy {
        /// The color of the former frame.
        from: Color,
        /// The color of the new frame.
        to: Color,
    },
    /// The page has no frame: it was never given one, or was released.
    Absent,
}

/// What a change of colors asks for, at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flush {
    /// Pages whose page-table entry is to be cleared, ascending.
    pub unmap: Vec<usize>,
    /// Whether caches and translations have to be flushed, once, after all of them.
    pub is_needed: bool,
    /// Pages that will be copied if they are touched again.
    pub pending: usize,
}

impl LazyPages {
    /// No pages.
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives `page` a mapped frame of `color`, in place of what it had.
    pub fn assign(&mut self, page: usize, color: Color) {
        if page >= self.pages.len() {
            self.pages.resize(page + 1, None);
        }
        self.pages[page] = Some(LazyPage {
            at: color,
            target: color,
            is_mapped: true,
        });
    }

    /// Takes the frame of `page` away; returns its color.
    pub fn release(&mut self, page: usize) -> Option<Color> {
        Some(self.pages.get_mut(page)?.take()?.at)
    }

    /// The color of the frame that holds `page`.
    pub fn color(&self, page: usize) -> Option<Color> {
        Some(self.pages.get(page).copied().flatten()?.at)
    }

    /// The color that `page` is to have: its own unless it is still to be copied.
    pub fn target(&self, page: usize) -> Option<Color> {
        Some(self.pages.get(page).copied().flatten()?.target)
    }

    /// Changes the colors to `range`, with the fewest copies to come.
    ///
    /// What is still to be copied from an earlier change is planned anew, from where the data lies.
    pub fn recolor(&mut self, range: ColorRange) -> Flush {
        let held: Vec<usize> = (0..self.pages.len())
            .filter(|page| self.pages[*page].is_some())
            .collect();
        let current: Vec<Color> = held.iter().filter_map(|page| self.color(*page)).collect();
        // From where the data lie, not from where they were to go: a page that was not touched between two changes is
        // copied once, and one whose old color does not return.
        let RecolorPlan { target, moved } = plan_recolor(&current, range);
        let mut unmap = Vec::new();
        for (number, target) in held.into_iter().zip(target) {
            let Some(page) = &mut self.pages[number] else {
                continue;
            };
            page.target = target;
            if page.is_mapped && page.at != target {
                page.is_mapped = false;
                unmap.push(number);
            }
        }
        let is_needed = !unmap.is_empty();
        self.flushes += u64::from(is_needed);
        Flush {
            unmap,
            is_needed,
            pending: moved,
        }
    }

    /// What the touch of `page` asks for; afterwards it is done.
    pub fn touch(&mut self, page: usize) -> Touch {
        let Some(page) = self.pages.get_mut(page).and_then(Option::as_mut) else {
            return Touch::Absent;
        };
        if page.is_mapped {
            return Touch::Mapped;
        }
        page.is_mapped = true;
        if page.at == page.target {
            return Touch::Map(page.at);
        }
        let from = std::mem::replace(&mut page.at, page.target);
        self.copies += 1;
        Touch::Copy {
            from,
            to: page.target,
        }
    }

    /// Pages copied so far.
    pub fn copies(&self) -> u64 {
        self.copies
    }

    /// Flushes asked for so far.
    pub fn flushes(&self) -> u64 {
        self.flushes
    }
}
