//! The loop that runs a launch: the earliest warp makes its next move, until all blocks have ended.

mod cluster_barrier;
mod load_store;
mod suspended;
mod units;
mod waiting;
mod warming;

use crate::gpu::common::request::{DeferredQueue, Request, Stage};
use crate::gpu::machine::{GpuMachine, SmSpec};
use crate::gpu::memory::path::{MemoryPath, Progress};
use crate::gpu::sm::barrier_arrivals::BarrierArrivals;
use crate::gpu::sm::block_slots::{BlockSlot, BlockStarts};
use crate::gpu::sm::clusters::{BARRIER_CYCLES, ClusterSlots, REMOTE_SHARED_CYCLES};
use crate::gpu::sm::occupancy::{Occupancy, occupancy};
use crate::gpu::sm::outcome::{RunError, RunOutcome};
use crate::gpu::sm::waits::Waits;
use crate::gpu::sm::warp::{Phase, Warp};
use crate::gpu::stats::ExecutionStats;
use crate::gpu::stream::{AccessKind, GridShape, GridStream, Step, StepEnd};
use pagemill_pages::parts::event_heap::EventHeap;
use pagemill_pages::parts::ports::Port;
use pagemill_ptx::Patience;
use pagemill_types::WARPS_HELD;
use pagemill_types::{Clock, Picos};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use suspended::{Suspended, Suspension};
use units::{Home, LoadStore};
use waiting::Waiting;

/// The SMs: who is resident, who has which port.
#[derive(Clone, Debug)]
pub(crate) struct Engine {
    spec: SmSpec,
    clock: Clock,
    /// What the load-store unit takes for these sectors of a segment, and what it takes where lanes have 16 bytes each.
    segment_busy: [[Picos; 16]; 2],
    starts: BlockStarts,
    heap: EventHeap,
    deferred: DeferredQueue,
    warps: Vec<Warp>,
    /// Whether the warps are more than the host's caches hold, which then are asked ahead.
    are_many: bool,
    homes: Vec<Home>,
    schedulers: Vec<Port>,
    load_store: Vec<LoadStore>,
    blocks: Vec<BlockSlot>,
    clusters: ClusterSlots,
    cluster_blocks: u32,
    cluster_crossing: Picos,
    arrivals: BarrierArrivals,
    warps_per_block: u32,
    next_block: u64,
    shape_blocks: u64,
    step: Step,
    /// Reused.
    awake: Vec<Request>,
    execution: ExecutionStats,
    instruction_limit: u64,
    /// Thread instructions at which the limit and `stop` are looked at next.
    check_at: u64,
    /// Launches end soon after it was set.
    pub(crate) stop: Option<Arc<AtomicBool>>,
    /// The last time anything asked for is done.
    last_done: Picos,
    waits: Waits,
    /// Whether the sectors of loads matter, and of stores.
    by_sectors: [bool; 2],
    waiting: Waiting,
    suspended: Suspended,
}

impl Engine {
    pub(crate) fn new(machine: &GpuMachine) -> Self {
        let spec = machine.sm;
        Self {
            spec,
            clock: machine.core_clock,
            segment_busy: [false, true].map(|is_wide| units::segment_busy(machine, is_wide)),
            starts: BlockStarts::new(&spec, machine.core_clock),
            heap: EventHeap::default(),
            deferred: DeferredQueue::default(),
            warps: Vec::new(),
            are_many: false,
            homes: Vec::new(),
            schedulers: Vec::new(),
            load_store: Vec::new(),
            blocks: Vec::new(),
            clusters: ClusterSlots::default(),
            cluster_blocks: 1,
            cluster_crossing: machine.core_clock.cycles(BARRIER_CYCLES),
            arrivals: BarrierArrivals::default(),
            warps_per_block: 0,
            next_block: 0,
            shape_blocks: 0,
            step: Step::default(),
            awake: Vec::new(),
            execution: ExecutionStats::default(),
            instruction_limit: u64::MAX,
            check_at: u64::MAX,
            stop: None,
            last_done: Picos::ZERO,
            waits: Waits::default(),
            by_sectors: [false; 2],
            waiting: Waiting::default(),
            suspended: Suspended::default(),
        }
    }

    /// Blocks of a grid of `shape` that all SMs together hold at once.
    pub(crate) fn resident_blocks(&self, shape: &GridShape) -> u64 {
        u64::from(occupancy(&self.spec, shape).blocks_per_sm) * u64::from(self.spec.count)
    }

