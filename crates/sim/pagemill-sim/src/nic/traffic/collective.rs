//! Collective operations in the manner of NCCL: a vector is divided among channels, which run side by side; a channel moves its
//! share in chunks.
//!
//! All ranks have an interface of their own, also those of a node. Every channel's ring has the ranks in the same order.

use std::ops::Range;
use std::rc::Rc;

use super::messages::{Group, Message, Phase};
use super::routing::Assignment;
use super::tree::tree_node;

/// A collective operation of a group of ranks.
#[derive(Clone, Debug)]
pub struct Collective {
    /// What it does.
    pub operation: Operation,
    /// Who takes part.
    pub group: Group,
    /// How its messages are cut and where they lie.
    pub transport: Transport,
    /// Where the data lies at every rank; of an exchange of all with all, what is sent.
    pub address: u64,
}

/// What a collective operation does.
#[derive(Clone, Debug)]
pub enum Operation {
    /// Every rank gets the sum of all vectors of so many bytes.
    AllReduce(Algorithm, u64),
    /// Every rank gets its part of the sum of all vectors of so many bytes, by a ring.
    ReduceScatter(u64),
    /// Every rank gets a vector of so many bytes of which each rank has a part, by a ring.
    AllGather(u64),
    /// Every rank sends to every other. What arrives lies at the address.
    AllToAll(PairBytes, u64),
}

/// How vectors are added up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// Around a ring, twice.
    Ring,
    /// Up and down two binary trees, each for half of the channels.
    Tree,
    /// By rings: reduce-scatter in each node of so many ranks, all-reduce of each part between nodes, all-gather in each node.
    Hierarchical(u32),
}

/// How many bytes each rank sends to each other.
#[derive(Clone, Debug)]
pub enum PairBytes {
    /// As many to each.
    Same(u64),
    /// Tokens of so many bytes to the ranks of their experts.
    Dispatch(Rc<Assignment>, u64),
    /// The same tokens back.
    Combine(Rc<Assignment>, u64),
}

/// How messages are cut, and where they lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transport {
    /// Shares of a vector that move side by side.
    pub channels: u32,
    /// Longest message of a channel.
    pub chunk_bytes: u64,
    /// Partners that a rank of an all-to-all exchanges with at once.
    pub at_once: u32,
    /// Messages go through a buffer of each channel for each direction, instead of from and to the data.
    pub staged: bool,
}

impl Default for Transport {
    /// Two channels of 512 KiB, an eighth of NCCL's buffer of 4 MiB (`NCCL_BUFFSIZE`, `NCCL_STEPS`).
    fn default() -> Self {
        Self {
            channels: 2,
            chunk_bytes: 512 << 10,
            at_once: 8,
            staged: false,
        }
    }
}

/// Where the data of programs lies.
pub(super) const DATA: u64 = 1 << 32;

/// Distance of two arrays.
pub(super) const ARRAY: u64 = 1 << 42;

impl Collective {
    pub(super) fn lanes(&self) -> u32 {
        match self.operation {
            _ if self.group.size < 2 => 0,
            // Up and down.
            Operation::AllReduce(Algorithm::Tree, _) => 2 * self.transport.channels,
            Operation::AllToAll(..) => 1,
            _ => self.transport.channels,
        }
    }

    /// Adds the messages of phase `index` of `lane`; says whether there is such a phase.
    pub(super) fn phase(&self, rank: u32, lane: u32, index: u64, phase: &mut Phase) -> bool {
        let place = self.group.position(rank);
        let channels = self.transport.channels;
        let share = |bytes: u64, channel: u32| part(&(0..bytes), channels.into(), channel.into());
        match &self.operation {
            Operation::AllReduce(Algorithm::Ring, bytes) => {
                let ring = self.ring(self.group, share(*bytes, lane), lane);
                ring.phase(place, Halves::Both, index, phase)
            }
            Operation::AllReduce(Algorithm::Tree, bytes) => {
                let channel = lane / 2;
                let range = share(*bytes, channel);
                self.tree_phase(place, channel, lane % 2 == 1, &range, index, phase)
            }
            Operation::AllReduce(Algorithm::Hierarchical(node), bytes) => {
                self.hierarchical_phase(place, *node, lane, &share(*bytes, lane), index, phase)
            }
            Operation::ReduceScatter(bytes) => {
                let ring = self.ring(self.group, share(*bytes, lane), lane);
                ring.phase(place, Halves::ReduceScatter, index, phase)
            }
            Operation::AllGather(bytes) => {
                let ring = self.ring(self.group, share(*bytes, lane), lane);
                ring.phase(place, Halves::AllGather, index, phase)
            }
            Operation::AllToAll(bytes, target) => {
                self.all_to_all_phase(place, bytes, *target, index, phase)
            }
        }
    }

