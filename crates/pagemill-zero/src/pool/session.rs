use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};

use pagemill_linux::channel::{Channel, DESCRIPTORS_MAX};
use pagemill_linux::server;
use pagemill_zero_client::protocol::{Answer, ProgramUse, Reason, WaitFor};

use super::books::{Places, Refusal};

/// One connection.
pub(super) type Session = server::Session<Channel, Lending>;

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

/// Answers. `false` where the other end is gone, or does not read what it is sent.
pub(super) fn answer(channel: &Channel, answer: &Answer) -> bool {
    channel.say(answer, &[]).is_ok()
}

/// Refuses.
pub(super) fn refuse(channel: &Channel, refusal: Refusal) -> bool {
    let Refusal { reason, message } = refusal;
    answer(channel, &Answer::Refused { reason, message })
}

/// Refuses a message that makes no sense.
pub(super) fn refuse_garbage(channel: &Channel, message: String) -> bool {
    let reason = Reason::Garbage;
    refuse(channel, Refusal { reason, message })
}

/// Hands a lease out, with as many descriptors a message as fit.
pub(super) fn hand_out(channel: &Channel, lease: u64, files: &[(u64, OwnedFd)]) -> bool {
    let mut left = files.len();
    files.chunks(DESCRIPTORS_MAX).all(|part| {
        left -= part.len();
        let answer = Answer::Lease {
            lease,
            files: part.iter().map(|(bytes, _)| *bytes).collect(),
            more: left > 0,
        };
        let descriptors: Vec<_> = part.iter().map(|(_, lent)| lent.as_fd()).collect();
        channel.say(&answer, &descriptors).is_ok()
    })
}
