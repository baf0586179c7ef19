use rustc_hash::FxHashMap;

/// Numbers pages in the order of their first touch.
#[derive(Debug, Default)]
pub struct PageIndex {
    numbers: FxHashMap<u64, u32>,
    /// The page that was asked for last: most references stay on it.
    last: Option<(u64, u32)>,
}

/// The number of a page.
pub enum Numbered {
    /// It was touched before.
    Known(u32),
    /// This is its first touch.
    New(u32),
    /// More pages than can be numbered.
    Full,
}

impl PageIndex {
    /// Pages so far.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// The number of `page`, from 0; at most `limit` pages are numbered.
    #[inline]
    pub fn number(&mut self, page: u64, limit: usize) -> Numbered {
        match self.last {
            // Most references are to the page of the one before.
            Some((last, number)) if last == page => Numbered::Known(number),
            _ => self.find(page, limit),
        }
    }

    fn find(&mut self, page: u64, limit: usize) -> Numbered {
        if let Some(number) = self.numbers.get(&page) {
            self.last = Some((page, *number));
            return Numbered::Known(*number);
        }
        let number = self.numbers.len();
        if number >= limit {
            return Numbered::Full;
        }
        let number = number as u32;
        self.numbers.insert(page, number);
        self.last = Some((page, number));
        Numbered::New(number)
    }
}
