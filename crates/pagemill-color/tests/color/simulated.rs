//! The coordinator itself in a simulated world: late messages, clients that die, fall silent or send nonsense, connections that
//! cannot be accepted, clocks that jump, kills. What must hold is stated without it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use pagemill_color::protocol::{Answer, Ask, Colors, MESSAGE_BYTES_MAX, Need};
use pagemill_color::{Coordinator, CoordinatorConfig};
use pagemill_linux::channel::Peer;
use pagemill_linux::messages::Incoming;
use pagemill_linux::server::{Port, Readiness};
use pagemill_linux::{OsError, Result};
use pagemill_policy::coloring::quota::QUOTA_POLICIES;
use serde::Serialize;
use serde::de::DeserializeOwned;

const COLORS: u16 = 16;
/// Tasks; each asks for 3 colors at most, so that there are enough.
const TASKS: usize = 5;
const MS: u64 = 1_000_000;
/// Faults come until then.
const QUIET_NS: u64 = 3000 * MS;
const END_NS: u64 = 7000 * MS;
const GRACE: Duration = Duration::from_millis(1000);
/// Messages that a connection holds unread.
const UNREAD_MAX: usize = 4;
/// A coordinator that has more rounds to do than this does not sleep.
const ROUNDS_MAX: usize = 20_000;

/// splitmix64: the same numbers for a seed in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }
}

/// One connection: messages with the time at which they arrive.
struct Link {
    user: u32,
    to_server: VecDeque<(u64, Vec<u8>)>,
    to_client: VecDeque<(u64, Vec<u8>)>,
    client_is_open: bool,
    server_is_open: bool,
}

/// A task as its companion would run it.
struct Task {
    wish: Need,
    is_alive: bool,
    link: Option<usize>,
    has: Option<Colors>,
    acts_at_ns: u64,
}

struct World {
    now_ns: u64,
    random: Random,
    links: Vec<Link>,
    /// Connections that wait to be accepted, and since when.
    waiting: VecDeque<(u64, usize)>,
    tasks: Vec<Task>,
    kill_at_ns: u64,
    /// The planted defect: a message that could not be sent counts as sent.
    lies: bool,
}

impl World {
    fn new(seed: u64, lies: bool) -> Self {
        let mut random = Random(seed);
        let tasks = (0..TASKS).map(|_| Task {
            wish: match random.below(4) {
                0 => Need::Class(["A", "B", "C", "D"][random.below(4) as usize].to_owned()),
                count => Need::Colors(count as u16),
            },
            is_alive: true,
            link: None,
            has: None,
            acts_at_ns: random.below(500 * MS),
        });
        let tasks = tasks.collect();
        // Every other coordinator is killed.
        let kill_at_ns = MS + random.below(2 * QUIET_NS);
        Self {
            now_ns: 0,
            kill_at_ns: if kill_at_ns < QUIET_NS {
                kill_at_ns
            } else {
                u64::MAX
            },
            random,
            links: Vec::new(),
            waiting: VecDeque::new(),
            tasks,
            lies,
        }
    }

    fn is_faulty(&self) -> bool {
        self.now_ns < QUIET_NS
    }

    fn delay_ns(&mut self) -> u64 {
        let most = if self.is_faulty() { 40 * MS } else { MS };
        self.now_ns + self.random.below(most)
    }

    fn send(&mut self, index: usize, bytes: Vec<u8>) {
        // Messages of a connection stay in order.
        let last = self.links[index].to_server.back().map_or(0, |(at, _)| *at);
        let at = self.delay_ns().max(last);
        self.links[index].to_server.push_back((at, bytes));
    }

    fn ask(&mut self, index: usize, ask: &Ask) {
        self.send(index, serde_json::to_vec(ask).expect("JSON"));
    }

    fn connect(&mut self, task: usize) {
        let index = self.links.len();
        self.links.push(Link {
            user: self.random.below(3) as u32,
            to_server: VecDeque::new(),
            to_client: VecDeque::new(),
            client_is_open: true,
            server_is_open: true,
        });
        let at = self.delay_ns();
        self.waiting.push_back((at, index));
        self.tasks[task].link = Some(index);
        let join = Ask::Join {
            name: format!("task {task}"),
            process: task as u32,
            wish: self.tasks[task].wish.clone(),
            has: self.tasks[task].has,
            pages: self.random.below(1000),
        };
        self.ask(index, &join);
    }

