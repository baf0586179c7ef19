//! All ranks of a program on their nodes, run together.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use pagemill_types::Picos;

use super::counts::NicCounts;
use super::descriptor::{Key, Part};
use super::machine::NicMachine;
use super::network::{Delivery, Network, NetworkCounts};
use super::packet::{Completion, MessageId, Packet, Request, Step};
use super::program::{Action, Program};
use super::rank::Rank;
use super::slab::Slab;
use pagemill_pages::SpecError;

/// Ranks, the packets between them, and one heap of who is next.
///
/// A rank's next event is the arrival of the earliest packet in its inbox or the next call of its program; the network's is the
/// head of a part at a link. Who has the earliest one runs, and goes on while nothing that another may still send can reach it
/// before.
#[derive(Debug)]
pub struct World<P> {
    nodes: Vec<Node<P>>,
    network: Option<Network>,
    packets: Slab<Incoming>,
    queue: BinaryHeap<Reverse<(Picos, u32)>>,
    lookahead: Picos,
    steps: Vec<Step>,
    messages: u64,
}

#[derive(Debug)]
struct Node<P> {
    rank: Rank,
    program: P,
    clock: Picos,
    state: State,
    /// Packets by (arrival, source, number) and their place among all packets.
    inbox: BinaryHeap<Reverse<(Picos, u32, u64, u32)>>,
    /// What the program has not yet noticed, in order of time.
    completions: VecDeque<Notice>,
    stopped_at: Picos,
    /// A time that it is queued for although something comes before: it need not be queued for it again.
    parked: Option<Picos>,
}

/// Stands for the network among the numbers of ranks.
const NETWORK: u32 = u32::MAX;

/// A packet at its receiver, or a part of one.
#[derive(Debug)]
struct Incoming {
    packet: Packet,
    part: Option<Part>,
}

/// What a program is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Its next call is due at its clock.
    Running,
    /// It waits for a completion.
    Waiting,
    /// It has nothing more to do.
    Done,
}

#[derive(Clone, Copy, Debug)]
struct Notice {
    at: Picos,
    cost: Picos,
    event: Event,
}

/// What a waiting program learns.
#[derive(Clone, Copy, Debug)]
enum Event {
    Completed(Request, Completion),
    Stored {
        message: MessageId,
        address: u64,
        bytes: u64,
    },
}

impl Event {
    /// Ties go to own operations in their order, then to writes of others in theirs.
    fn rank(&self) -> (u32, u64) {
        match self {
            Self::Completed(request, _) => (0, request.0),
            Self::Stored { message, .. } => (1 + message.source, message.sequence),
        }
    }
}

/// Why a program did not come to its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorldError {
    /// The machine cannot be.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// Ranks wait for messages that are never sent.
    #[error(
        "{count} of {ranks} ranks wait for ever, first rank {first} since {since_ns} ns: \
         it has {receives} receives without a message and {messages} messages without a receive; compare sends and receives of that rank",
        since_ns = since.as_nanos()
    )]
    Stuck {
        /// Ranks that wait.
        count: usize,
        /// All ranks.
        ranks: usize,
        /// The first of them.
        first: u32,
        /// Since when it waits.
        since: Picos,
        /// Its receives without a message.
        receives: usize,
        /// Its messages without a receive.
        messages: usize,
    },
    /// A rank sends to one that does not exist.
    #[error("rank {source_rank} sends to rank {dest}, but there are {ranks} ranks, from 0 on")]
    NoSuchRank {
        /// The sender.
        source_rank: u32,
        /// The missing rank.
        dest: u32,
        /// How many there are.
        ranks: usize,
    },
}

/// Results of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorldReport {
    /// When the last program ended.
    pub end: Picos,
    /// Packets that arrived.
    pub packets: u64,
    /// Most packets on their way at once.
    pub packets_in_flight: u64,
    /// All interfaces together.
    pub counts: NicCounts,
    /// The links between switches and to the nodes; `None` where there is no network.
    pub network: Option<NetworkCounts>,
}

