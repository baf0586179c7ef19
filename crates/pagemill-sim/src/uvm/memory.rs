//! Where a read finds its data, and when.

use pagemill_policy::residency::Touch;
use pagemill_types::Picos;

use super::fault_handler::FaultHandler;
use super::partial::PartialPages;
use super::piece::Piece;
use super::translation::Translations;
use super::wires::Wires;

/// The answer to an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// The data are there at this time.
    Done(Picos),
    /// The same, and the driver has a report of an access counter to look at.
    Reported(Picos),
    /// The page has to be brought first.
    Fault,
}

/// Who moves pages.
#[derive(Debug)]
pub(super) enum Mover {
    Driver(Box<FaultHandler>),
    Partial(Box<PartialPages>),
}

/// Everything below the SMs.
#[derive(Debug)]
pub(super) struct Memory {
    pub mover: Mover,
    pub translations: Translations,
    pub wires: Wires,
    /// The last page of the step at hand, and what became of it: neighbouring warps meet the same.
    last: Option<(u32, Found)>,
}

/// What the first access to a page in a step found.
#[derive(Clone, Copy, Debug)]
enum Found {
    Local { ready: Picos, delay: Picos },
    Remote { delay: Picos },
    Fault,
}

impl Memory {
    pub(super) fn new(mover: Mover, translations: Translations, wires: Wires) -> Self {
        Self {
            mover,
            translations,
            wires,
            last: None,
        }
    }

    /// Another step, another time: what was found holds no more.
    #[inline]
    pub(super) fn begin_step(&mut self) {
        self.last = None;
    }

    /// An SM behind `utlb` reads `piece` at `at`.
    #[inline]
    pub(super) fn access(&mut self, at: Picos, utlb: u32, piece: Piece) -> Access {
        let found = match self.last {
            Some((page, found)) if page == piece.page => found,
            _ => {
                let found = self.find(at, utlb, piece.page);
                self.last = Some((piece.page, found));
                found
            }
        };
        match found {
            Found::Local { ready, delay } => self.read_local(at, ready, delay, piece),
            Found::Remote { delay } => self.read_remote(at, delay, piece),
            Found::Fault => Access::Fault,
        }
    }

    #[inline]
    fn find(&mut self, at: Picos, utlb: u32, page: u32) -> Found {
        let (touch, ready) = match &self.mover {
            Mover::Driver(handler) => (handler.driver().touch(page), handler.ready_at(page)),
            Mover::Partial(_) => (Touch::Local, at),
        };
        match touch {
            Touch::Local => Found::Local {
                ready,
                delay: self.translations.delay(at, utlb, page, false),
            },
            Touch::Remote => Found::Remote {
                delay: self.translations.delay(at, utlb, page, true),
            },
            Touch::Fault => Found::Fault,
        }
    }

    #[inline]
    fn read_local(&mut self, at: Picos, ready: Picos, delay: Picos, piece: Piece) -> Access {
        let ready = match &mut self.mover {
            Mover::Driver(_) => ready,
            Mover::Partial(pages) => pages.arrival(at, piece, &mut self.wires),
        };
        let wait = ready.saturating_since(at);
        Access::Done(self.wires.read_local(at, delay, piece) + wait)
    }

    #[inline]
    fn read_remote(&mut self, at: Picos, delay: Picos, piece: Piece) -> Access {
        let done = self.wires.read_remote(at, delay, piece);
        let reported = match &mut self.mover {
            Mover::Driver(handler) => handler.count_remote(piece.page, u32::from(piece.requests)),
            Mover::Partial(_) => false,
        };
        if reported {
            Access::Reported(done)
        } else {
            Access::Done(done)
        }
    }
}
