//! One block of threads: its warps, its shared memory, its barriers.

mod barrier;
mod compile_threshold;
mod divergence;
mod presets;
mod strays;

use crate::block::barrier::{Arrival, Barriers};
use crate::block::compile_threshold::Pace;
use crate::check::BlockCheck;
use crate::exec::access::Stores;
use crate::exec::run::{Machine, Stop};
use crate::exec::step::{BarrierPhase, MemoryAccess, Step, StepEnd, StepTotals};
use crate::exec::trap::{Fault, Trap, TrapKind};
use crate::exec::warp::{Warp, WarpState};
use crate::exec::{dispatch::run, machine_code::native, service::Output};
use crate::launch::{Executor, Launch, cost::InstructionCosts};
use crate::memory::{DeviceMemory, cluster::Seat};
use pagemill_ptx_ir::line::{FULL, LANES, Line, Registers};
use pagemill_ptx_ir::{address::window, info::Prefix};
use pagemill_ptx_native::{Purpose, Routine, Windows};
use pagemill_types::warm;
use presets::{of_block, preset_registers};

/// PTX instructions of a warp in a functional run before the others of its block have a turn.
const TURN_INSTRUCTIONS: u64 = 1 << 16;

/// A place where blocks run, one after the other. Starting the next block of a launch allocates nothing.
#[derive(Clone, Debug)]
pub struct Block {
    launch_id: u64,
    index: u64,
    /// Which of the places for resident blocks this is: separates the local memory of blocks that run side by side.
    place: u32,
    pub(crate) warps: Vec<Warp>,
    pub(crate) registers: Vec<Registers>,
    locals: Vec<Vec<Line<u32>>>,
    shared: Vec<u8>,
    /// Where it sits in its cluster, in launches with clusters.
    seat: Option<Seat>,
    /// Whether the advance at hand was the last that the barrier of the cluster waited for.
    opens_cluster_barrier: bool,
    barriers: Barriers,
    hints: Vec<u32>,
    /// What machine code may reach.
    windows: Windows,
    /// Of the timed steps made here.
    pace: Pace,
    pub(crate) output: Output,
    /// What is known of it, if mistakes are looked for.
    pub(crate) check: Option<Box<BlockCheck>>,
    /// Where functional runs leave addresses that are not read.
    scratch: MemoryAccess,
}

impl Block {
    /// A place shaped for the blocks of `launch`.
    pub fn new(launch: &Launch) -> Self {
        Self::at_place(launch, 0)
    }

    /// The same, as number `place` of the places that are occupied at the same time.
    pub fn at_place(launch: &Launch, place: u32) -> Self {
        let mut block = Self {
            launch_id: 0,
            index: 0,
            place,
            warps: Vec::new(),
            registers: Vec::new(),
            locals: Vec::new(),
            shared: Vec::new(),
            seat: None,
            opens_cluster_barrier: false,
            barriers: Barriers::default(),
            hints: Vec::new(),
            windows: Windows::default(),
            pace: Pace::default(),
            output: Output::default(),
            check: None,
            scratch: MemoryAccess::default(),
        };
        block.reshape(launch);
        block
    }

    fn reshape(&mut self, launch: &Launch) {
        let code = &launch.kernel.code;
        let warps = launch.warps_per_block();
        self.launch_id = launch.id;
        self.warps = (0..warps).map(|_| Warp::new()).collect();
        self.registers = (0..warps)
            .map(|warp| preset_registers(launch, warp))
            .collect();
        let words = launch.local_words();
        self.locals = (0..warps).map(|_| vec![Line::splat(0); words]).collect();
        self.shared = vec![0; launch.shared_window() as usize];
        self.hints = vec![0; code.sites as usize];
        self.windows = Windows::default();
        self.pace = Pace::default();
    }

    /// Looks for mistakes in the blocks of `launch`.
    pub(crate) fn check(&mut self, launch: &Launch) {
        let bytes = launch.shared_bytes as usize;
        self.check = Some(Box::new(BlockCheck::new(launch.threads, bytes)));
    }

