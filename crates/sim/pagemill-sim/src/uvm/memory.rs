//! Where a read finds its data, and when.

use pagemill_policy::residency::PAGE_BYTES;
use pagemill_types::Picos;

use super::paths::Paths;
use super::piece::Piece;
use crate::gpu::common::host_link::HostLink;
use crate::gpu::memory::translation::Translations;
use crate::gpu::pages::driver::{DriverPages, Found, Waiter};
use crate::gpu::pages::ranges::Ranges;
use crate::gpu::pages::{Asker, PageRequest, Touch};

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
}

/// The page manager.
#[derive(Debug)]
pub(super) enum PageManager {
    Driver(Box<DriverPages<Sleeper>>),
    Partial(Box<Ranges>),
}

/// Everything below the SMs.
#[derive(Debug)]
pub(super) struct Memory {
    pub manager: PageManager,
    pub translations: Translations,
    pub paths: Paths,
}

impl Memory {
    /// A read at `at`; answers when its data are there, or with nothing if it sleeps for its page.
    pub(super) fn access(&mut self, at: Picos, reader: Reader, piece: Piece) -> Option<Picos> {
        let utlb = reader.utlb;
        let page = piece.page;
        let found = match &mut self.manager {
            PageManager::Driver(pages) => {
                pages.note_use(page);
                pages.find(at, page, false)
            }
            PageManager::Partial(_) => Found::Local(at),
        };
        match found {
            Found::Local(ready) => {
                let delay = self.translations.delay(at, utlb, page, false);
                Some(self.read_local(at, ready, delay, piece))
            }
            Found::Remote => {
                let delay = self.translations.delay(at, utlb, page, true);
                Some(self.read_remote(at, delay, piece))
            }
            Found::Fault => {
                if let PageManager::Driver(pages) = &mut self.manager {
                    pages.fault(at, Sleeper { reader, piece });
                }
                None
            }
        }
    }

    #[inline]
    fn read_local(&mut self, at: Picos, ready: Picos, delay: Picos, piece: Piece) -> Picos {
        let ready = match &mut self.manager {
            PageManager::Driver(_) => ready,
            PageManager::Partial(pages) => arrival(pages, at, piece, &mut self.paths.host_link),
        };
        let wait = ready.saturating_since(at);
        self.paths.read_local(at, delay, piece) + wait
    }

    #[inline]
    fn read_remote(&mut self, at: Picos, delay: Picos, piece: Piece) -> Picos {
        let done = self.paths.read_remote(at, delay, piece);
        if let PageManager::Driver(pages) = &mut self.manager {
            pages.note_remote(at, piece.page, u32::from(piece.requests));
        }
        done
    }
}

/// When the bytes of `piece` are in GPU memory.
#[inline]
fn arrival(ranges: &mut Ranges, at: Picos, piece: Piece, host_link: &mut HostLink) -> Picos {
    let request = PageRequest {
        address: u64::from(piece.page) * PAGE_BYTES + u64::from(piece.offset),
        bytes: piece.bytes.into(),
        asker: Asker {
            sm: 0,
            partition: 0,
        },
    };
    let touch = ranges.touch(at, request, host_link);
    // No cache and no TLB of this model keeps what has left.
    ranges.moves.clear();
    match touch {
        Touch::Here(at) | Touch::Arrives(at) | Touch::InPlace(at) | Touch::LooksUpAgain(at) => at,
        // Ranges come by themselves.
        Touch::Waits => at,
    }
}
