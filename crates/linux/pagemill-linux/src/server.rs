//! What the daemons have in common: who is connected, who may still connect, how long to wait, and when to end.
//!
//! A [`Server`] knows neither sockets nor clocks but by a [`Port`]: [`SocketPort`] has the kernel's, and a test may have a
//! simulated one, in which messages are late or lost and the clock jumps.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Result;
use crate::channel::{Channel, Listener, Peer, wait_readable};
use crate::clock::monotonic_ns;
use crate::messages::Incoming;
use crate::stop::{StopSignal, Stopper, stopper};

/// After a connection could not be accepted, which happens when no descriptor is left, none is for so long. The others are served.
const ACCEPT_AGAIN_NS: u64 = 50_000_000;

/// Where time, connections and messages come from.
pub trait Port {
    /// One end of a connection.
    type Channel;

    /// What travels beside a message.
    type Descriptor;

    /// Time since some moment in the past.
    fn now_ns(&self) -> u64;

    /// Takes the next connection.
    ///
    /// # Errors
    /// It broke before, or no descriptor is left.
    fn accept(&mut self) -> Result<(Self::Channel, Peer)>;

    /// Waits until something is to be done, at most for `limit`; another thread of the server may end the wait. Connections count
    /// only if `lets_in`.
    ///
    /// # Errors
    /// The kernel refuses to wait.
    fn wait(
        &mut self,
        lets_in: bool,
        channels: &[&Self::Channel],
        limit: Option<Duration>,
    ) -> Result<Readiness>;

    /// Takes the next message of a connection without waiting.
    fn take_message<T: DeserializeOwned>(
        &self,
        channel: &Self::Channel,
        buffer: &mut [u8],
    ) -> Incoming<T>;

    /// Sends a message with descriptors without waiting for room. `false` if the other end is gone, or does not read.
    fn send(
        &self,
        channel: &Self::Channel,
        message: &impl Serialize,
        descriptors: &[Self::Descriptor],
    ) -> bool;

    /// Sends a message alone.
    fn say(&self, channel: &Self::Channel, message: &impl Serialize) -> bool {
        self.send(channel, message, &[])
    }
}

/// What [`Port::wait`] waited for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readiness {
    /// The server is to end.
    pub stops: bool,
    /// A connection waits to be accepted.
    pub connects: bool,
    /// For each channel, whether it has a message or was closed.
    pub channels: Vec<bool>,
}

/// How many connections there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// In all.
    pub connections: usize,
    /// Of one user.
    pub connections_per_user: usize,
}

/// One connection, and what the daemon keeps of it.
#[derive(Debug)]
pub struct Session<C, S> {
    /// The connection.
    pub channel: C,
    /// Who is at the other end.
    pub peer: Peer,
    /// The daemon's own.
    pub state: S,
}

/// What a round of a daemon has to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// It is to end.
    pub stops: bool,
    /// A connection waits to be accepted.
    pub connects: bool,
    /// Sessions that have a message or were closed, in the order of their connections.
    pub sessions: Vec<u64>,
}

/// The connections of a daemon.
pub struct Server<P: Port, S> {
    /// Where they come from.
    pub port: P,
    sessions: BTreeMap<u64, Session<P::Channel, S>>,
    next_session: u64,
    limits: Limits,
    accept_again_ns: u64,
}

impl<P: Port, S> Server<P, S> {
    /// Without connections.
    pub fn new(port: P, limits: Limits) -> Self {
        Self {
            port,
            sessions: BTreeMap::new(),
            next_session: 0,
            limits,
            accept_again_ns: 0,
        }
    }

    /// Waits for messages, connections, or the time `due_ns`.
    ///
    /// # Errors
    /// The kernel refuses to wait.
    pub fn wait(&mut self, due_ns: Option<u64>) -> Result<Round> {
        let now_ns = self.port.now_ns();
        let accepts = now_ns >= self.accept_again_ns;
        let lets_in = accepts && self.sessions.len() < self.limits.connections;
        let again_ns = (!accepts).then_some(self.accept_again_ns);
        let until_ns = due_ns.into_iter().chain(again_ns).min();
        // A millisecond more than asked, so that the time has passed.
        let limit = until_ns
            .map(|ns| Duration::from_nanos(ns.saturating_sub(now_ns)) + Duration::from_millis(1));
        let channels: Vec<&P::Channel> = self.sessions.values().map(|one| &one.channel).collect();
        let ready = self.port.wait(lets_in, &channels, limit)?;
        let sessions = self.sessions.keys().zip(&ready.channels);
        Ok(Round {
            stops: ready.stops,
            connects: lets_in && ready.connects,
            sessions: sessions
                .filter_map(|(number, is_ready)| is_ready.then_some(*number))
                .collect(),
        })
    }