    /// Begins block `index` of `launch`, forgetting whatever ran here.
    pub fn start(&mut self, launch: &Launch, index: u64) {
        if self.launch_id != launch.id {
            self.reshape(launch);
        }
        self.index = index;
        if let Some(check) = &mut self.check {
            check.start(index);
        }
        self.barriers.reset();
        // What other blocks reached went with the cluster.
        self.shared.resize(launch.shared_window() as usize, 0);
        self.shared.fill(0);
        let code = &launch.kernel.code;
        let coordinates = launch.block_coordinates(index);
        self.seat = launch.seat(coordinates);
        for (number, warp) in self.warps.iter_mut().enumerate() {
            let threads = launch.threads - number as u32 * LANES as u32;
            warp.restart(if threads >= LANES as u32 {
                FULL
            } else {
                FULL >> (LANES as u32 - threads)
            });
        }
        for registers in &mut self.registers {
            for &(preset, slot) in &code.preset {
                if let Some(value) = of_block(launch, coordinates, preset) {
                    registers.narrow[usize::from(slot)] = Line::splat(value);
                }
            }
            registers.zero(&code.zeroed);
            if let Some(stack) = &code.stack {
                registers.narrow[usize::from(stack.pointer)] = Line::splat(stack.bottom);
            }
        }
        for local in &mut self.locals {
            local.truncate(launch.local_words());
            local.fill(Line::splat(0));
        }
    }

    /// Asks the host's caches for warp `warp` before it is advanced.
    #[inline]
    pub fn warm(&self, warp: u32) {
        let at = warp as usize;
        if let (Some(warp), Some(registers)) = (self.warps.get(at), self.registers.get(at)) {
            warm(warp);
            warm(registers);
        }
    }

    /// Whether `phase` of a barrier object is over.
    pub fn is_over(&self, phase: BarrierPhase, memory: &mut DeviceMemory) -> bool {
        let Some(seat) = self.seat else {
            return phase.is_over(&self.shared);
        };
        let shared = (memory.clusters).shared_of(seat, phase.rank.unwrap_or(seat.rank));
        shared.is_none_or(|shared| phase.is_over(shared))
    }

    /// Index of the block that runs here.
    pub fn index(&self) -> u64 {
        self.index
    }

    /// What the block printed and was not taken yet.
    pub fn output(&mut self) -> &mut Output {
        &mut self.output
    }

    /// Whether every thread has ended.
    pub fn is_finished(&self) -> bool {
        self.warps
            .iter()
            .all(|warp| warp.state == WarpState::Exited)
    }

    /// Runs warp `warp` until time must decide something, and says in `step` what that is. It stops soon after
    /// `budget` PTX instructions in any case. A warp that waits at a barrier or has ended does nothing.
    ///
    /// # Errors
    /// What a thread did wrong. The block cannot go on after that.
    pub fn advance(
        &mut self,
        launch: &Launch,
        warp: u32,
        memory: &mut DeviceMemory,
        costs: &InstructionCosts,
        budget: u32,
        step: &mut Step,
    ) -> Result<(), Box<Trap>> {
        step.totals = StepTotals::default();
        step.released_warps = 0;
        step.opens_cluster_barrier = false;
        self.leave_cluster_barrier(warp, memory);
        let Some(state) = self.warps.get(warp as usize).map(|warp| warp.state) else {
            let fault = Fault::of_warp(TrapKind::Misuse {
                reason: "the block has no such warp",
            });
            return Err(self.trap(launch, 0, *fault));
        };
        match state {
            WarpState::Exited => step.end = StepEnd::Exit,
            WarpState::AtBarrier(id) => {
                step.end = StepEnd::Barrier {
                    id: id.into(),
                    released: false,
                }
            }
            WarpState::AtClusterBarrier => {
                step.end = StepEnd::ClusterBarrier {
                    arrives: false,
                    goes_on: false,
                }
            }
            WarpState::Running | WarpState::MemoryDue => {
                let Step { totals, access, .. } = step;
                let mode = Mode {
                    costs: Some(costs),
                    allowed: budget.into(),
                    access: Some(access),
                };
                let (end, released) = self.go(launch, warp, memory, mode, totals)?;
                (step.end, step.released_warps) = (end, released);
                step.opens_cluster_barrier = std::mem::take(&mut self.opens_cluster_barrier);
                self.pace.note(step.totals.instructions);
            }
        }
        Ok(())
    }