    fn ring(&self, group: Group, range: Range<u64>, channel: u32) -> Ring<'_> {
        Ring {
            collective: self,
            group,
            range,
            channel,
        }
    }

    /// A message of `range` of the vector.
    fn message(&self, peer: u32, channel: u32, range: &Range<u64>, is_receive: bool) -> Message {
        Message {
            peer,
            tag: channel,
            bytes: range.end - range.start,
            address: self.address(self.address + range.start, channel, is_receive),
        }
    }

    /// Where a message lies whose data is at `data`.
    fn address(&self, data: u64, channel: u32, is_receive: bool) -> u64 {
        if self.transport.staged {
            DATA / 2 + (u64::from(2 * channel) + u64::from(is_receive)) * STAGE
        } else {
            data
        }
    }

    fn tree_phase(
        &self,
        place: u32,
        channel: u32,
        is_down: bool,
        range: &Range<u64>,
        index: u64,
        phase: &mut Phase,
    ) -> bool {
        let node = tree_node(channel, place, self.group.size);
        let chunks = pieces(range.end - range.start, self.transport.chunk_bytes);
        let parent = [node.parent, None];
        let (sources, targets) = match (is_down, node.parent) {
            (false, Some(_)) => (node.children, parent),
            // The root sends down what has come up.
            (false, None) => (node.children, node.children),
            (true, Some(_)) => (parent, node.children),
            (true, None) => return false,
        };
        let chunk = |index: u64| part(range, chunks, index);
        if index < chunks {
            for source in sources.into_iter().flatten() {
                let source = self.group.rank(source);
                phase.receive(self.message(source, channel, &chunk(index), true));
            }
        }
        // A chunk is sent on while the next is on its way.
        if index > 0 && index <= chunks {
            for target in targets.into_iter().flatten() {
                let target = self.group.rank(target);
                phase.send(self.message(target, channel, &chunk(index - 1), false));
            }
        }
        chunks > 0 && index <= chunks
    }

    fn hierarchical_phase(
        &self,
        place: u32,
        node: u32,
        channel: u32,
        range: &Range<u64>,
        index: u64,
        phase: &mut Phase,
    ) -> bool {
        let Group { stride, size, .. } = self.group;
        let (in_node, number) = (place % node, place / node);
        let within = Group {
            first: self.group.rank(place - in_node),
            stride,
            size: node,
        };
        let between = Group {
            first: self.group.rank(in_node),
            stride: stride * node,
            size: size / node,
        };
        let own = part(range, node.into(), in_node.into());
        let stages = [
            (within, range.clone(), in_node, Halves::ReduceScatter),
            (between, own, number, Halves::Both),
            (within, range.clone(), in_node, Halves::AllGather),
        ];
        let mut index = index;
        for (group, range, place, halves) in stages {
            let ring = self.ring(group, range, channel);
            let phases = ring.phases(halves);
            if index < phases {
                return ring.phase(place, halves, index, phase);
            }
            index -= phases;
        }
        false
    }

    fn all_to_all_phase(
        &self,
        place: u32,
        bytes: &PairBytes,
        target: u64,
        index: u64,
        phase: &mut Phase,
    ) -> bool {
        let size = self.group.size;
        let at_once = u64::from(self.transport.at_once.max(1));
        let first = 1 + index * at_once;
        let last = (first + at_once).min(size.into());
        for distance in first..last {
            let distance = distance as u32;
            let (to, from) = ((place + distance) % size, (place + size - distance) % size);
            // With staging, each of those at once has buffers of its own.
            let buffer = ((distance - 1) % at_once as u32).min(STAGES - 1);
            let (offset, length) = bytes.received(place, from);
            phase.receive(Message {
                peer: self.group.rank(from),
                tag: 0,
                bytes: length,
                address: self.address(target + offset, buffer, true),
            });
            let (offset, length) = bytes.sent(place, to);
            phase.send(Message {
                peer: self.group.rank(to),
                tag: 0,
                bytes: length,
                address: self.address(self.address + offset, buffer, false),
            });
        }
        first < last
    }
}