    /// Accepts a connection. `refuse` answers a user who has too many.
    pub fn accept(
        &mut self,
        state: impl FnOnce() -> S,
        refuse: impl FnOnce(&P, &P::Channel, usize),
    ) {
        let Ok((channel, peer)) = self.port.accept() else {
            self.accept_again_ns = self.port.now_ns() + ACCEPT_AGAIN_NS;
            return;
        };
        let of_user = |session: &&Session<P::Channel, S>| session.peer.user == peer.user;
        let most = self.limits.connections_per_user;
        if self.sessions.values().filter(of_user).count() >= most {
            return refuse(&self.port, &channel, most);
        }
        let session = Session {
            channel,
            peer,
            state: state(),
        };
        self.sessions.insert(self.next_session, session);
        self.next_session += 1;
    }

    /// Takes the next message of a session, which may be gone.
    pub fn take_message<T: DeserializeOwned>(&self, number: u64, buffer: &mut [u8]) -> Incoming<T> {
        match self.sessions.get(&number) {
            Some(session) => self.port.take_message(&session.channel, buffer),
            None => Incoming::Nothing,
        }
    }

    /// Sends a message with descriptors to a session. `false` if it is gone, or does not read.
    pub fn send(
        &self,
        number: u64,
        message: &impl Serialize,
        descriptors: &[P::Descriptor],
    ) -> bool {
        let session = self.sessions.get(&number);
        session.is_some_and(|session| self.port.send(&session.channel, message, descriptors))
    }

    /// Sends a message alone.
    pub fn say(&self, number: u64, message: &impl Serialize) -> bool {
        self.send(number, message, &[])
    }

    /// The session of a number.
    pub fn get(&self, number: u64) -> Option<&Session<P::Channel, S>> {
        self.sessions.get(&number)
    }

    /// The same, to be changed.
    pub fn get_mut(&mut self, number: u64) -> Option<&mut Session<P::Channel, S>> {
        self.sessions.get_mut(&number)
    }

    /// Closes a connection; what was kept of it.
    pub fn end(&mut self, number: u64) -> Option<Session<P::Channel, S>> {
        self.sessions.remove(&number)
    }

    /// All sessions in the order of their connections.
    pub fn sessions(&self) -> impl ExactSizeIterator<Item = (u64, &Session<P::Channel, S>)> {
        self.sessions.iter().map(|(number, one)| (*number, one))
    }
}

/// Connections to a socket file, and the kernel's clock.
#[derive(Debug)]
pub struct SocketPort {
    listener: Listener,
    stop: StopSignal,
    stopper: Stopper,
    wake: Option<UnixStream>,
}

impl SocketPort {
    /// Listens at `socket`; users are let in by its mode.
    ///
    /// # Errors
    /// The socket cannot be made.
    pub fn bind(socket: &Path, mode: u32) -> Result<Self> {
        let (stopper, stop) =
            stopper().map_err(|error| crate::OsError::new("make a pair of sockets", error))?;
        Ok(Self {
            listener: Listener::bind(socket, mode)?,
            stop,
            stopper,
            wake: None,
        })
    }

    /// What `wake` has to read ends a wait too. It must not block.
    pub fn wake_by(&mut self, wake: UnixStream) {
        self.wake = Some(wake);
    }

    /// What ends the server.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }
}

/// Reads all that another thread has written.
fn drain(mut wake: &UnixStream) {
    let mut bytes = [0; 64];
    while matches!(wake.read(&mut bytes), Ok(count) if count > 0) {}
}

impl Port for SocketPort {
    type Channel = Channel;
    type Descriptor = OwnedFd;

    fn now_ns(&self) -> u64 {
        monotonic_ns()
    }

    fn accept(&mut self) -> Result<(Channel, Peer)> {
        let channel = self.listener.accept()?;
        let peer = channel.peer()?;
        Ok((channel, peer))
    }

    fn wait(
        &mut self,
        lets_in: bool,
        channels: &[&Channel],
        limit: Option<Duration>,
    ) -> Result<Readiness> {
        let mut descriptors = vec![self.stop.as_fd()];
        descriptors.extend(self.wake.as_ref().map(AsFd::as_fd));
        if lets_in {
            descriptors.push(self.listener.as_fd());
        }
        descriptors.extend(channels.iter().map(|channel| channel.as_fd()));
        let mut readable = wait_readable(&descriptors, limit)?.into_iter();
        let mut next = || readable.next().unwrap_or(false);
        let stops = next();
        if let Some(wake) = &self.wake
            && next()
        {
            drain(wake);
        }
        Ok(Readiness {
            stops,
            connects: lets_in && next(),
            channels: readable.collect(),
        })
    }

    fn take_message<T: DeserializeOwned>(
        &self,
        channel: &Channel,
        buffer: &mut [u8],
    ) -> Incoming<T> {
        channel.take_message(buffer)
    }

    fn send(&self, channel: &Channel, message: &impl Serialize, descriptors: &[OwnedFd]) -> bool {
        let descriptors: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
        channel.say(message, &descriptors).is_ok()
    }
}