impl<P: Program> World<P> {
    /// One rank on a node of `machine` for each program.
    ///
    /// # Errors
    /// A value of the machine is impossible.
    pub fn new(
        machine: &NicMachine,
        programs: impl IntoIterator<Item = P>,
    ) -> Result<Self, SpecError> {
        machine.check()?;
        let shared = Arc::new(machine.clone());
        let nodes = programs.into_iter().zip(0..).map(|(program, id)| {
            Ok(Node {
                rank: Rank::of_checked(&shared, id)?,
                program,
                clock: Picos::ZERO,
                state: State::Running,
                inbox: BinaryHeap::new(),
                completions: VecDeque::new(),
                stopped_at: Picos::ZERO,
                parked: None,
            })
        });
        let nodes = nodes.collect::<Result<Vec<_>, SpecError>>()?;
        let queue = (0..nodes.len() as u32).map(|id| Reverse((Picos::ZERO, id)));
        Ok(Self {
            network: Network::of(&shared, nodes.len())?,
            queue: queue.collect(),
            nodes,
            packets: Slab::default(),
            lookahead: machine.lookahead(),
            steps: Vec::new(),
            messages: 0,
        })
    }

    /// The rank `id`, for what has to be done before the programs start: registrations.
    pub fn rank_mut(&mut self, id: u32) -> Option<&mut Rank> {
        self.nodes.get_mut(id as usize).map(|node| &mut node.rank)
    }

    /// Registers `bytes` bytes at `start` with each of two ranks, and gives the program of the other the key.
    pub(crate) fn register_both(&mut self, (start, bytes): (u64, u64), note: impl Fn(&mut P, Key)) {
        let keys: Vec<Key> = self
            .nodes
            .iter_mut()
            .map(|node| node.rank.register(start, bytes))
            .collect();
        for (node, key) in self.nodes.iter_mut().zip(keys.into_iter().rev()) {
            note(&mut node.program, key);
        }
    }

    /// The program of rank `id`.
    pub fn program(&self, id: u32) -> Option<&P> {
        self.nodes.get(id as usize).map(|node| &node.program)
    }

    /// When the program of rank `id` ended, or since when it waits.
    pub fn stopped_at(&self, id: u32) -> Option<Picos> {
        self.nodes.get(id as usize).map(|node| node.stopped_at)
    }

    /// Runs every program to its end.
    ///
    /// # Errors
    /// Ranks that wait for ever, or a destination that does not exist.
    pub fn run(&mut self) -> Result<WorldReport, WorldError> {
        while let Some(Reverse((at, id))) = self.queue.pop() {
            if id == NETWORK {
                self.run_network(at);
                continue;
            }
            let node = &mut self.nodes[id as usize];
            if node.parked == Some(at) {
                node.parked = None;
            }
            // An entry is stale if the rank has moved on, or was put in again for something earlier.
            if self.nodes[id as usize].next_event() == Some(at) {
                self.run_rank(id)?;
            }
        }
        self.check_ends()?;
        Ok(self.report())
    }

    /// Runs rank `id` while nothing unknown can come before its next event.
    fn run_rank(&mut self, id: u32) -> Result<(), WorldError> {
        let others = self.queue.peek().map_or(NEVER, |&Reverse((at, _))| at);
        let mut safe_until = others.0.saturating_add(self.lookahead.0);
        while let Some(at) = self.nodes[id as usize].next_event() {
            // What is due now is always safe: no other rank is earlier.
            if at.0 >= safe_until {
                self.queue_at(at, id);
                break;
            }
            let node = &mut self.nodes[id as usize];
            match node.inbox.peek() {
                Some(&Reverse((arrival, ..))) if arrival == at => {
                    node.take_packet(&mut self.packets, &mut self.steps, &mut self.messages)
                }
                _ => node.take_step(&mut self.steps),
            }
            let first_reply = self.carry_out(id)?;
            safe_until = safe_until.min(first_reply.0.saturating_add(self.lookahead.0));
        }
        Ok(())
    }

