use std::collections::VecDeque;

use serde::Serialize;

use super::Random;

const MS: u64 = 1_000_000;

/// Messages that a connection holds unread.
const UNREAD_MAX: usize = 4;

/// Longest delay of a message while there are faults, and after.
const DELAY_MAX_NS: [u64; 2] = [40 * MS, MS];

/// When there are faults, and when a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Faults come until then.
    pub quiet_ns: u64,
    /// The run ends.
    pub end_ns: u64,
}

/// A message: when it arrives, its text, and what travels beside it.
type Message<D> = (u64, Vec<u8>, Vec<D>);

/// One connection.
struct Link<D> {
    user: u32,
    to_server: VecDeque<Message<D>>,
    to_client: VecDeque<Message<D>>,
    client_is_open: bool,
    server_is_open: bool,
}

/// Clock, chance and connections of a simulated world. A connection has a number; descriptors are of type `D`.
pub struct Network<D> {
    /// The time.
    pub now_ns: u64,
    /// Chance.
    pub random: Random,
    /// A planted defect: a message that could not be sent counts as sent.
    pub lies: bool,
    times: Times,
    kill_at_ns: u64,
    links: Vec<Link<D>>,
    /// Connections that wait to be accepted, and since when.
    waiting: VecDeque<(u64, usize)>,
}

impl<D: Clone> Network<D> {
    /// A network without connections. In every other one, the server is killed once.
    pub fn new(seed: u64, times: Times) -> Self {
        let mut random = Random(seed);
        let kill_at_ns = MS + random.below(2 * times.quiet_ns);
        Self {
            now_ns: 0,
            random,
            lies: false,
            times,
            kill_at_ns: if kill_at_ns < times.quiet_ns {
                kill_at_ns
            } else {
                u64::MAX
            },
            links: Vec::new(),
            waiting: VecDeque::new(),
        }
    }

    /// Whether there are faults.
    pub fn is_faulty(&self) -> bool {
        self.now_ns < self.times.quiet_ns
    }

    /// Whether the run is over.
    pub fn has_ended(&self) -> bool {
        self.now_ns >= self.times.end_ns
    }

    /// The server was killed, and is killed no more.
    pub fn was_killed(&mut self) {
        self.kill_at_ns = u64::MAX;
    }

    /// The clock jumps by less than `limit_ns`, as if the machine had slept.
    pub fn jump(&mut self, limit_ns: u64) {
        self.now_ns += self.random.below(limit_ns);
    }

    /// Connects a process of `user`.
    pub fn connect(&mut self, user: u32) -> usize {
        let link = self.links.len();
        self.links.push(Link {
            user,
            to_server: VecDeque::new(),
            to_client: VecDeque::new(),
            client_is_open: true,
            server_is_open: true,
        });
        let at_ns = self.arrival_ns();
        self.waiting.push_back((at_ns, link));
        link
    }

    /// Sends a message to the server.
    pub fn ask(&mut self, link: usize, message: &impl Serialize) {
        self.send_bytes(link, serde_json::to_vec(message).expect("JSON"));
    }

    /// The same for anything.
    pub fn send_bytes(&mut self, link: usize, bytes: Vec<u8>) {
        let at_ns = self.arrival_ns();
        push(&mut self.links[link].to_server, (at_ns, bytes, Vec::new()));
    }

    /// Takes the next message of the server that has arrived.
    pub fn take(&mut self, link: usize) -> Option<(Vec<u8>, Vec<D>)> {
        let (_, bytes, descriptors) = arrived(&mut self.links[link].to_client, self.now_ns)?;
        Some((bytes, descriptors))
    }

    /// Whether the server has closed a connection, and all that it sent was taken.
    pub fn is_over(&self, link: usize) -> bool {
        let link = &self.links[link];
        !link.server_is_open && link.to_client.is_empty()
    }

