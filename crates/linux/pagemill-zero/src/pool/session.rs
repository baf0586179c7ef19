use std::collections::BTreeMap;

use pagemill_linux::server;
use pagemill_zero_client::protocol::{Answer, ProgramUse, WaitFor};

use super::inventory::{Places, Refusal};

/// One connection.
pub(super) type Session<C> = server::Session<C, Lending>;

/// What a connection has, and waits for.
#[derive(Default)]
pub(super) struct Lending {
    pub leases: BTreeMap<u64, Places>,
    pub waiting: Option<Waiting>,
    /// What it asked for, once it has.
    pub used: Option<ProgramUse>,
}

/// A request for which there is too little.
#[derive(Clone, Copy)]
pub(super) struct Waiting {
    pub bytes: u64,
    pub page_bytes: u64,
    pub single_file: bool,
    pub until_ns: u64,
    pub wait_for: WaitFor,
}

impl Waiting {
    /// Pages that it needs at least.
    pub fn pages(&self) -> usize {
        let pages = self.bytes.div_ceil(self.page_bytes.max(1));
        usize::try_from(pages).unwrap_or(usize::MAX)
    }
}

/// The answer that says no.
pub(super) fn refused(refusal: Refusal) -> Answer {
    let Refusal { reason, message } = refusal;
    Answer::Refused { reason, message }
}
