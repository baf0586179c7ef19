//! Connections of those who must not get in, or speak no protocol.

use std::collections::VecDeque;
use std::time::Duration;

use super::super::HELLO_PATIENCE;
use super::board::Board;
use super::client::{Client, hello};
use super::plan::{NAMES, token};
use super::surroundings::Surroundings;
use crate::remote::protocol::{NAME_BYTES_MAX, OK, PUT, SessionId, UNITS_MAX};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Intent {
    /// Has the token of another tenant.
    WrongToken,
    UnknownTenant,
    /// Asks for another tenant's session.
    Foreign(SessionId),
    /// Asks for a session of its own that has ended.
    Ended(SessionId),
    /// Says who it is a byte at a time.
    Dribbles,
    /// Says half of who it is.
    FallsSilent,
    LongName,
    /// Gets in, and asks for what there is not.
    Babbles,
}

pub struct Stranger {
    link: usize,
    intent: Intent,
    /// Whose session it knows of.
    owner: usize,
    is_greeted: bool,
    unsent: VecDeque<u8>,
    /// When the server's thread began.
    served_since: Option<Duration>,
    pub has_left: bool,
}

impl Stranger {
    pub fn new(around: &mut Surroundings, clients: &[Client]) -> Self {
        let client = &clients[around.board.below(clients.len() as u64) as usize];
        let intent = match around.board.below(9) {
            0 | 1 => client.session().map(Intent::Foreign),
            2 | 3 => client.ended_session(&around.board).map(Intent::Ended),
            4 => Some(Intent::UnknownTenant),
            5 => Some(Intent::Dribbles),
            6 => Some(Intent::FallsSilent),
            7 => Some(Intent::LongName),
            _ => Some(Intent::Babbles),
        };
        Self {
            link: around.connect(),
            intent: intent.unwrap_or(Intent::WrongToken),
            owner: client.tenant,
            is_greeted: false,
            unsent: VecDeque::new(),
            served_since: None,
            has_left: false,
        }
    }

    fn hello(&self, challenge: &[u8]) -> Vec<u8> {
        let new = SessionId::default();
        let as_tenant = |id, tenant: usize| hello(id, &token(tenant), challenge, NAMES[tenant]);
        match self.intent {
            Intent::WrongToken => hello(&new, &token(0), challenge, NAMES[1]),
            Intent::UnknownTenant => hello(&new, &token(0), challenge, "three"),
            Intent::Foreign(id) => as_tenant(&id, 1 - self.owner),
            Intent::Ended(id) => as_tenant(&id, self.owner),
            Intent::LongName => {
                let name = "x".repeat(NAME_BYTES_MAX + 1);
                hello(&new, &token(0), challenge, &name)
            }
            Intent::Dribbles => as_tenant(&new, 0),
            Intent::FallsSilent => as_tenant(&new, 0)[..20].to_vec(),
            Intent::Babbles => {
                let mut bytes = as_tenant(&new, 0);
                bytes.extend([PUT, UNITS_MAX as u8 + 1]);
                bytes
            }
        }
    }

    pub fn act(&mut self, around: &mut Surroundings, leaves: bool) -> Result<(), String> {
        let board = &around.board;
        if self.is_greeted && self.intent != Intent::Babbles && board.peek(self.link) == Some(OK) {
            return Err(format!("a stranger gets in: {:?}", self.intent));
        }
        if leaves || board.ended(self.link).is_some() {
            board.hang_up(self.link);
            self.has_left = true;
            return Ok(());
        }
        if !self.is_greeted
            && let Some(challenge) = around.challenge(self.link)?
        {
            self.is_greeted = true;
            self.unsent = self.hello(&challenge).into();
        }
        let is_slow = self.intent == Intent::Dribbles;
        let bytes = if is_slow { 1 } else { usize::MAX };
        // The last one of those who dribble never arrives.
        let most = self.unsent.len().saturating_sub(usize::from(is_slow));
        let sent = self.unsent.drain(..bytes.min(most));
        around.board.send(self.link, sent);
        self.judge_patience(&around.board)
    }

    /// Who does not say who it is loses its connection, or will as soon as the server's thread runs.
    fn judge_patience(&self, board: &Board) -> Result<(), String> {
        let is_silent = matches!(self.intent, Intent::Dribbles | Intent::FallsSilent);
        let since = self.served_since.filter(|_| is_silent);
        let is_late = since.is_some_and(|since| board.time() >= since + HELLO_PATIENCE);
        if is_late && board.ended(self.link).is_none() && !board.ready().contains(&self.link) {
            return Err("who does not say who it is keeps its connection".to_owned());
        }
        Ok(())
    }

    /// The thread of connection `link` ran.
    pub fn was_served(&mut self, link: usize, around: &Surroundings) -> Result<(), String> {
        if link != self.link {
            return Ok(());
        }
        self.served_since.get_or_insert(around.board.time());
        self.judge_patience(&around.board)
    }
}