    /// Begins a grid at `at` that executes at most `instruction_limit` thread instructions.
    pub(crate) fn begin<S: GridStream>(
        &mut self,
        at: Picos,
        stream: &mut S,
        path: &mut MemoryPath,
        instruction_limit: u64,
    ) -> Result<(), RunError<S::Error>> {
        let shape = stream.shape();
        let occupancy = occupancy(&self.spec, &shape);
        if occupancy.blocks_per_sm == 0 {
            return Err(RunError::DoesNotFit(occupancy));
        }
        path.start_kernel();
        self.by_sectors = path.looks_at_sectors();
        self.lay_out(at, &shape, occupancy, instruction_limit);
        if shape.blocks > 0 && self.clusters.groups() == 0 {
            return Err(RunError::DoesNotFit(occupancy));
        }
        self.waits = Waits::new(stream.instructions(), self.warps.len());
        stream.prepare(self.blocks.len() as u32);
        self.fill_slots(at, stream);
        Ok(())
    }

    /// Lets the launch that waits go on at `at`.
    pub(crate) fn release_held(&mut self, at: Picos, path: &mut MemoryPath) {
        path.start_kernel();
        self.waiting.release(at, &mut self.heap);
    }

    /// Since when the launch waits.
    pub(crate) fn held_at(&self) -> Picos {
        self.waiting.since()
    }

    /// Runs the grid that has begun until its end; `None` if it waits for something outside of it.
    pub(crate) fn run<S: GridStream>(
        &mut self,
        patience: Patience,
        stream: &mut S,
        path: &mut MemoryPath,
    ) -> Result<Option<RunOutcome>, RunError<S::Error>> {
        self.waiting.patience = patience;
        self.check_at = self.next_check();
        // Discrete events over warps: the warp with the least time makes its next move, which books what it needs (its scheduler, the
        // load-store unit, the path to memory) and puts it back at the time when that is free. Nothing is stepped by cycles.
        //
        //   Run --memory instruction--> Access --unit free--> Issue --all segments sent--> Run
        //    |--wait for slots--> WaitSlots --last answer--> Run     |--path full--> (same place, later)
        //    |--barrier--> Barrier --last warp--> Run
        //    |--phase not over--> (suspended) --over, or its time is--> Run
        //    +--exit--> Drain --last answer--> Ended
        //
        // Equal times go by number of the warp, so a run is the same on every machine.
        while let Some((now, warp)) = self.next_event(path, stream) {
            self.warm_next(stream);
            let resumes = path.stall.resumes(self.homes[warp as usize].sm, now);
            if resumes > now {
                self.heap.replace_top(resumes, warp);
                continue;
            }
            match self.warps[warp as usize].phase {
                Phase::Run if self.waiting.stops => self.waiting.hold(now, warp, &mut self.heap),
                Phase::Run => self.step(now, warp, stream, path)?,
                Phase::Access => self.access(now, warp, path),
                _ => self.issue(now, warp, path),
            }
        }
        if self.heap.overflowed() {
            return Err(RunError::TimeLimit);
        }
        if self.waiting.holds_some() {
            return Ok(None);
        }
        if let Some(stuck) = self.blocks.iter().find(|slot| slot.live_warps > 0) {
            return Err(RunError::Deadlock { block: stuck.block });
        }
        Ok(Some(RunOutcome {
            end: self.last_done,
            execution: self.execution,
            occupancy: occupancy(&self.spec, &stream.shape()),
            waits: std::mem::take(&mut self.waits).of_instruction,
        }))
    }

    /// Lays out warps and ports for a grid of `shape`.
    fn lay_out(
        &mut self,
        at: Picos,
        shape: &GridShape,
        occupancy: Occupancy,
        instruction_limit: u64,
    ) {
        let sms = u64::from(self.spec.count);
        let per_sm = u64::from(occupancy.blocks_per_sm).min(shape.blocks.div_ceil(sms)) as u32;
        let slots = per_sm * self.spec.count;
        self.starts.restart();
        self.deferred.clear();
        self.warps_per_block = shape.warps_per_block;
        self.homes.clear();
        for slot in 0..slots {
            let sm = slot / per_sm.max(1);
            let first_in_sm = (slot % per_sm.max(1)) * shape.warps_per_block;
            self.homes.extend((0..shape.warps_per_block).map(|warp| {
                let scheduler =
                    sm * self.spec.schedulers + (first_in_sm + warp) % self.spec.schedulers;
                Home {
                    sm,
                    slot,
                    warp,
                    scheduler,
                }
            }));
        }
        self.heap.restart(at, self.homes.len() as u32);
        self.are_many = self.homes.len() > WARPS_HELD;
        self.warps.clear();
        self.warps.resize(self.homes.len(), Warp::default());
        self.schedulers = vec![Port::default(); (self.spec.count * self.spec.schedulers) as usize];
        self.load_store = vec![LoadStore::default(); self.spec.count as usize];
        self.blocks = vec![BlockSlot::default(); slots as usize];
        self.arrivals.restart(slots as usize);
        self.cluster_blocks = shape.cluster_blocks.max(1);
        self.clusters = ClusterSlots::new(self.cluster_blocks, per_sm, self.spec.count);
        self.next_block = 0;
        self.shape_blocks = shape.blocks;
        self.execution = ExecutionStats::default();
        self.instruction_limit = instruction_limit;
        self.last_done = at;
        self.waiting.restart(at);
        self.suspended.restart(self.clusters.groups());
    }