    /// Runs every warp without stopping for time until it ends, waits, or has had its turn.
    pub(crate) fn run_round(
        &mut self,
        launch: &Launch,
        memory: &mut DeviceMemory,
        totals: &mut StepTotals,
    ) -> Result<(), Box<Trap>> {
        for warp in 0..self.warps.len() as u32 {
            self.leave_cluster_barrier(warp, memory);
            let end = self.warps[warp as usize].executed + TURN_INSTRUCTIONS;
            // A warp that waits for another one lets it run.
            while self.warps[warp as usize].is_running(end) {
                let mode = Mode {
                    costs: None,
                    allowed: u64::MAX,
                    access: None,
                };
                self.go(launch, warp, memory, mode, totals)?;
                if self.warps[warp as usize].watch.waits {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Whether each warp that has not ended waits for something, as far as is seen.
    pub(crate) fn waits(&self) -> bool {
        let mut warps = self.warps.iter();
        warps.all(|warp| warp.state != WarpState::Running || warp.watch.waits)
    }

    /// One advance, with the shared memory that other blocks of the cluster may have changed: how it ended, and the other
    /// warps of the block that it released.
    fn go(
        &mut self,
        launch: &Launch,
        number: u32,
        memory: &mut DeviceMemory,
        mode: Mode<'_>,
        totals: &mut StepTotals,
    ) -> Result<(StepEnd, u64), Box<Trap>> {
        let Some(seat) = self.seat else {
            return self.go_alone(launch, number, memory, mode, totals);
        };
        memory.clusters.enter(seat, &mut self.shared);
        let end = self.go_alone(launch, number, memory, mode, totals);
        memory.clusters.leave(seat, &mut self.shared);
        end
    }

    fn go_alone(
        &mut self,
        launch: &Launch,
        number: u32,
        memory: &mut DeviceMemory,
        mode: Mode<'_>,
        totals: &mut StepTotals,
    ) -> Result<(StepEnd, u64), Box<Trap>> {
        let code = &*launch.kernel.code;
        let stepped = mode.access.is_some();
        let costs = mode.costs.map_or(&[][..], |costs| &costs.prefix);
        let routine = self.routine(launch, (mode.costs, memory.part.is_some()));
        let at = number as usize;
        let warp = &mut self.warps[at];
        let left = launch.instruction_limit.saturating_sub(warp.executed);
        let allowed = mode.allowed.min(left).min(warp.until_pause());
        if let Some(check) = &mut self.check {
            check.run(number);
        }
        let local_limit = launch.local_limit();
        let global_warp =
            u64::from(self.place) * u64::from(launch.warps_per_block()) + u64::from(number);
        let native = routine.map(|routine| {
            let of = (code, &*memory, &mut self.shared[..]);
            native((routine, costs), &mut self.windows, of)
        });
        let mut machine = Machine {
            code,
            stream: if stepped {
                &code.stepped
            } else {
                &code.functional
            },
            costs,
            constants: &launch.constants,
            registers: &mut self.registers[at],
            warp,
            stores: Stores {
                memory,
                shared: &mut self.shared,
                local: &mut self.locals[at],
                local_limit,
                stack_margin: code.stack.map_or(0, |stack| stack.margin),
                params: &launch.args,
                hints: &mut self.hints,
                local_base: window::LOCAL_BACKING
                    + global_warp * LANES as u64 * u64::from(local_limit),
                check: self.check.as_deref_mut(),
                timed: stepped,
                first_thread: self.index * u64::from(launch.threads)
                    + u64::from(number) * LANES as u64,
                shared_replays: 0,
                seat: self.seat,
                remote_accesses: 0,
            },
            output: &mut self.output,
            access: mode.access.unwrap_or(&mut self.scratch),
            allowed,
            stepped,
            native,
        };
        let stop = run(&mut machine, totals).map_err(|fault| self.trap(launch, number, *fault))?;
        if self.output.has_strays() {
            strays::name(&mut self.output, launch, self.index, memory);
        }
        memory.name_beyond(&launch.kernel.name, &mut self.output);
        self.stopped(launch, number, memory, costs, totals, stop)
    }

    /// The machine code that an advance enters, if it may.
    fn routine<'a>(
        &self,
        launch: &'a Launch,
        (costs, is_part): (Option<&InstructionCosts>, bool),
    ) -> Option<&'a Routine> {
        let (code, compiled) = (&*launch.kernel.code, &launch.kernel.compiled);
        let untimed = Purpose::without_time(self.check.is_some(), is_part);
        let purpose = match (launch.executor, costs) {
            (Executor::Interpreter, _) => None,
            (Executor::Compiled, None) => Some(untimed),
            (Executor::Compiled, Some(costs)) => {
                let is_whole = costs.prefix.len() == launch.kernel.instructions.len() + 1;
                let is_compiled = compiled.is_compiled(Purpose::Timed);
                let pays = || self.pace.pays(code.stepped.insts.len(), is_compiled);
                (is_whole && (launch.is_chosen || pays()) && self.check.is_none())
                    .then_some(Purpose::Timed)
            }
        };
        compiled.routine(code, purpose?).ok()
    }

    /// What follows when an advance of warp `number` has stopped.
    fn stopped(
        &mut self,
        launch: &Launch,
        number: u32,
        memory: &mut DeviceMemory,
        costs: &[Prefix],
        totals: &mut StepTotals,
        stop: Stop,
    ) -> Result<(StepEnd, u64), Box<Trap>> {
        let at = number as usize;
        match stop {
            Stop::Memory => Ok((StepEnd::Memory, 0)),
            Stop::Wait(slots) => Ok((StepEnd::Wait { slots }, 0)),
            Stop::Arrival(slots) => Ok((StepEnd::of_arrival(slots, self.warps[at].arrival), 0)),
            Stop::Suspend => Ok((StepEnd::Suspended(self.warps[at].arrival), 0)),
            Stop::Budget => {
                self.pause(launch, number, memory)
                    .map_err(|fault| self.trap(launch, number, *fault))?;
                self.take_turns(launch, number, memory, costs, totals)
            }
            Stop::Yield => {
                self.warps[at].park(None);
                self.take_turns(launch, number, memory, costs, totals)
            }
            Stop::Meet { index, mask } => {
                self.wait_for_lanes(launch, number, index, mask);
                self.take_turns(launch, number, memory, costs, totals)
            }
            Stop::Exit if self.warps[at].is_split() => {
                self.take_turns(launch, number, memory, costs, totals)
            }
            Stop::Exit => {
                memory.note_write();
                self.warps[at].state = WarpState::Exited;
                self.end_in_cluster(number, memory);
                let released = self.barriers.leave(&mut self.warps, &mut self.registers);
                let released = released.map_err(|fault| self.trap(launch, number, *fault))?;
                self.note_barrier(None, released);
                Ok((StepEnd::Exit, released))
            }
            Stop::Barrier { index, mask } => {
                self.warps[at].accesses += 1;
                if self.warps[at].leaves_others(mask, &launch.kernel.code) {
                    self.warps[at].wait_at_barrier(index, mask);
                    return self.take_turns(launch, number, memory, costs, totals);
                }
                self.arrive(launch, number, index, mask, memory)
            }
        }
    }

    pub(crate) fn arrive(
        &mut self,
        launch: &Launch,
        number: u32,
        index: u32,
        mask: u32,
        memory: &mut DeviceMemory,
    ) -> Result<(StepEnd, u64), Box<Trap>> {
        let inst = &launch.kernel.code.barriers[index as usize];
        if inst.is_of_cluster() {
            return self.meet_cluster(launch, number, inst.waits, mask, memory);
        }
        let (warps, registers) = (&mut self.warps, &mut self.registers);
        let arrived = self
            .barriers
            .arrive(inst, number, mask, warps, registers, &launch.constants);
        match arrived {
            Ok(Arrival {
                id,
                released,
                others,
            }) => {
                if let Some(check) = self.check.as_mut().filter(|_| inst.orders()) {
                    check.arrive(number, id);
                    let own = u64::from(released && inst.waits) << number;
                    self.note_barrier(Some(id), others | own);
                }
                Ok((StepEnd::Barrier { id, released }, others))
            }
            Err(fault) => Err(self.trap_at_barrier(launch, number, *fault)),
        }
    }

    #[cold]
    fn trap_at_barrier(&mut self, launch: &Launch, number: u32, fault: Fault) -> Box<Trap> {
        // The path is already past the barrier; the message shall point at it.
        let path = &mut self.warps[number as usize].path;
        path.pc = path.pc.saturating_sub(1);
        self.trap(launch, number, fault)
    }

    /// Warp `number` arrives at the barrier of its cluster, or leaves it.
    fn meet_cluster(
        &mut self,
        launch: &Launch,
        number: u32,
        waits: bool,
        mask: u32,
        memory: &mut DeviceMemory,
    ) -> Result<(StepEnd, u64), Box<Trap>> {
        let warp = &mut self.warps[number as usize];
        let Some(seat) = self.seat else {
            return Ok((StepEnd::Budget, 0));
        };
        let mut fault = (mask != warp.alive).then_some(TrapKind::DivergedBarrier {
            arrived: mask,
            expected: warp.alive,
        });
        let reason = match (waits, warp.cluster_phase.is_some()) {
            (true, false) => Some("a thread waits that has not arrived"),
            (false, true) => Some("a thread arrives twice and has not waited between"),
            _ => None,
        };
        fault = fault.or(reason.map(|reason| TrapKind::BadClusterBarrier { reason }));
        if let Some(kind) = fault {
            return Err(self.trap_at_barrier(launch, number, *Fault::of_warp(kind)));
        }
        let phase = memory.clusters.phase(seat);
        memory.activity().quiet = 0;
        let goes_on = if waits {
            let is_over = warp.cluster_phase.is_some_and(|arrived| arrived < phase);
            match is_over {
                true => warp.cluster_phase = None,
                false => warp.state = WarpState::AtClusterBarrier,
            }
            is_over
        } else {
            warp.cluster_phase = Some(phase);
            self.opens_cluster_barrier |= memory.clusters.arrive(seat);
            true
        };
        let arrives = !waits;
        Ok((StepEnd::ClusterBarrier { arrives, goes_on }, 0))
    }

    /// Lets warp `number` go on if it waits at the barrier of its cluster and the others have come.
    fn leave_cluster_barrier(&mut self, number: u32, memory: &mut DeviceMemory) {
        let (Some(seat), Some(warp)) = (self.seat, self.warps.get_mut(number as usize)) else {
            return;
        };
        if warp.state == WarpState::AtClusterBarrier
            && warp.cluster_phase < Some(memory.clusters.phase(seat))
        {
            warp.state = WarpState::Running;
            warp.cluster_phase = None;
        }
    }

    /// The cluster does not wait for warp `number` any more: it has ended.
    fn end_in_cluster(&mut self, number: u32, memory: &mut DeviceMemory) {
        if let Some(seat) = self.seat {
            let arrived = self.warps[number as usize].cluster_phase;
            self.opens_cluster_barrier |= memory.clusters.end(seat, arrived);
        }
    }

    /// Why blocks that wait for each other cannot go on, as seen by the first warp that waits.
    #[cold]
    pub(crate) fn stuck_in_cluster(
        &self,
        launch: &Launch,
        memory: &mut DeviceMemory,
    ) -> Option<Box<Trap>> {
        let waits = |warp: &Warp| warp.state == WarpState::AtClusterBarrier;
        let number = self.warps.iter().position(waits)?;
        let (arrived, warps) = memory.clusters.arrivals(self.seat?);
        let fault = Fault::of_warp(TrapKind::ClusterDeadlock { arrived, warps });
        Some(self.trap(launch, number as u32, *fault))
    }

    /// The warps of `released` leave barrier `id`, for those who look for mistakes.
    fn note_barrier(&mut self, id: Option<u32>, released: u64) {
        let Some(check) = &mut self.check else {
            return;
        };
        if released == 0 {
            return;
        }
        let is_alive = |(_, warp): &(usize, &Warp)| warp.state != WarpState::Exited;
        let alive = self.warps.iter().enumerate().filter(is_alive);
        let alive = alive.fold(0, |alive, (number, _)| alive | 1 << number);
        check.leave(id, released, alive);
    }

    #[cold]
    pub(crate) fn trap(&self, launch: &Launch, number: u32, fault: Fault) -> Box<Trap> {
        let kernel = &launch.kernel;
        let code = &kernel.code;
        let warp = self.warps.get(number as usize);
        let stepped = warp.is_some_and(|warp| warp.stepped);
        let stream = if stepped {
            &code.stepped
        } else {
            &code.functional
        };
        let pc = warp.map_or(0, |warp| warp.path.pc as usize);
        let info = stream.info.get(pc).or(stream.info.last());
        let info = info.and_then(|&info| kernel.instructions.get(info as usize));
        let number_of = stream.info.get(pc).or(stream.info.last()).copied();
        let owned = |(path, line): (&str, u32)| (path.to_owned(), line);
        let source = number_of.and_then(|at| kernel.source_of(at)).map(owned);
        let users_line = number_of.and_then(|at| kernel.users_line(at)).map(owned);
        Box::new(Trap {
            kernel: kernel.name.clone(),
            source_name: kernel.source_name.to_string(),
            line: info.map_or(0, |info| info.line),
            source,
            users_line,
            block: launch.block_coordinates(self.index),
            thread: fault
                .lane
                .map(|lane| launch.thread_coordinates(number * LANES as u32 + lane)),
            kind: fault.kind,
        })
    }
}

/// How an advance runs: with `access`, stopping where time must decide.
struct Mode<'a> {
    costs: Option<&'a InstructionCosts>,
    allowed: u64,
    access: Option<&'a mut MemoryAccess>,
}