    /// One look of a task at its connection, and sometimes a fault.
    fn act(&mut self, task: usize) {
        self.tasks[task].acts_at_ns = self.now_ns + MS + self.random.below(30 * MS);
        let Some(index) = self.tasks[task].link else {
            return self.connect(task);
        };
        while self.links[index]
            .to_client
            .front()
            .is_some_and(|(at, _)| *at <= self.now_ns)
        {
            let (_, bytes) = self.links[index].to_client.pop_front().expect("seen");
            match serde_json::from_slice(&bytes).expect("an answer of the protocol") {
                Answer::Colors(colors) => {
                    self.tasks[task].has = Some(colors);
                    let holds = Ask::Holds {
                        has: colors,
                        pages: self.random.below(1000),
                        planned: 0,
                    };
                    self.ask(index, &holds);
                }
                Answer::Status(_) => {}
                Answer::Refused { .. } => self.hang_up(task),
            }
        }
        let link = &self.links[index];
        if !link.server_is_open && link.to_client.is_empty() {
            self.hang_up(task);
        }
        if self.is_faulty() {
            self.misbehave(task, index);
        }
    }

    fn hang_up(&mut self, task: usize) {
        if let Some(index) = self.tasks[task].link.take() {
            self.links[index].client_is_open = false;
        }
    }

    fn misbehave(&mut self, task: usize, index: usize) {
        match self.random.below(60) {
            0 => {
                self.tasks[task].is_alive = false;
                self.tasks[task].acts_at_ns = u64::MAX;
                self.hang_up(task);
            }
            1 => self.hang_up(task),
            2 => self.send(index, b"{\"op\":\"nonsense\"}".to_vec()),
            3 => self.ask(index, &Ask::Status {}),
            4 => (0..20).for_each(|_| self.ask(index, &Ask::Status {})),
            5 => self.tasks[task].acts_at_ns = self.now_ns + self.random.below(2000 * MS),
            // The clock jumps: the machine slept.
            6 => self.now_ns += self.random.below(300 * MS),
            _ => {}
        }
    }

    fn has_message(&self, index: usize) -> bool {
        let link = &self.links[index];
        let arrives = |(at, _): &(u64, Vec<u8>)| *at <= self.now_ns;
        !link.client_is_open || link.to_server.front().is_some_and(arrives)
    }

    fn is_connecting(&self) -> bool {
        self.waiting
            .front()
            .is_some_and(|(at, _)| *at <= self.now_ns)
    }

    /// When the next thing happens that a server with these connections may wait for.
    fn next_ns(&self, lets_in: bool, channels: &[&Channel]) -> u64 {
        // After a jump of the clock, what is due comes at once.
        let soon_ns = self.now_ns + 1;
        let acts = self.tasks.iter().map(|task| task.acts_at_ns.max(soon_ns));
        let messages = channels
            .iter()
            .filter_map(|channel| Some(self.links[channel.index].to_server.front()?.0));
        let connection = self.waiting.front().filter(|_| lets_in).map(|(at, _)| *at);
        let fixed = [self.kill_at_ns, END_NS];
        let all = acts.chain(messages).chain(connection).chain(fixed);
        all.filter(|at| *at > self.now_ns).min().unwrap_or(END_NS)
    }
}

type Shared = Rc<RefCell<World>>;

/// The server's end of a connection.
struct Channel {
    world: Shared,
    index: usize,
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.world.borrow_mut().links[self.index].server_is_open = false;
    }
}

struct SimulatedPort(Shared);

impl Port for SimulatedPort {
    type Channel = Channel;
    type Descriptor = ();

    fn now_ns(&self) -> u64 {
        self.0.borrow().now_ns
    }

    fn accept(&mut self) -> Result<(Channel, Peer)> {
        let mut world = self.0.borrow_mut();
        let is_out_of_descriptors = world.is_faulty() && world.random.one_in(3);
        if is_out_of_descriptors {
            return Err(OsError::new("accept", io::Error::from_raw_os_error(24)));
        }
        let (_, index) = world.waiting.pop_front().expect("one is there");
        let peer = Peer {
            process: 1,
            user: world.links[index].user,
            group: 0,
        };
        drop(world);
        let world = Rc::clone(&self.0);
        Ok((Channel { world, index }, peer))
    }

    fn wait(
        &mut self,
        lets_in: bool,
        channels: &[&Channel],
        limit: Option<Duration>,
    ) -> Result<Readiness> {
        let mut world = self.0.borrow_mut();
        let until_ns = limit.map_or(u64::MAX, |limit| world.now_ns + limit.as_nanos() as u64);
        loop {
            let ready = Readiness {
                stops: world.now_ns >= world.kill_at_ns.min(END_NS),
                connects: lets_in && world.is_connecting(),
                channels: channels
                    .iter()
                    .map(|one| world.has_message(one.index))
                    .collect(),
            };
            let is_ready = ready.stops || ready.connects || ready.channels.contains(&true);
            if is_ready || world.now_ns >= until_ns {
                return Ok(ready);
            }
            world.now_ns = world.next_ns(lets_in, channels).min(until_ns);
            for task in 0..TASKS {
                if world.tasks[task].acts_at_ns <= world.now_ns {
                    world.act(task);
                }
            }
        }
    }