    /// Whether neither end has closed a connection.
    pub fn is_open(&self, link: usize) -> bool {
        let link = &self.links[link];
        link.client_is_open && link.server_is_open
    }

    /// A client closes its end; what it has not taken is gone.
    pub fn hang_up(&mut self, link: usize) {
        let link = &mut self.links[link];
        link.client_is_open = false;
        link.to_client.clear();
    }

    /// When a message that is sent now arrives.
    fn arrival_ns(&mut self) -> u64 {
        let [faulty_ns, quiet_ns] = DELAY_MAX_NS;
        let most_ns = if self.is_faulty() {
            faulty_ns
        } else {
            quiet_ns
        };
        self.now_ns + self.random.below(most_ns)
    }

    pub(super) fn stops(&self) -> bool {
        self.now_ns >= self.kill_at_ns.min(self.times.end_ns)
    }

    pub(super) fn is_connecting(&self) -> bool {
        let front = self.waiting.front();
        front.is_some_and(|(at_ns, _)| *at_ns <= self.now_ns)
    }

    /// Takes the next connection, unless no descriptor is left.
    pub(super) fn accept(&mut self) -> Option<(usize, u32)> {
        if self.is_faulty() && self.random.one_in(3) {
            return None;
        }
        let (_, link) = self.waiting.pop_front()?;
        Some((link, self.links[link].user))
    }

    pub(super) fn close(&mut self, link: usize) {
        self.links[link].server_is_open = false;
    }

    pub(super) fn is_ready(&self, link: usize) -> bool {
        let link = &self.links[link];
        let front = link.to_server.front();
        !link.client_is_open || front.is_some_and(|(at_ns, ..)| *at_ns <= self.now_ns)
    }

    /// Takes the next message of a client that has arrived; `Err` says that it has closed its end instead.
    pub(super) fn take_for_server(&mut self, link: usize) -> Result<Option<Vec<u8>>, ()> {
        let link = &mut self.links[link];
        match arrived(&mut link.to_server, self.now_ns) {
            Some((_, bytes, _)) => Ok(Some(bytes)),
            None if !link.client_is_open => Err(()),
            None => Ok(None),
        }
    }

    /// Sends a message of the server. `false` if the client is gone, or does not read.
    pub(super) fn answer(&mut self, link: usize, bytes: &[u8], descriptors: &[D]) -> bool {
        let at_ns = self.arrival_ns();
        let link = &mut self.links[link];
        if !link.client_is_open || link.to_client.len() >= UNREAD_MAX {
            return self.lies;
        }
        let message = (at_ns, bytes.to_vec(), descriptors.to_vec());
        push(&mut link.to_client, message);
        true
    }

    /// When something happens next that a server with these connections may wait for.
    pub(super) fn next_ns(&self, lets_in: bool, links: impl Iterator<Item = usize>) -> u64 {
        let front_ns = |link: usize| Some(self.links[link].to_server.front()?.0);
        let connection = self.waiting.front().filter(|_| lets_in);
        let connection_ns = connection.map(|(at_ns, _)| *at_ns);
        let fixed_ns = [self.kill_at_ns, self.times.end_ns];
        let all = links.filter_map(front_ns).chain(connection_ns);
        let future = all.chain(fixed_ns).filter(|at_ns| *at_ns > self.now_ns);
        future.min().unwrap_or(self.times.end_ns)
    }
}

/// Messages of a connection stay in order.
fn push<D>(queue: &mut VecDeque<Message<D>>, mut message: Message<D>) {
    let last_ns = queue.back().map_or(0, |(at_ns, ..)| *at_ns);
    message.0 = message.0.max(last_ns);
    queue.push_back(message);
}

fn arrived<D>(queue: &mut VecDeque<Message<D>>, now_ns: u64) -> Option<Message<D>> {
    let (at_ns, ..) = queue.front()?;
    if *at_ns <= now_ns {
        queue.pop_front()
    } else {
        None
    }
}