    /// The first blocks, dealt to the SMs in turn.
    fn fill_slots<S: GridStream>(&mut self, at: Picos, stream: &mut S) {
        for group in 0..self.clusters.groups() {
            self.start_cluster(at, group, stream);
        }
    }

    /// The blocks of the next cluster, all at once.
    fn start_cluster<S: GridStream>(&mut self, at: Picos, group: u32, stream: &mut S) {
        if self.next_block == self.shape_blocks {
            return;
        }
        let blocks = self.cluster_blocks;
        let cluster = self.next_block / u64::from(blocks);
        self.next_block += u64::from(blocks);
        let at = self.starts.admit(at, blocks);
        self.clusters.start(group, at);
        for rank in 0..blocks {
            let block = match blocks {
                1 => cluster,
                _ => stream.block_of_cluster(cluster, rank),
            };
            self.start_block(at, self.clusters.slot(group, rank), block, stream);
        }
    }

    fn start_block<S: GridStream>(&mut self, at: Picos, slot: u32, block: u64, stream: &mut S) {
        self.execution.blocks += 1;
        stream.start_block(slot, block);
        self.arrivals.clear(slot);
        self.blocks[slot as usize] = BlockSlot {
            block,
            live_warps: self.warps_per_block,
            end: at,
        };
        let first = slot * self.warps_per_block;
        for warp in first..first + self.warps_per_block {
            let state = &mut self.warps[warp as usize];
            state.behind = Picos::ZERO;
            state.phase = Phase::Run;
            self.heap.push(at, warp);
        }
    }

    /// The earliest warp event, after every waiting request that goes on before or at the same time.
    #[inline]
    fn next_event<S: GridStream>(
        &mut self,
        path: &mut MemoryPath,
        stream: &mut S,
    ) -> Option<(Picos, u32)> {
        loop {
            let top = self.heap.top();
            let warp_at = top.map_or(Picos(u64::MAX), |(at, _)| at);
            if self.heap.overflowed() {
                return None;
            }
            let due = path.due();
            let deferred_at = self.deferred.next_at();
            let next_at = due.min(deferred_at).min(warp_at);
            if self.suspended.end_until(next_at, &mut self.heap) {
                continue;
            }
            // Three clocks meet here. At equal times requests go before the page manager, and both before warps: an access that comes back
            // at the time of a replay has to see the pages as they were when it was sent.
            if due < deferred_at && due <= warp_at {
                self.advance_pages(due, path);
                continue;
            }
            if deferred_at > warp_at || (top.is_none() && self.deferred.is_empty()) {
                self.heap.enter_top();
                return top;
            }
            if let Some((at, request)) = self.deferred.pop() {
                self.resume(at, request, path, stream);
            }
        }
    }

    /// The page manager goes on by itself; the requests that it hands back are repeated.
    #[cold]
    fn advance_pages(&mut self, now: Picos, path: &mut MemoryPath) {
        let mut awake = std::mem::take(&mut self.awake);
        path.advance(now, &mut awake);
        for request in awake.drain(..) {
            self.deferred.push(now, request);
        }
        self.awake = awake;
    }

