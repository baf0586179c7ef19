//! The other end of the coordinator's socket.

use std::path::Path;

use pagemill_linux::OsError;
use pagemill_linux::channel::{Channel, wait_readable};
use pagemill_linux::messages::Incoming;

use crate::protocol::{Answer, Ask, MESSAGE_BYTES_MAX, Reason, Status};

/// Why the coordinator did not answer as asked.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// There is no connection, or no longer.
    #[error(transparent)]
    Os(#[from] OsError),
    /// It has closed the connection.
    #[error("the coordinator closed the connection")]
    Closed,
    /// It said no.
    #[error("the coordinator refuses: {message}")]
    Refused {
        /// For programs.
        reason: Reason,
        /// For people.
        message: String,
    },
    /// The process that answered is no coordinator.
    #[error("the coordinator's answer makes no sense: {0}")]
    Nonsense(String),
}

/// A connection to the coordinator.
#[derive(Debug)]
pub(crate) struct Link {
    pub channel: Channel,
    buffer: Vec<u8>,
}

impl Link {
    pub fn connect(socket: &Path) -> Result<Self, AskError> {
        let channel = Channel::connect(socket).map_err(|error| {
            if error.kind() == std::io::ErrorKind::PermissionDenied {
                return error;
            }
            error.with_hint("start the coordinator: pagemill color serve")
        })?;
        Ok(Self {
            channel,
            buffer: vec![0; MESSAGE_BYTES_MAX],
        })
    }

    pub fn say(&self, ask: &Ask) -> Result<(), AskError> {
        Ok(self.channel.say(ask, &[])?)
    }

    /// The next answer, if one has come.
    pub fn take_answer(&mut self) -> Result<Option<Answer>, AskError> {
        match self.channel.take_message(&mut self.buffer) {
            Incoming::Message(Answer::Refused { reason, message }) => {
                Err(AskError::Refused { reason, message })
            }
            Incoming::Message(answer) => Ok(Some(answer)),
            Incoming::Nothing => Ok(None),
            Incoming::Closed => Err(AskError::Closed),
            Incoming::Garbage(why) => Err(AskError::Nonsense(why)),
        }
    }

    /// Waits for the next answer.
    pub fn wait(&mut self) -> Result<Answer, AskError> {
        use std::os::fd::AsFd;
        loop {
            if let Some(answer) = self.take_answer()? {
                return Ok(answer);
            }
            wait_readable(&[self.channel.as_fd()], None)?;
        }
    }
}

/// How the coordinator at `socket` stands.
///
/// # Errors
/// No process listens there, or it is no coordinator.
pub fn status(socket: &Path) -> Result<Status, AskError> {
    let mut link = Link::connect(socket)?;
    link.say(&Ask::Status {})?;
    match link.wait()? {
        Answer::Status(status) => Ok(status),
        answer => Err(AskError::Nonsense(format!("{answer:?}"))),
    }
}
