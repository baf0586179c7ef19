//! Kernels that wait for others, and the work behind them in their streams.
//!
//! A launch in which nothing gets on by itself waits: for what the host writes, or for a kernel of another stream. What is
//! put behind it is held back. Whenever the program waits for the GPU, those that wait go on in turns, until none of them
//! changes memory any more.

use std::collections::{BTreeSet, VecDeque};

use pagemill_ptx::Patience;
use pagemill_sim::{LaunchEnd, WaitingLaunch};

use super::images::FunctionKey;
use super::launches::Launch;
use super::streams::{StreamId, Streams};
use super::work::Work;
use super::{Runtime, Side};
use crate::error::{CudaError, Fault};

/// Does a piece of work whose turn has come.
pub type Performer = fn(&mut Runtime, StreamId, &Work) -> Result<(), Fault>;

/// What has to be done before the program goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Everything.
    All,
    /// Everything in a stream, and what it waits for.
    Stream(StreamId),
    /// Everything before an event.
    Event(u64),
}

/// Work that is held back.
#[derive(Debug)]
struct Item {
    stream: StreamId,
    work: Work,
    perform: Performer,
    /// Bytes of the program that it copies, as they were when the program asked.
    _bytes: Vec<u8>,
}

#[derive(Debug)]
struct Waiting {
    stream: StreamId,
    key: FunctionKey,
    launch: WaitingLaunch,
}

/// Launches that wait, and what is behind them, in the order in which the program asked for it.
#[derive(Debug, Default)]
pub(super) struct Held {
    waiting: Vec<Waiting>,
    items: VecDeque<Item>,
}

/// What cannot go on yet.
#[derive(Default)]
struct Blocked {
    streams: BTreeSet<StreamId>,
    events: BTreeSet<u64>,
}

impl Blocked {
    fn add(&mut self, item: &Item) {
        self.streams.insert(item.stream.plain());
        if let Work::Record(event) = item.work {
            self.events.insert(event);
        }
    }
}

impl Streams {
    /// Whether some launch waits.
    pub fn has_waiting(&self) -> bool {
        !self.held.waiting.is_empty()
    }

    /// Whether what is put into `stream` now has to be held back.
    pub fn is_held(&self, stream: StreamId) -> bool {
        self.has_waiting() && self.is_behind(stream, &self.blocked())
    }

    /// Whether `event` was recorded behind a launch that waits.
    pub(super) fn is_event_held(&self, event: u64) -> bool {
        self.held
            .items
            .iter()
            .any(|item| matches!(item.work, Work::Record(own) if own == event))
    }

    /// Whether work that is held back records `event` or waits for it.
    pub(super) fn is_event_used(&self, event: u64) -> bool {
        let mut items = self.held.items.iter();
        items.any(|item| matches!(item.work, Work::Record(own) | Work::Wait(own) if own == event))
    }

    /// Holds back that an event is recorded or waited for.
    pub(super) fn hold_mark(&mut self, stream: StreamId, work: Work) {
        self.held.items.push_back(Item {
            stream,
            work,
            perform: |runtime, stream, work| runtime.do_own(stream, work).unwrap_or(Ok(())),
            _bytes: Vec::new(),
        });
    }

    fn is_settled(&self, turn: Turn) -> bool {
        match turn {
            _ if !self.has_waiting() => true,
            Turn::All => false,
            Turn::Stream(stream) => !self.is_held(stream),
            Turn::Event(event) => !self.is_event_held(event),
        }
    }

    fn waiting_streams(&self) -> Blocked {
        let waiting = self.held.waiting.iter();
        Blocked {
            streams: waiting.map(|own| own.stream.plain()).collect(),
            events: BTreeSet::new(),
        }
    }

    fn blocked(&self) -> Blocked {
        let mut blocked = self.waiting_streams();
        self.held.items.iter().for_each(|item| blocked.add(item));
        blocked
    }

    /// Whether work in `stream` comes after some in a blocked stream.
    fn is_behind(&self, stream: StreamId, blocked: &Blocked) -> bool {
        let is_blocking = |stream: &StreamId| self.is_non_blocking(*stream) == Ok(false);
        let stream = stream.plain();
        blocked.streams.contains(&stream)
            || stream.is_legacy() && blocked.streams.iter().any(is_blocking)
            || blocked.streams.contains(&StreamId::LEGACY) && is_blocking(&stream)
    }
}

impl Runtime {
    /// Holds `work` back until all before it in `stream` is done; `perform` does it then. What a copy reads of memory that
    /// only the program knows is read now.
    ///
    /// # Safety
    /// Such memory is readable.
    pub unsafe fn hold(&mut self, stream: StreamId, mut work: Work, perform: Performer) {
        let mut bytes = Vec::new();
        if let Work::Copy(plan, _) = &mut work
            && self.device.side(plan.from.address) == Side::Host
            && let Some(reach) = plan.from.reach(&plan.extent)
        {
            // SAFETY: the caller promises that all of it is readable; nothing else runs before it is copied.
            let from = unsafe {
                std::slice::from_raw_parts(plan.from.address as *const u8, reach as usize)
            };
            bytes = from.to_vec();
            plan.from.address = bytes.as_ptr() as u64;
        }
        self.streams.held.items.push_back(Item {
            stream,
            work,
            perform,
            _bytes: bytes,
        });
    }

