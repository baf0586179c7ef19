use std::collections::{BTreeMap, VecDeque};

use pagemill_types::Picos;

use super::super::packet::{Completion, Receive, Request, Send};
use super::super::program::{Action, Program};
use super::Blocks;
use super::block::{Block, Exchange};
use super::messages::{Message, Phase};

/// One rank of a generated program.
pub struct TrafficRank {
    rank: u32,
    blocks: Blocks,
    exchange: Exchange,
    /// When the computation of the block is over.
    computed_at: Picos,
    lanes: Vec<Lane>,
    /// What can start, with its lane.
    ready: VecDeque<(u32, Action)>,
    /// The lane of the action that was returned last.
    current: u32,
    under_way: BTreeMap<Request, u32>,
    sent_messages: u64,
    sent_bytes: u64,
    /// Reused.
    phase: Phase,
}

/// Phases of the current block that follow each other.
#[derive(Clone, Copy, Debug, Default)]
struct Lane {
    next_phase: u64,
    /// Messages of the phase that are not over.
    left: usize,
    is_over: bool,
}

/// The lane of messages that no block waits for.
const DETACHED: u32 = u32::MAX;

impl TrafficRank {
    /// Rank `rank` at the start of `blocks`.
    pub fn new(rank: u32, blocks: Blocks) -> Self {
        Self {
            rank,
            blocks,
            exchange: Exchange::Nothing,
            computed_at: Picos::ZERO,
            lanes: Vec::new(),
            ready: VecDeque::new(),
            current: DETACHED,
            under_way: BTreeMap::new(),
            sent_messages: 0,
            sent_bytes: 0,
            phase: Phase::default(),
        }
    }

    /// Messages and bytes that it has sent.
    pub fn sent(&self) -> (u64, u64) {
        (self.sent_messages, self.sent_bytes)
    }

    fn begin(&mut self, block: Block, now: Picos) {
        self.computed_at = now + block.compute;
        self.lanes.clear();
        self.lanes
            .resize(block.exchange.lanes() as usize, Lane::default());
        self.exchange = block.exchange;
        for lane in 0..self.lanes.len() as u32 {
            self.advance(lane);
        }
    }

    /// Starts the next phase of `lane` that has messages.
    fn advance(&mut self, lane: u32) {
        let state = &mut self.lanes[lane as usize];
        while state.left == 0 && !state.is_over {
            self.phase.clear();
            let index = state.next_phase;
            state.is_over = !(self.exchange).phase(self.rank, lane, index, &mut self.phase);
            state.next_phase += 1;
            if !self.exchange.is_detached() {
                state.left = self.phase.messages();
            }
            let number = if self.exchange.is_detached() {
                DETACHED
            } else {
                lane
            };
            let receives = self.phase.receives.iter().map(|message| receive(*message));
            let sends = self.phase.sends.iter().map(|message| send(*message));
            self.ready
                .extend(receives.chain(sends).map(|action| (number, action)));
        }
    }

    fn is_block_over(&self) -> bool {
        self.lanes.iter().all(|lane| lane.is_over && lane.left == 0)
    }
}

impl Program for TrafficRank {
    fn next(&mut self, now: Picos) -> Action {
        loop {
            if let Some((lane, action)) = self.ready.pop_front() {
                self.current = lane;
                if let Action::Send(send) = &action {
                    self.sent_messages += 1;
                    self.sent_bytes += send.bytes;
                }
                return action;
            }
            if !self.is_block_over() {
                return Action::Wait;
            }
            if now < self.computed_at {
                return Action::Compute(self.computed_at - now);
            }
            let Some(block) = self.blocks.next() else {
                return if self.under_way.is_empty() {
                    Action::Exit
                } else {
                    Action::Wait
                };
            };
            self.begin(block, now);
        }
    }

    fn started(&mut self, request: Request) {
        self.under_way.insert(request, self.current);
    }

    fn completed(&mut self, request: Request, _completion: &Completion, _now: Picos) {
        let lane = self.under_way.remove(&request);
        if let Some(lane) = lane.filter(|&lane| lane != DETACHED) {
            self.lanes[lane as usize].left -= 1;
            self.advance(lane);
        }
    }
}

fn receive(message: Message) -> Action {
    Action::Receive(Receive {
        source: Some(message.peer),
        tag: message.tag.into(),
        ignore: 0,
        bytes: message.bytes,
        address: message.address,
    })
}

fn send(message: Message) -> Action {
    Action::Send(Send {
        dest: message.peer,
        tag: message.tag.into(),
        bytes: message.bytes,
        address: message.address,
    })
}