    /// Carries parts over links while no rank can send anything that would be at a link before.
    fn run_network(&mut self, due: Picos) {
        let others = self.queue.peek().map_or(NEVER, |&Reverse((at, _))| at);
        let mut safe_until = others.0.saturating_add(self.lookahead.0);
        // An entry is stale if its part has moved on meanwhile.
        if self.network_event() != Some(due) {
            return;
        }
        while let Some(at) = self.network_event() {
            if at.0 >= safe_until {
                self.queue.push(Reverse((at, NETWORK)));
                break;
            }
            let Some(Delivery { packet, part }) = self.network.as_mut().and_then(Network::step)
            else {
                continue;
            };
            let arrival = part.departure.first;
            safe_until = safe_until.min(arrival.0.saturating_add(self.lookahead.0));
            let part = Some(part);
            self.deliver(arrival, Incoming { packet, part });
        }
    }

    fn network_event(&self) -> Option<Picos> {
        self.network.as_ref().and_then(Network::next_event)
    }

    /// Rank `id` runs again at `at`, unless its entry for that is still in the queue.
    fn queue_at(&mut self, at: Picos, id: u32) {
        if self.nodes[id as usize].parked != Some(at) {
            self.queue.push(Reverse((at, id)));
        }
    }

    /// Carries out the steps of rank `id`; returns when the first of what it sent is at a node or a link.
    fn carry_out(&mut self, id: u32) -> Result<Picos, WorldError> {
        let mut earliest = NEVER;
        for index in 0..self.steps.len() {
            match self.steps[index] {
                Step::Transmit(packet) => {
                    earliest = earliest.min(self.transmit(&packet)?);
                }
                Step::Complete {
                    request,
                    at,
                    cost,
                    completion,
                } => {
                    let event = Event::Completed(request, completion);
                    self.nodes[id as usize].notice(Notice { at, cost, event });
                }
                Step::Store {
                    address,
                    message,
                    bytes,
                    at,
                    cost,
                } => {
                    let event = Event::Stored {
                        message,
                        address,
                        bytes,
                    };
                    self.nodes[id as usize].notice(Notice { at, cost, event });
                }
                // Nothing is moved: a simulated message has a length and no content.
                Step::Deliver { .. } => {}
            }
        }
        self.steps.clear();
        Ok(earliest)
    }

    /// Sends `packet` on its way; returns when it is at a node or a link.
    fn transmit(&mut self, packet: &Packet) -> Result<Picos, WorldError> {
        let ranks = self.nodes.len();
        if packet.dest as usize >= ranks {
            return Err(WorldError::NoSuchRank {
                source_rank: packet.source,
                dest: packet.dest,
                ranks,
            });
        }
        let Some(network) = &mut self.network else {
            let at = packet.key().0;
            let part = None;
            self.deliver(
                at,
                Incoming {
                    packet: *packet,
                    part,
                },
            );
            return Ok(at);
        };
        let before = network.next_event();
        let at = network.enter(packet);
        if before.is_none_or(|before| at < before) {
            self.queue.push(Reverse((at, NETWORK)));
        }
        Ok(at)
    }

    /// Puts what arrives at `at` into its receiver's inbox.
    fn deliver(&mut self, at: Picos, incoming: Incoming) {
        let (_, source, sequence) = incoming.packet.key();
        let dest = incoming.packet.dest;
        let node = &mut self.nodes[dest as usize];
        let before = node.next_event();
        let place = self.packets.insert(incoming);
        node.inbox.push(Reverse((at, source, sequence, place)));
        // A rank that sends to itself is running, and looks at its inbox before it goes on.
        let is_running = self.network.is_none() && dest == source;
        if !is_running && before.is_none_or(|before| at < before) {
            node.parked = node.parked.or(before);
            self.queue.push(Reverse((at, dest)));
        }
    }