    /// A warp makes its next step: its scheduler is booked, and what the step ended at says what comes next.
    #[inline]
    fn step<S: GridStream>(
        &mut self,
        now: Picos,
        warp: u32,
        stream: &mut S,
        path: &MemoryPath,
    ) -> Result<(), RunError<S::Error>> {
        let home = self.homes[warp as usize];
        stream
            .advance(home.slot, home.warp, &mut self.step)
            .map_err(RunError::Stream)?;
        let totals = &self.step.totals;
        self.execution.warp_instructions += totals.instructions;
        self.execution.thread_instructions += totals.thread_instructions;
        let replays = totals.shared_replays * u64::from(self.spec.shared_replay_cycles);
        let issue = self.clock.cycles(totals.issue_cycles + replays);
        let remote = totals.remote_shared_accesses * REMOTE_SHARED_CYCLES;
        let latency = self.clock.cycles(totals.latency_cycles + replays + remote);
        if self.execution.thread_instructions > self.check_at {
            self.check(stream)?;
        }
        // Issue is what the step takes from other warps of its scheduler, latency what it takes from this one: with enough warps a
        // scheduler is busy all the time, and only the first counts.
        let start = self.schedulers[home.scheduler as usize].book(now, issue);
        let end = start + issue.max(latency);
        self.end_step(end, warp, home.slot, stream);
        if self.suspended.has_some() {
            let group = self.clusters.group_of(home.slot);
            self.suspended.wake(group, end, stream, &mut self.heap);
        }
        if self.step.end == StepEnd::Memory {
            self.warm_access(warp, home.sm, path);
        }
        Ok(())
    }

    fn next_check(&self) -> u64 {
        match self.waiting.look_interval(self.stop.is_some()) {
            None => self.instruction_limit,
            Some(interval) => (self.execution.thread_instructions.saturating_add(interval))
                .min(self.instruction_limit),
        }
    }

