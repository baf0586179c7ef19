//! Where a read finds its data, and when.

use pagemill_policy::residency::PAGE_BYTES;
use pagemill_types::Picos;

use super::paths::Paths;
use super::piece::Piece;
use crate::managers::driver::Waiter;
use crate::managers::{Asker, Manager, PageRequest, Touch};
use crate::parts::translation::Translations;

/// Who reads, and by which first-level TLB.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader {
    pub actor: u32,
    pub utlb: u32,
}

/// A read that sleeps until its page is there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sleeper {
    pub reader: Reader,
    pub piece: Piece,
}

impl Waiter for Sleeper {
    #[inline]
    fn utlb(&self) -> u32 {
        self.reader.utlb
    }

    #[inline]
    fn page(&self) -> u32 {
        self.piece.page
    }

    #[inline]
    fn writes(&self) -> bool {
        false
    }

    #[inline]
    fn warp(&self) -> u32 {
        self.reader.actor
    }

    #[inline]
    fn requests(&self) -> u32 {
        self.piece.requests.into()
    }
}

/// Everything below the SMs.
#[derive(Debug)]
pub(super) struct Memory {
    pub manager: Manager<Sleeper>,
    pub translations: Translations,
    pub paths: Paths,
}

impl Memory {
    /// A read at `at`; answers when its data are there, or with nothing if it sleeps for its page.
    pub(super) fn access(&mut self, at: Picos, reader: Reader, piece: Piece) -> Option<Picos> {
        let request = PageRequest {
            address: u64::from(piece.page) * PAGE_BYTES + u64::from(piece.offset),
            bytes: piece.bytes.into(),
            // Ranges are moved for the whole GPU here (`RangesSpec::free`), so it makes no difference which SM asks.
            asker: Asker {
                sm: 0,
                partition: 0,
            },
        };
        let sleeper = || Sleeper { reader, piece };
        let (host_link, translations) = (&mut self.paths.host_link, &mut self.translations);
        match self.manager.touch(at, request, sleeper, host_link) {
            Touch::Here(ready) | Touch::Arrives(ready) | Touch::LooksUpAgain(ready) => {
                let delay = translations.delay(at, reader.utlb, piece.page, false);
                // Memory is booked at the time of the read, and what its page is late by comes on
                // top: parts are asked in the order of time.
                Some(self.paths.read_local(at, delay, piece) + ready.saturating_since(at))
            }
            Touch::InPlace(_) => {
                let delay = translations.delay(at, reader.utlb, piece.page, true);
                Some(self.paths.read_remote(at, delay, piece))
            }
            Touch::Waits => None,
        }
    }
}