/// Distance of two staging buffers.
const STAGE: u64 = 8 << 20;

/// Staging buffers of an exchange of all with all, at most.
const STAGES: u32 = 64;

impl PairBytes {
    /// Where what `place` sends to `to` begins among all that it sends, and its length.
    fn sent(&self, place: u32, to: u32) -> (u64, u64) {
        match self {
            Self::Same(bytes) => (u64::from(to) * bytes, *bytes),
            Self::Dispatch(tokens, bytes) => scaled(tokens.sent(place, to), *bytes),
            Self::Combine(tokens, bytes) => scaled(tokens.received(place, to), *bytes),
        }
    }

    /// Where what `place` receives of `from` begins among all that it receives, and its length.
    fn received(&self, place: u32, from: u32) -> (u64, u64) {
        match self {
            Self::Same(bytes) => (u64::from(from) * bytes, *bytes),
            Self::Dispatch(tokens, bytes) => scaled(tokens.received(place, from), *bytes),
            Self::Combine(tokens, bytes) => scaled(tokens.sent(place, from), *bytes),
        }
    }
}

fn scaled((first, count): (u64, u64), bytes: u64) -> (u64, u64) {
    (first * bytes, count * bytes)
}

/// What a ring does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Halves {
    /// Adds up: the rank at position i ends with part i of the sum.
    ReduceScatter,
    /// Hands around: the rank at position i begins with part i.
    AllGather,
    Both,
}

/// A ring over `group` for `range` of a vector. Each rank has a part; parts longer than a chunk go around in rounds.
struct Ring<'a> {
    collective: &'a Collective,
    group: Group,
    range: Range<u64>,
    channel: u32,
}

impl Ring<'_> {
    fn rounds(&self) -> u64 {
        let longest = (self.range.end - self.range.start).div_ceil(self.group.size.into());
        pieces(longest, self.collective.transport.chunk_bytes)
    }

    fn phases_of_a_round(&self, halves: Halves) -> u64 {
        let hops = u64::from(self.group.size - 1);
        if halves == Halves::Both {
            2 * hops
        } else {
            hops
        }
    }

    fn phases(&self, halves: Halves) -> u64 {
        self.rounds() * self.phases_of_a_round(halves)
    }

    fn phase(&self, place: u32, halves: Halves, index: u64, phase: &mut Phase) -> bool {
        if index >= self.phases(halves) {
            return false;
        }
        let size = u64::from(self.group.size);
        let in_round = self.phases_of_a_round(halves);
        let (round, step) = (index / in_round, index % in_round);
        // The part that is sent in step s is s + 1 (adding up) or s (handing around) before the own one; the part that arrives is
        // one further.
        let behind = match halves {
            Halves::ReduceScatter => step + 1,
            Halves::AllGather => step,
            Halves::Both if step < size - 1 => step + 1,
            Halves::Both => step - (size - 1),
        };
        let range = |behind: u64| {
            let number = (u64::from(place) + 2 * size - behind) % size;
            part(&part(&self.range, size, number), self.rounds(), round)
        };
        let (before, after) = (
            (place + self.group.size - 1) % self.group.size,
            (place + 1) % self.group.size,
        );
        let (before, after) = (self.group.rank(before), self.group.rank(after));
        let message = |peer, range: &Range<u64>, is_receive| {
            self.collective
                .message(peer, self.channel, range, is_receive)
        };
        phase.receive(message(before, &range(behind + 1), true));
        phase.send(message(after, &range(behind), false));
        true
    }
}

/// Pieces of at most `most` bytes that `bytes` bytes are cut into.
fn pieces(bytes: u64, most: u64) -> u64 {
    bytes.div_ceil(most.max(1))
}

/// Part `number` of `parts` of `range`; they differ by a byte at most.
fn part(range: &Range<u64>, parts: u64, number: u64) -> Range<u64> {
    let length = u128::from(range.end - range.start);
    let cut =
        |number: u64| range.start + (length * u128::from(number) / u128::from(parts.max(1))) as u64;
    cut(number)..cut(number + 1)
}
