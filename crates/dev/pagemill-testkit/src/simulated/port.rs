use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use pagemill_linux::channel::Peer;
use pagemill_linux::messages::Incoming;
use pagemill_linux::server::{Port, Readiness};
use pagemill_linux::{OsError, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Network;

/// What a test simulates around a server.
pub trait World {
    /// What travels beside messages.
    type Descriptor: Clone;

    /// Clock, chance and connections.
    fn network(&mut self) -> &mut Network<Self::Descriptor>;

    /// When something happens next without the server.
    fn next_ns(&self) -> u64;

    /// Does what is due.
    fn act(&mut self);

    /// The server is about to wait.
    fn waits(&mut self) {}

    /// Whether another thread of the server has something since this was last asked, so that the server does not wait.
    fn wakes(&mut self) -> bool {
        false
    }

    /// The server has taken a message.
    fn taken(&mut self, _link: usize, _message: &[u8]) {}

    /// The server has sent a message.
    fn sent(&mut self, _link: usize, _message: &[u8]) {}
}

/// The kernel's part of a server in a simulated world.
pub struct SimulatedPort<W>(pub Rc<RefCell<W>>);

/// The server's end of a connection.
pub struct Channel<W: World> {
    world: Rc<RefCell<W>>,
    link: usize,
}

impl<W: World> Drop for Channel<W> {
    fn drop(&mut self) {
        self.world.borrow_mut().network().close(self.link);
    }
}

impl<W: World> Port for SimulatedPort<W> {
    type Channel = Channel<W>;
    type Descriptor = W::Descriptor;

    fn now_ns(&self) -> u64 {
        self.0.borrow_mut().network().now_ns
    }

    fn accept(&mut self) -> Result<(Channel<W>, Peer)> {
        let accepted = self.0.borrow_mut().network().accept();
        let out_of_descriptors = || OsError::new("accept", io::Error::from_raw_os_error(24));
        let (link, user) = accepted.ok_or_else(out_of_descriptors)?;
        let peer = Peer {
            process: 0,
            user,
            group: 0,
        };
        let world = Rc::clone(&self.0);
        Ok((Channel { world, link }, peer))
    }

    fn wait(
        &mut self,
        lets_in: bool,
        channels: &[&Channel<W>],
        limit: Option<Duration>,
    ) -> Result<Readiness> {
        let mut world = self.0.borrow_mut();
        world.waits();
        let links = || channels.iter().map(|channel| channel.link);
        let begun_ns = world.network().now_ns;
        let until_ns = limit.map_or(u64::MAX, |limit| begun_ns + limit.as_nanos() as u64);
        loop {
            let wakes = world.wakes();
            let network = world.network();
            let ready = Readiness {
                stops: network.stops(),
                connects: lets_in && network.is_connecting(),
                channels: links().map(|link| network.is_ready(link)).collect(),
            };
            let is_ready = wakes || ready.stops || ready.connects || ready.channels.contains(&true);
            if is_ready || network.now_ns >= until_ns {
                return Ok(ready);
            }
            let next_ns = network.next_ns(lets_in, links()).min(until_ns);
            // After a jump of the clock, events that are due happen at once.
            let soon_ns = network.now_ns + 1;
            let next_ns = next_ns.min(world.next_ns().max(soon_ns));
            world.network().now_ns = next_ns;
            world.act();
        }
    }

    fn take_message<T: DeserializeOwned>(
        &self,
        channel: &Channel<W>,
        _buffer: &mut [u8],
    ) -> Incoming<T> {
        let mut world = self.0.borrow_mut();
        let bytes = match world.network().take_for_server(channel.link) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => return Incoming::Nothing,
            Err(()) => return Incoming::Closed,
        };
        world.taken(channel.link, &bytes);
        match serde_json::from_slice(&bytes) {
            Ok(message) => Incoming::Message(message),
            Err(error) => Incoming::Garbage(error.to_string()),
        }
    }

    fn send(
        &self,
        channel: &Channel<W>,
        message: &impl Serialize,
        descriptors: &[W::Descriptor],
    ) -> bool {
        let mut world = self.0.borrow_mut();
        let bytes = serde_json::to_vec(message).expect("JSON");
        let is_sent = (world.network()).answer(channel.link, &bytes, descriptors);
        if is_sent {
            world.sent(channel.link, &bytes);
        }
        is_sent
    }
}
