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
}

impl Memory {
    /// An SM behind `utlb` reads `piece` at `at`.
    #[inline]
    pub(super) fn access(&mut self, at: Picos, utlb: u32, piece: Piece) -> Access {
        let page = piece.page;
        let (touch, ready) = match &self.mover {
            Mover::Driver(handler) => (handler.driver().touch(page), handler.ready_at(page)),
            Mover::Partial(_) => (Touch::Local, at),
        };
        match touch {
            Touch::Local => {
                let delay = self.translations.delay(at, utlb, page, false);
                self.read_local(at, ready, delay, piece)
            }
            Touch::Remote => {
                let delay = self.translations.delay(at, utlb, page, true);
                self.read_remote(at, delay, piece)
            }
            Touch::Fault => Access::Fault,
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
