use std::collections::BTreeMap;
use std::os::fd::{AsFd, OwnedFd};

use pagemill_linux::OsError;
use pagemill_linux::channel::{Channel, DESCRIPTORS_MAX, Peer};
use pagemill_linux::messages::Heard;
use pagemill_zero_client::protocol::{Answer, Ask, MESSAGE_BYTES_MAX, Reason};

use super::books::{Places, Refusal};

/// One connection.
pub(super) struct Session {
    pub channel: Channel,
    pub peer: Peer,
    pub leases: BTreeMap<u64, Places>,
    pub waiting: Option<Waiting>,
}

/// A request for which there is too little.
pub(super) struct Waiting {
    pub bytes: u64,
    pub page_bytes: u64,
    pub single_file: bool,
    pub until_ns: u64,
}

impl Session {
    pub fn new(channel: Channel) -> Result<Self, OsError> {
        Ok(Self {
            peer: channel.peer()?,
            channel,
            leases: BTreeMap::new(),
            waiting: None,
        })
    }

    /// Takes the next message without waiting.
    pub fn hear(&self, buffer: &mut [u8]) -> Heard<Ask> {
        debug_assert!(buffer.len() >= MESSAGE_BYTES_MAX);
        self.channel.hear(buffer)
    }

    /// Answers. `false` where the other end is gone, or does not read what it is sent.
    pub fn answer(&self, answer: &Answer) -> bool {
        self.send(answer, &[])
    }

    /// Refuses.
    pub fn refuse(&self, refusal: Refusal) -> bool {
        let Refusal { reason, message } = refusal;
        self.answer(&Answer::Refused { reason, message })
    }

    /// Refuses a message that makes no sense.
    pub fn refuse_garbage(&self, message: String) -> bool {
        self.refuse(Refusal {
            reason: Reason::Garbage,
            message,
        })
    }

    /// Hands a lease out, with as many descriptors a message as fit.
    pub fn hand_out(&self, lease: u64, files: &[(u64, OwnedFd)]) -> bool {
        let mut left = files.len();
        files.chunks(DESCRIPTORS_MAX).all(|part| {
            left -= part.len();
            let answer = Answer::Lease {
                lease,
                files: part.iter().map(|(bytes, _)| *bytes).collect(),
                more: left > 0,
            };
            let descriptors: Vec<_> = part.iter().map(|(_, lent)| lent.as_fd()).collect();
            self.send(&answer, &descriptors)
        })
    }

    fn send(&self, answer: &Answer, descriptors: &[std::os::fd::BorrowedFd<'_>]) -> bool {
        self.channel.say(answer, descriptors).is_ok()
    }
}
