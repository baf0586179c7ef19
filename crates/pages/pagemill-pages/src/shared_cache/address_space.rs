use pagemill_policy::coloring::{ColorRange, Dealer, Flush, LazyPages, Touch};

use super::frames::Frames;
use super::page_index::{Numbered, PageIndex};

/// The pages of a task and the frames that they are mapped to.
#[derive(Debug)]
pub struct AddressSpace {
    numbers: PageIndex,
    /// The physical page number of each page.
    frames: Vec<u64>,
    pages: LazyPages,
    dealer: Option<Dealer>,
    /// Pages that were touched lately, with their frames: all of them mapped.
    recent: Vec<(u64, u64)>,
}

/// A page of a task, mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapped {
    /// The physical page number.
    pub frame: u64,
    /// What it took to map it.
    pub fault: Option<Fault>,
}

/// What a page fault did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It gave the page its first frame.
    FirstTouch,
    /// It mapped the frame that the page had.
    Remap,
    /// It is to copy the page from another frame: its physical page number.
    Copy { from: u64 },
}

const RECENT: usize = 512;

/// No task touches the last page of the address space.
const NO_PAGE: u64 = u64::MAX;

impl AddressSpace {
    /// No pages. With `colors` they will be dealt from these.
    pub fn new(colors: Option<ColorRange>) -> Self {
        Self {
            numbers: PageIndex::default(),
            frames: Vec::new(),
            pages: LazyPages::new(),
            dealer: colors.map(Dealer::new),
            recent: vec![(NO_PAGE, 0); RECENT],
        }
    }

    /// The frame of `page`, where it was touched lately.
    #[inline]
    pub fn recent(&self, page: u64) -> Option<u64> {
        let (known, frame) = self.recent[page as usize % RECENT];
        (known == page).then_some(frame)
    }

    /// Maps `page`; `None` when there are more pages than can be numbered.
    pub fn map(&mut self, page: u64, frames: &mut Frames) -> Option<Mapped> {
        let mapped = match self.numbers.number(page, u32::MAX as usize) {
            Numbered::Full => return None,
            Numbered::New(number) => self.map_new(number, frames),
            Numbered::Known(number) => self.touch(number as usize, frames),
        };
        self.recent[page as usize % RECENT] = (page, mapped.frame);
        Some(mapped)
    }

    fn map_new(&mut self, number: u32, frames: &mut Frames) -> Mapped {
        let color = self.dealer.as_mut().map(Dealer::deal);
        let (frame, color) = frames.take(color);
        self.frames.push(frame);
        self.pages.assign(number as usize, color);
        Mapped {
            frame,
            fault: Some(Fault::FirstTouch),
        }
    }

    /// Touches a page by its number, as a fault or a copy ahead of it does.
    pub fn touch(&mut self, number: usize, frames: &mut Frames) -> Mapped {
        let frame = self.frames[number];
        match self.pages.touch(number) {
            Touch::Mapped | Touch::Absent => Mapped { frame, fault: None },
            Touch::Map(_) => Mapped {
                frame,
                fault: Some(Fault::Remap),
            },
            Touch::Copy { to, .. } => {
                let (fresh, _) = frames.take(Some(to));
                self.frames[number] = fresh;
                Mapped {
                    frame: fresh,
                    fault: Some(Fault::Copy { from: frame }),
                }
            }
        }
    }

    /// Changes the colors to `colors`: what is to be unmapped and flushed now.
    pub fn recolor(&mut self, colors: ColorRange) -> Flush {
        let flush = self.pages.recolor(colors);
        // Where pages are to be, not where they still are: a page that waits for its copy counts in its new color.
        let targets = (0..self.frames.len()).filter_map(|page| self.pages.target(page));
        self.dealer = Some(Dealer::resume(colors, targets));
        // What was unmapped must meet its fault.
        self.recent.fill((NO_PAGE, 0));
        flush
    }

    /// The colors that new pages are dealt from.
    pub fn colors(&self) -> Option<ColorRange> {
        self.dealer.as_ref().map(Dealer::range)
    }

    /// How many pages were touched.
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// How many pages have another color than they are to have.
    pub fn uncopied(&self) -> usize {
        let is_elsewhere = |page: &usize| self.pages.color(*page) != self.pages.target(*page);
        (0..self.frames.len()).filter(is_elsewhere).count()
    }
}