    fn check_ends(&self) -> Result<(), WorldError> {
        let mut stuck = self.nodes.iter().filter(|node| node.state != State::Done);
        let Some(first) = stuck.next() else {
            return Ok(());
        };
        let (receives, messages, _) = first.rank.waiting();
        Err(WorldError::Stuck {
            count: 1 + stuck.count(),
            ranks: self.nodes.len(),
            first: first.rank.id(),
            since: first.stopped_at,
            receives,
            messages,
        })
    }

    fn report(&self) -> WorldReport {
        let mut counts = NicCounts::default();
        for node in &self.nodes {
            counts.add(&node.rank.counts());
        }
        let ends = self.nodes.iter().map(|node| node.stopped_at);
        WorldReport {
            end: ends.max().unwrap_or_default(),
            packets: self.messages,
            packets_in_flight: self.packets.most() as u64,
            counts,
            network: self.network.as_ref().map(Network::counts),
        }
    }
}

impl<P: Program> Node<P> {
    /// When something happens here next, of what is known.
    #[inline]
    fn next_event(&self) -> Option<Picos> {
        let arrival = self.inbox.peek().map_or(NEVER, |&Reverse((at, ..))| at);
        let call = match self.state {
            State::Running => self.clock,
            State::Waiting => self
                .completions
                .front()
                .map_or(NEVER, |notice| notice.at.max(self.clock)),
            State::Done => NEVER,
        };
        let next = arrival.min(call);
        (next != NEVER).then_some(next)
    }

    fn take_packet(
        &mut self,
        packets: &mut Slab<Incoming>,
        steps: &mut Vec<Step>,
        count: &mut u64,
    ) {
        let Some(Reverse((.., place))) = self.inbox.pop() else {
            return;
        };
        let Incoming { packet, part } = packets.remove(place);
        match part {
            None => self.rank.arrive(&packet, steps),
            Some(part) => self.rank.arrive_part(&packet, &part, steps),
        }
        if part.is_none_or(|part| part.is_last) {
            *count += 1;
        }
    }

    /// The program's next call, or what it waited for.
    fn take_step(&mut self, steps: &mut Vec<Step>) {
        if self.state == State::Waiting {
            if let Some(notice) = self.completions.pop_front() {
                self.clock = self.clock.max(notice.at) + notice.cost;
                self.state = State::Running;
                match notice.event {
                    Event::Completed(request, completion) => {
                        self.program.completed(request, &completion, self.clock);
                    }
                    Event::Stored {
                        message,
                        address,
                        bytes,
                    } => {
                        self.program
                            .stored(message.source, address, bytes, self.clock);
                    }
                }
            }
            return;
        }
        let action = self.program.next(self.clock);
        let request = match &action {
            Action::Send(send) => self.rank.send(self.clock, send, steps),
            Action::Receive(receive) => self.rank.receive(self.clock, receive, steps),
            Action::Write(rma) => self.rank.write(self.clock, rma, steps),
            Action::Read(rma) => self.rank.read(self.clock, rma, steps),
            Action::Compute(span) => {
                self.clock += *span;
                return;
            }
            Action::Wait => return self.stop(State::Waiting),
            Action::Exit => return self.stop(State::Done),
        };
        self.clock = self.clock.max(self.rank.busy_until());
        self.program.started(request);
    }

    fn stop(&mut self, state: State) {
        self.state = state;
        self.stopped_at = self.clock;
    }

    /// Puts a notice in its place, nearly always the last. A program that is over takes none.
    fn notice(&mut self, notice: Notice) {
        if self.state == State::Done {
            return;
        }
        self.completions.push_back(notice);
        let mut place = self.completions.len() - 1;
        let key = |notice: &Notice| (notice.at, notice.event.rank());
        while place > 0 && key(&self.completions[place - 1]) > key(&self.completions[place]) {
            self.completions.swap(place - 1, place);
            place -= 1;
        }
    }
}

/// Later than anything.
const NEVER: Picos = Picos(u64::MAX);
