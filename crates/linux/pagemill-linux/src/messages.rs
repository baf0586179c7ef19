//! Messages of a protocol over a [`Channel`]: one JSON object each.

use std::os::fd::BorrowedFd;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::channel::Channel;
use crate::{OsError, Result};

/// What came from the other end.
#[derive(Debug, PartialEq, Eq)]
pub enum Incoming<T> {
    /// A message.
    Message(T),
    /// Nothing, for now.
    Nothing,
    /// The other end is closed.
    Closed,
    /// No message of the protocol.
    Garbage(String),
}

impl Channel {
    /// Takes the next message without waiting. Messages that come with descriptors, or are longer than `buffer`, are garbage.
    pub fn take_message<T: DeserializeOwned>(&self, buffer: &mut [u8]) -> Incoming<T> {
        let received = match self.receive(buffer, false) {
            Ok(received) => received,
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                return Incoming::Nothing;
            }
            Err(_) => return Incoming::Closed,
        };
        if received.is_cut || !received.descriptors.is_empty() {
            return Incoming::Garbage("too long, or with descriptors".to_owned());
        }
        if received.bytes == 0 {
            return Incoming::Closed;
        }
        match serde_json::from_slice(&buffer[..received.bytes]) {
            Ok(message) => Incoming::Message(message),
            Err(error) => Incoming::Garbage(error.to_string()),
        }
    }

    /// Sends a message with descriptors, without waiting for room.
    ///
    /// # Errors
    /// The other end is gone, or does not read what it is sent; or the message cannot be written as JSON.
    pub fn say(&self, message: &impl Serialize, descriptors: &[BorrowedFd<'_>]) -> Result<()> {
        let text = serde_json::to_vec(message).map_err(|error| {
            OsError::new("write a message as JSON", std::io::Error::from(error))
        })?;
        self.send(&text, descriptors)
    }
}