    fn take_message<T: DeserializeOwned>(
        &self,
        channel: &Channel,
        _buffer: &mut [u8],
    ) -> Incoming<T> {
        let mut world = self.0.borrow_mut();
        let now_ns = world.now_ns;
        let link = &mut world.links[channel.index];
        match link.to_server.front() {
            Some((at, _)) if *at <= now_ns => {
                let (_, bytes) = link.to_server.pop_front().expect("seen");
                match serde_json::from_slice(&bytes) {
                    Ok(message) => Incoming::Message(message),
                    Err(error) => Incoming::Garbage(error.to_string()),
                }
            }
            _ if !link.client_is_open => Incoming::Closed,
            _ => Incoming::Nothing,
        }
    }

    fn send(&self, channel: &Channel, message: &impl Serialize, _descriptors: &[()]) -> bool {
        let mut world = self.0.borrow_mut();
        let at = world.delay_ns();
        let lies = world.lies;
        let link = &mut world.links[channel.index];
        if !link.client_is_open || link.to_client.len() >= UNREAD_MAX {
            return lies;
        }
        let last = link.to_client.back().map_or(0, |(at, _)| *at);
        let bytes = serde_json::to_vec(message).expect("JSON");
        link.to_client.push_back((at.max(last), bytes));
        true
    }
}

/// Colors that the coordinator says its tasks have, in order; `None` for a task without.
fn given(coordinator: &Coordinator<SimulatedPort>) -> Vec<Option<Colors>> {
    let tasks = (0..1000).filter_map(|number| coordinator.roster().task(number));
    tasks.map(|task| task.colors.map(Colors::from)).collect()
}

/// What is wrong with colors that tasks have at the same time.
fn fault_of(colors: &[Option<Colors>]) -> Option<String> {
    let mut owner = [None; COLORS as usize];
    for (index, one) in colors.iter().enumerate() {
        let Some(Colors { first, count }) = *one else {
            continue;
        };
        for color in u32::from(first)..u32::from(first) + u32::from(count) {
            let Some(place) = owner.get_mut(color as usize) else {
                return Some(format!("there is no color {color}: {colors:?}"));
            };
            if let Some(other) = place.replace(index) {
                return Some(format!(
                    "{other} and {index} share color {color}: {colors:?}"
                ));
            }
        }
    }
    None
}

/// Runs a whole world; what did not hold.
fn fault_in(seed: u64, lies: bool) -> Option<String> {
    let world = Rc::new(RefCell::new(World::new(seed, lies)));
    let config = CoordinatorConfig {
        socket: "unused".into(),
        socket_mode: 0o600,
        colors: COLORS,
        policy: QUOTA_POLICIES.find("best-quota").expect("registered"),
        grace: GRACE,
        settle: Duration::from_millis(100),
    };
    let start = || Coordinator::over(SimulatedPort(Rc::clone(&world)), &config);
    let mut coordinator = start();
    let mut buffer = vec![0; MESSAGE_BYTES_MAX];
    for _ in 0..ROUNDS_MAX {
        let goes_on = coordinator.round(&mut buffer).expect("it can wait");
        if let Some(fault) = fault_of(&given(&coordinator)) {
            return Some(fault);
        }
        if goes_on {
            continue;
        }
        if world.borrow().now_ns >= END_NS {
            return fault_at_the_end(&world.borrow(), &given(&coordinator));
        }
        // Killed: its connections break, and another one starts.
        world.borrow_mut().kill_at_ns = u64::MAX;
        drop(coordinator);
        coordinator = start();
    }
    Some("it does not sleep".to_owned())
}

/// Long after the last fault: each living task has what the coordinator thinks it has.
fn fault_at_the_end(world: &World, given: &[Option<Colors>]) -> Option<String> {
    let key = |colors: &Option<Colors>| colors.map(|colors| (colors.first, colors.count));
    let living = world.tasks.iter().filter(|task| task.is_alive);
    let mut has: Vec<_> = living.map(|task| key(&task.has)).collect();
    let mut given: Vec<_> = given.iter().map(key).collect();
    has.sort_unstable();
    given.sort_unstable();
    if has.contains(&None) || has != given {
        let connections = world.tasks.iter().map(|task| {
            let link = task.link.map(|index| &world.links[index]);
            let unread = link.map(|link| (link.server_is_open, link.to_server.len()));
            (task.is_alive, &task.wish, task.has, task.link, unread)
        });
        let connections: Vec<_> = connections.collect();
        return Some(format!(
            "tasks have {has:?}, the coordinator gave {given:?}: {connections:?}, {:?} wait",
            world.waiting
        ));
    }
    None
}

fn seeds() -> u64 {
    pagemill_testkit::few_or_many(1_000, 10_000)
}

#[test]
fn whatever_fails_no_two_tasks_share_a_color_and_all_have_theirs_in_the_end() {
    for seed in 0..seeds() {
        if let Some(fault) = fault_in(seed, false) {
            panic!("seed {seed}: {fault}");
        }
    }
}

#[test]
fn a_planted_defect_is_found() {
    // A coordinator that believes that a message was sent to a task that does not read.
    assert!((0..1_000).any(|seed| fault_in(seed, true).is_some()));
}