    /// Whether the launch may go on, and gets on.
    #[cold]
    fn check<S: GridStream>(&mut self, stream: &mut S) -> Result<(), RunError<S::Error>> {
        if self.execution.thread_instructions > self.instruction_limit {
            return Err(RunError::InstructionLimit);
        }
        if (self.stop.as_ref()).is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Err(RunError::Stopped);
        }
        let mut slots = (0..).zip(&self.blocks);
        self.waiting.stops = self.waiting.patience == Patience::ForOthers
            && slots.all(|(slot, block)| block.live_warps == 0 || stream.stands_still(slot));
        self.check_at = self.next_check();
        Ok(())
    }

    /// What a warp's step ended at says when, and for what, the warp is due again.
    #[inline]
    fn end_step<S: GridStream>(&mut self, end: Picos, warp: u32, slot: u32, stream: &mut S) {
        let state = &mut self.warps[warp as usize];
        match self.step.end {
            StepEnd::Memory => {
                let access = &self.step.access;
                let by_sectors = self.by_sectors[usize::from(access.kind == AccessKind::Store)];
                state.access.set(access, &self.spec, by_sectors);
                self.execution.memory_instructions += 1;
                self.execution.segments += state.access.segments.as_slice().len() as u64;
                state.phase = Phase::Access;
                self.heap.replace_top(end, warp);
            }
            StepEnd::Budget => self.heap.replace_top(end, warp),
            StepEnd::Wait { slots } => match state.ready_at(slots) {
                Some(ready) => {
                    if ready > end && self.waits.are_counted() {
                        self.waits.add_slot(warp, state.last_of(slots), ready - end);
                    }
                    state.behind = state.behind.min(end.saturating_since(ready));
                    self.heap.replace_top(end.max(ready), warp);
                }
                None => {
                    state.wait(end, Phase::WaitSlots(slots));
                    self.heap.pop();
                }
            },
            StepEnd::Copies { slots, phase } => match state.ready_at(slots) {
                Some(ready) => {
                    let home = self.block_of(slot, phase.rank);
                    self.arrivals.note(home, phase, ready);
                    self.heap.replace_top(end, warp);
                }
                // Until it is known when they arrive, the warp waits.
                None => {
                    state.wait(end, Phase::WaitSlots(slots));
                    self.heap.pop();
                }
            },
            StepEnd::Phase(phase) => {
                let home = self.block_of(slot, phase.rank);
                let ready = self.arrivals.ready_at(home, phase);
                self.heap.replace_top(end.max(ready), warp);
            }
            // Whether a launch waits for something outside of it is seen by what its warps execute: there they go on and ask again.
            StepEnd::Suspended(_) if self.waiting.patience == Patience::ForOthers => {
                self.heap.replace_top(end, warp)
            }
            StepEnd::Suspended(phase) => {
                let group = self.clusters.group_of(slot);
                self.suspended
                    .add(group, Suspension::new(warp, slot, phase, end));
                self.heap.pop();
            }
            StepEnd::Barrier {
                released: false, ..
            } => {
                state.wait(end, Phase::Barrier);
                self.heap.pop();
            }
            StepEnd::Barrier { released: true, .. } => {
                let at = self.release(slot, end);
                self.heap.replace_top(at, warp);
                self.wake_released(slot, at);
            }
            StepEnd::ClusterBarrier { arrives, goes_on } => {
                self.at_cluster_barrier(end, warp, slot, (arrives, goes_on))
            }
            StepEnd::Exit => self.exit(end, warp, slot, stream),
        }
    }

    /// Where the block of `rank` in the cluster of the block in `slot` is.
    fn block_of(&self, slot: u32, rank: Option<u32>) -> u32 {
        match rank {
            None => slot,
            Some(rank) => self.clusters.slot(self.clusters.group_of(slot), rank),
        }
    }

    fn exit<S: GridStream>(&mut self, end: Picos, warp: u32, slot: u32, stream: &mut S) {
        let state = &mut self.warps[warp as usize];
        state.arrive(end, Phase::Drain);
        let drained = !state.anything_pending();
        self.heap.pop();
        if self.step.opens_cluster_barrier {
            let group = self.clusters.group_of(slot);
            self.clusters.arrive(group, end);
            self.open_cluster_barrier(group);
        }
        if self.step.released_warps != 0 {
            let at = self.release(slot, end);
            self.wake_released(slot, at);
        }
        if drained {
            self.retire(end, warp, stream);
        }
    }

    /// When the warps that this step releases go on: when the last of them, or the one that released them, has come.
    fn release(&self, slot: u32, arrived: Picos) -> Picos {
        self.released(slot)
            .map(|warp| self.warps[warp as usize].arrived)
            .fold(arrived, Picos::max)
    }

    fn wake_released(&mut self, slot: u32, at: Picos) {
        for warp in self.released(slot) {
            let state = &mut self.warps[warp as usize];
            if state.phase == Phase::Barrier {
                state.phase = Phase::Run;
                self.heap.push(at, warp);
            }
        }
    }

    fn released(&self, slot: u32) -> impl Iterator<Item = u32> + use<> {
        let first = slot * self.warps_per_block;
        let mask = self.step.released_warps;
        (0..self.warps_per_block)
            .filter(move |warp| mask >> warp & 1 == 1)
            .map(move |warp| first + warp)
    }

    /// The warp's block loses a warp; with the last one, its slot takes a block of the next cluster of the
    /// grid, once the others of its cluster have ended too.
    fn retire<S: GridStream>(&mut self, at: Picos, warp: u32, stream: &mut S) {
        self.warps[warp as usize].phase = Phase::Ended;
        let slot = self.homes[warp as usize].slot;
        let block = &mut self.blocks[slot as usize];
        block.live_warps -= 1;
        block.end = block.end.max(at);
        if block.live_warps == 0 {
            // The slot's next block starts from the end of this one, whichever warp of it was the last to be handled.
            let end = block.end;
            self.last_done = self.last_done.max(end);
            stream.end_block(slot);
            let group = self.clusters.group_of(slot);
            if let Some(end) = self.clusters.end_block(group, end) {
                self.start_cluster(self.starts.after(end), group, stream);
            }
        }
    }

    /// A request that waited goes on.
    fn resume<S: GridStream>(
        &mut self,
        at: Picos,
        request: Request,
        path: &mut MemoryPath,
        stream: &mut S,
    ) {
        path.host_link.ledger.set_origin(request.instruction);
        let done = match path.resume(at, &request) {
            Progress::Done(done) => done,
            Progress::Later(later, stage) => {
                if stage == Stage::Translated {
                    path.host_link.ledger.missed_translation();
                }
                return self.deferred.push(later, Request { stage, ..request });
            }
            Progress::Waits => return,
            // A load that came back to an L1 whose misses are all in flight passes it by: were it to wait, the fills it waits for could wait
            // for it.
            Progress::Blocked(_, stage) if request.kind == AccessKind::Load => {
                path.load_past_l1(at, &request, stage)
            }
            Progress::Blocked(free_at, stage) => {
                return self.deferred.push(free_at, Request { stage, ..request });
            }
        };
        self.last_done = self.last_done.max(done);
        let warp = request.warp;
        let state = &mut self.warps[warp as usize];
        state.note_ready(request.slot, done);
        state.end_pending(request.slot);
        match state.phase {
            Phase::WaitSlots(slots) => {
                if let Some(ready) = state.ready_at(slots) {
                    state.phase = Phase::Run;
                    let wake = ready.max(state.arrived);
                    if self.waits.are_counted() {
                        let waited = wake - state.arrived;
                        self.waits.add(request.instruction, waited);
                    }
                    self.heap.push(wake, warp);
                }
            }
            Phase::WaitStores if !state.store_pending() => {
                state.phase = Phase::Access;
                self.heap.push(at, warp);
            }
            Phase::Drain if !state.anything_pending() => {
                let end = done.max(state.arrived);
                self.retire(end, warp, stream);
            }
            _ => {}
        }
    }
}