    /// Whether `work` can be held back: not if it writes to memory that only the program knows, for which CUDA waits.
    pub fn can_hold(&self, work: &Work) -> bool {
        !matches!(work, Work::Copy(plan, _) if self.device.side(plan.to.address) == Side::Host)
    }

    /// Does work that needs no memory of the program; `None` for other work.
    pub fn do_own(&mut self, stream: StreamId, work: &Work) -> Option<Result<(), Fault>> {
        Some(match work {
            Work::Kernel(key, launch, arguments) => {
                let launch = Launch { stream, ..*launch };
                self.run_kernel(*key, &launch, arguments)
            }
            Work::Wait(event) => self.wait_for_event(stream, *event),
            Work::Record(event) => self.record_event(*event, stream),
            Work::Allocate { address, bytes } => self.allocate_at(*address, *bytes, stream),
            Work::Free(address) => self.free_in(*address, stream),
            _ => return None,
        })
    }

    /// A launch of the kernel `key` has ended or waits.
    pub(super) fn launched(
        &mut self,
        key: FunctionKey,
        stream: StreamId,
        end: LaunchEnd,
    ) -> Result<(), Fault> {
        let at = match &end {
            LaunchEnd::Done(launched) => launched.done,
            LaunchEnd::Waits(launch) => launch.since(),
        };
        self.streams.end(stream, at)?;
        self.device.close_pages_on_gpu(at);
        match end {
            LaunchEnd::Done(_) => self.note_launched(),
            LaunchEnd::Waits(launch) => self.streams.held.waiting.push(Waiting {
                stream,
                key,
                launch: *launch,
            }),
        }
        Ok(())
    }

    /// Lets all that waits go on, in turns, until what `turn` names is done or nothing gets on; whether it is done.
    ///
    /// # Errors
    /// Whatever stopped a kernel, or a piece of work.
    pub fn settle(&mut self, turn: Turn) -> Result<bool, Fault> {
        while !self.streams.is_settled(turn) {
            let moves = self.go_on_waiting(Patience::ForOthers)?;
            if !(self.run_items()? || moves) {
                return Ok(self.streams.is_settled(turn));
            }
        }
        Ok(true)
    }

    /// As [`Runtime::settle`], where no one else is left who could get the launches on: what still waits fails.
    ///
    /// # Errors
    /// What they wait for.
    pub fn settle_alone(&mut self, turn: Turn) -> Result<(), Fault> {
        while !self.settle(turn)? {
            self.go_on_waiting(Patience::ToTheEnd)?;
            self.run_items()?;
        }
        Ok(())
    }

    /// The program ends: launches that still wait are noted as failed. Returns what to say of each.
    pub fn abandon_waiting(&mut self) -> Vec<String> {
        self.streams.held.items.clear();
        let mut said = Vec::new();
        for waiting in std::mem::take(&mut self.streams.held.waiting) {
            let name = self.modules.kernel_name(waiting.key).unwrap_or("?");
            let message = format!(
                "kernel {name} still waited for a change of memory when the program ended, which had not waited for it"
            );
            let fault = Fault::new(CudaError::LAUNCH_TIMEOUT, message.as_str());
            self.note_failed_launch(waiting.key, &fault);
            said.push(message);
        }
        said
    }

    /// Whether one of the launches that wait has ended or changed memory.
    fn go_on_waiting(&mut self, patience: Patience) -> Result<bool, Fault> {
        let mut moves = false;
        for waiting in std::mem::take(&mut self.streams.held.waiting) {
            let Waiting {
                stream,
                key,
                launch,
            } = waiting;
            let at = self.streams.host().max(launch.since());
            let gpu = &mut self.device.gpu;
            let end = gpu.go_on(at, launch, patience).map_err(Fault::from);
            moves |= match &end {
                Ok(LaunchEnd::Waits(launch)) => launch.has_changed_memory(),
                _ => true,
            };
            let done = end.and_then(|end| self.launched(key, stream, end));
            done.inspect_err(|fault| {
                self.streams.held.items.clear();
                self.streams.held.waiting.clear();
                self.note_failed_launch(key, fault);
            })?;
        }
        Ok(moves)
    }

    /// Does what was held back and is no longer behind a launch that waits; whether there was something.
    fn run_items(&mut self) -> Result<bool, Fault> {
        let mut blocked = self.streams.waiting_streams();
        let mut ran = false;
        let mut items = std::mem::take(&mut self.streams.held.items);
        while let Some(item) = items.pop_front() {
            let waits_for = match item.work {
                Work::Wait(event) => blocked.events.contains(&event),
                _ => false,
            };
            if waits_for || self.streams.is_behind(item.stream, &blocked) {
                blocked.add(&item);
                self.streams.held.items.push_back(item);
                continue;
            }
            ran = true;
            let count = self.streams.held.waiting.len();
            // What fails is one piece of work; those behind it stay.
            if let Err(fault) = (item.perform)(self, item.stream, &item.work) {
                self.streams.held.items.append(&mut items);
                return Err(fault);
            }
            if self.streams.held.waiting.len() > count {
                blocked.streams.insert(item.stream.plain());
            }
        }
        Ok(ran)
    }
}
