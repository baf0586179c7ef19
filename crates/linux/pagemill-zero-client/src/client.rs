use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;

use pagemill_linux::OsError;
use pagemill_linux::channel::Channel;

use crate::lease::{Exhausted, Lease, LentFile, Request};
use crate::protocol::{Answer, Ask, MESSAGE_BYTES_MAX, Reason, Status, WaitFor};

/// A connection to the pool. Dropping it returns what was borrowed through it.
#[derive(Debug)]
pub struct Client {
    channel: Channel,
    buffer: Vec<u8>,
}

/// Why nothing was borrowed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The pool said no.
    #[error("the pool refuses: {message}")]
    Refused {
        /// For programs.
        reason: Reason,
        /// For people.
        message: String,
    },
    /// There is no connection to the pool, or no longer.
    #[error(transparent)]
    Os(#[from] OsError),
    /// The pool has closed the connection.
    #[error("the pool closed the connection")]
    Closed,
    /// The process that answered is no pool.
    #[error("the pool's answer makes no sense: {0}")]
    Nonsense(String),
}

impl ClientError {
    /// Whether the pool merely has too little now.
    pub fn is_exhausted(&self) -> bool {
        matches!(
            self,
            Self::Refused {
                reason: Reason::Exhausted,
                ..
            }
        )
    }
}

impl Client {
    /// Connects to the pool at `socket`.
    ///
    /// # Errors
    /// No process listens there.
    pub fn connect(socket: &Path) -> Result<Self, ClientError> {
        let channel = Channel::connect(socket).map_err(|error| {
            let help = "start the pool: pagemill zero serve --pages N";
            if error.kind() == io::ErrorKind::PermissionDenied {
                error
            } else {
                error.with_hint(help)
            }
        })?;
        Ok(Self {
            channel,
            buffer: vec![0; MESSAGE_BYTES_MAX],
        })
    }

    /// Borrows memory.
    ///
    /// # Errors
    /// The pool has too little ([`ClientError::is_exhausted`]), refuses, or is gone.
    pub fn lease(&mut self, request: &Request) -> Result<Lease, ClientError> {
        self.send(&Ask::Lease {
            bytes: request.bytes,
            page_bytes: request.page_bytes,
            single_file: request.single_file,
            wait_ms: match request.exhausted {
                Exhausted::Fail => 0,
                Exhausted::Wait(wait_ms) | Exhausted::WaitForCleaning(wait_ms) => wait_ms,
            },
            wait_for: match request.exhausted {
                Exhausted::WaitForCleaning(_) => WaitFor::Cleaning,
                _ => WaitFor::Any,
            },
        })?;
        let mut borrowed = Vec::new();
        loop {
            let (answer, descriptors) = self.receive()?;
            let Answer::Lease { lease, files, more } = answer else {
                return Err(nonsense(&answer));
            };
            if files.len() != descriptors.len() {
                return Err(ClientError::Nonsense(format!(
                    "{} files with {} descriptors; this process may have too many open files",
                    files.len(),
                    descriptors.len()
                )));
            }
            let lent = descriptors.into_iter().zip(files);
            borrowed.extend(lent.map(|(descriptor, bytes)| LentFile {
                descriptor,
                bytes: bytes as usize,
            }));
            if !more {
                return Ok(Lease {
                    number: lease,
                    files: borrowed,
                    page_bytes: request.page_bytes as usize,
                });
            }
        }
    }

    /// Gives memory back. Unmap it before: what is mapped still counts as borrowed.
    ///
    /// # Errors
    /// The pool is gone, or does not know the lease; either way the memory is given up.
    pub fn give_back(&mut self, lease: Lease) -> Result<(), ClientError> {
        let number = lease.number;
        drop(lease);
        self.send(&Ask::Return { lease: number })?;
        match self.receive()? {
            (Answer::Returned { .. }, _) => Ok(()),
            (answer, _) => Err(nonsense(&answer)),
        }
    }

    /// How the pool stands.
    ///
    /// # Errors
    /// The pool is gone.
    pub fn status(&mut self) -> Result<Status, ClientError> {
        self.send(&Ask::Status {})?;
        match self.receive()? {
            (Answer::Status(status), _) => Ok(status),
            (answer, _) => Err(nonsense(&answer)),
        }
    }

    /// Metrics in the text format of Prometheus.
    ///
    /// # Errors
    /// The pool is gone.
    pub fn metrics(&mut self) -> Result<String, ClientError> {
        self.send(&Ask::Metrics {})?;
        match self.receive()? {
            (Answer::Metrics { text }, _) => Ok(text),
            (answer, _) => Err(nonsense(&answer)),
        }
    }

    fn send(&self, ask: &Ask) -> Result<(), ClientError> {
        let text =
            serde_json::to_vec(ask).map_err(|error| ClientError::Nonsense(error.to_string()))?;
        Ok(self.channel.send(&text, &[])?)
    }

    fn receive(&mut self) -> Result<(Answer, Vec<std::os::fd::OwnedFd>), ClientError> {
        let received = self.channel.receive(&mut self.buffer, true)?;
        if received.bytes == 0 {
            return Err(ClientError::Closed);
        }
        let answer = serde_json::from_slice(&self.buffer[..received.bytes])
            .map_err(|error| ClientError::Nonsense(error.to_string()))?;
        match answer {
            Answer::Refused { reason, message } => Err(ClientError::Refused { reason, message }),
            answer => Ok((answer, received.descriptors)),
        }
    }
}

impl AsFd for Client {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.channel.as_fd()
    }
}

fn nonsense(answer: &Answer) -> ClientError {
    ClientError::Nonsense(format!("{answer:?}"))
}
