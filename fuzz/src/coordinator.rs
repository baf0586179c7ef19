//! The coordinator behind a port that the input drives: connections, messages, ends and time in any order.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use pagemill_color::protocol::MESSAGE_BYTES_MAX;
use pagemill_color::{Coordinator, CoordinatorConfig};
use pagemill_linux::Result;
use pagemill_linux::channel::Peer;
use pagemill_linux::messages::Incoming;
use pagemill_linux::server::{Port, Readiness};
use pagemill_policy::coloring::quota::QUOTA_POLICIES;
use serde::Serialize;
use serde::de::DeserializeOwned;

const COLORS: u16 = 16;
/// Connections that an input may make.
const LINKS_MAX: usize = 8;
const ROUNDS_MAX: usize = 400;

#[derive(Default)]
struct World {
    now_ns: u64,
    /// What happens next.
    script: VecDeque<Event>,
    links: Vec<Link>,
    connecting: VecDeque<usize>,
    waits: usize,
}

#[derive(Default)]
struct Link {
    unread: VecDeque<Vec<u8>>,
    is_closed: bool,
    reads_nothing: bool,
}

enum Event {
    Connect,
    Message(usize, Vec<u8>),
    Close(usize),
    /// The client reads no more.
    Deafen(usize),
    Later(u64),
}

struct InputPort(Rc<RefCell<World>>);

impl Port for InputPort {
    type Channel = usize;
    type Descriptor = ();

    fn now_ns(&self) -> u64 {
        self.0.borrow().now_ns
    }

    fn accept(&mut self) -> Result<(usize, Peer)> {
        let index = self.0.borrow_mut().connecting.pop_front();
        let index = index.expect("the server has heard of one");
        let peer = Peer {
            process: 1,
            user: index as u32 % 2,
            group: 0,
        };
        Ok((index, peer))
    }

    fn wait(
        &mut self,
        lets_in: bool,
        channels: &[&usize],
        limit: Option<Duration>,
    ) -> Result<Readiness> {
        let mut world = self.0.borrow_mut();
        world.waits += 1;
        if let Some(event) = world.script.pop_front() {
            world.happen(event);
        } else if let Some(limit) = limit {
            world.now_ns += limit.as_nanos() as u64;
        }
        let links = &world.links;
        let is_ready = |index: usize| links[index].is_closed || !links[index].unread.is_empty();
        Ok(Readiness {
            stops: world.waits >= ROUNDS_MAX || (world.script.is_empty() && limit.is_none()),
            connects: lets_in && !world.connecting.is_empty(),
            channels: channels.iter().map(|index| is_ready(**index)).collect(),
        })
    }

    fn take_message<T: DeserializeOwned>(
        &self,
        channel: &usize,
        _buffer: &mut [u8],
    ) -> Incoming<T> {
        let mut world = self.0.borrow_mut();
        let link = &mut world.links[*channel];
        match link.unread.pop_front() {
            Some(bytes) => match serde_json::from_slice(&bytes) {
                Ok(message) => Incoming::Message(message),
                Err(error) => Incoming::Garbage(error.to_string()),
            },
            None if link.is_closed => Incoming::Closed,
            None => Incoming::Nothing,
        }
    }

    fn send(&self, channel: &usize, message: &impl Serialize, _descriptors: &[()]) -> bool {
        let text = serde_json::to_vec(message).expect("a message is JSON");
        assert!(text.len() <= MESSAGE_BYTES_MAX);
        let world = self.0.borrow();
        let link = &world.links[*channel];
        !link.is_closed && !link.reads_nothing
    }
}

impl World {
    fn happen(&mut self, event: Event) {
        match event {
            Event::Connect if self.links.len() < LINKS_MAX => {
                self.connecting.push_back(self.links.len());
                self.links.push(Link::default());
            }
            Event::Connect => {}
            Event::Message(index, bytes) => {
                if let Some(link) = self.links.get_mut(index) {
                    link.unread.push_back(bytes);
                }
            }
            Event::Close(index) => {
                if let Some(link) = self.links.get_mut(index) {
                    link.is_closed = true;
                }
            }
            Event::Deafen(index) => {
                if let Some(link) = self.links.get_mut(index) {
                    link.reads_nothing = true;
                }
            }
            Event::Later(ns) => self.now_ns = self.now_ns.saturating_add(ns),
        }
    }
}

/// Lines: `+` connects, a digit and a message sends, a digit alone closes, `!` and a digit reads no more, others let time pass.
fn script(bytes: &[u8]) -> VecDeque<Event> {
    let lines = bytes.split(|byte| *byte == b'\n').take(64);
    let event = |line: &[u8]| match line {
        [b'+', ..] => Event::Connect,
        [b'!', link, ..] => Event::Deafen(usize::from(*link) % LINKS_MAX),
        [link @ b'0'..=b'7'] => Event::Close(usize::from(link - b'0')),
        [link @ b'0'..=b'7', message @ ..] => {
            Event::Message(usize::from(link - b'0'), message.to_vec())
        }
        other => Event::Later(other.len() as u64 * 200_000_000),
    };
    lines.map(event).collect()
}

/// Whatever happens, the coordinator goes on, and no two tasks share a color.
pub fn coordinator(bytes: &[u8]) {
    let world = Rc::new(RefCell::new(World {
        script: script(bytes),
        ..World::default()
    }));
    let config = CoordinatorConfig {
        socket: "unused".into(),
        socket_mode: 0,
        colors: COLORS,
        policy: QUOTA_POLICIES.find("best-quota").expect("it is registered"),
        grace: Duration::from_millis(500),
        settle: Duration::from_millis(100),
    };
    let mut coordinator = Coordinator::over(InputPort(Rc::clone(&world)), &config);
    let mut buffer = vec![0; MESSAGE_BYTES_MAX];
    while coordinator
        .round(&mut buffer)
        .expect("the port never fails")
    {
        super::no_color_is_shared(coordinator.task_table(), COLORS);
    }
}
