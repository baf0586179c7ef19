//! The step loop: one warp from where it is to the next thing that time must decide.
//!
//! Lane operations run in a tight loop of their own; everything else goes through [`Engine::control`].

use super::access::Stores;
use super::machine_code::{describe, learn};
use super::service::{self, Output};
use super::step::{MemoryAccess, StepTotals};
use super::warp::{Warp, WarpState};
use super::warp_wide::Exchanged;
use super::{call, due::Due, matrix, meter::Meter, pattern::Pattern, warp_wide};
use crate::check::Verdicts;
use crate::exec::trap::{Fault, TrapKind};
use pagemill_ptx_ir::code::{Code, MemoryInst, Service, Stream, WarpWideInst};
use pagemill_ptx_ir::line::{ConstantLines, Frame, LANE_BITS, LANES, Registers, lanes_of};
use pagemill_ptx_ir::op::{Inst, Op, lane_operation};
use pagemill_ptx_ir::{ast::Space, info::Prefix};
use pagemill_ptx_ir::{code::path::Path, functions::scalar};
use pagemill_ptx_native::{End, Native, Standing, Stay};

/// Why the loop was left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Stop {
    Memory,
    Wait(u64),
    /// The lanes of `mask` are past instruction `index` of the barrier table, whose effect is the block's business.
    Barrier {
        index: u32,
        mask: u32,
    },
    Exit,
    Budget,
    /// The lanes of a split warp have come to a meeting point, and let others take their turn.
    Yield,
    /// Copies count at a barrier object when the loads of these slots are there, or without slots, a lane has seen that the
    /// phase is over: the warp's `arrival`.
    Arrival(u64),
    /// All lanes have seen that the phase is not over: the warp's `arrival`.
    Suspend,
    /// The lanes of `mask` stand before entry `index` of the warp-operation table, which names lanes that are elsewhere.
    Meet {
        index: u32,
        mask: u32,
    },
}

/// Everything one advance works with.
pub(crate) struct Machine<'a> {
    pub code: &'a Code,
    pub stream: &'a Stream,
    /// Costs summed up to each PTX instruction; empty in runs without timing.
    pub costs: &'a [Prefix],
    pub constants: &'a ConstantLines,
    pub registers: &'a mut Registers,
    pub warp: &'a mut Warp,
    pub stores: Stores<'a>,
    pub output: &'a mut Output,
    pub access: &'a mut MemoryAccess,
    /// PTX instructions this advance may execute before it stops at the next branch.
    pub allowed: u64,
    /// Whether to stop at memory accesses.
    pub stepped: bool,
    /// Machine code for what needs no decisions, if it is to be used.
    pub native: Option<Native<'a>>,
}

#[inline(always)]
pub(super) fn run_loop(
    machine: &mut Machine<'_>,
    totals: &mut StepTotals,
) -> Result<Stop, Box<Fault>> {
    let mut frame = Frame::new(machine.registers, machine.constants);
    let warp = &mut *machine.warp;
    let resuming = warp.state == WarpState::MemoryDue;
    warp.state = WarpState::Running;
    warp.stepped = machine.stepped;
    let already = totals.instructions;
    let mut engine = Engine {
        code: machine.code,
        stream: machine.stream,
        pc: warp.path.pc,
        allowed: already.saturating_add(machine.allowed),
        already,
        meter: Meter {
            before: &machine.stream.before,
            costs: machine.costs,
            start: warp.path.pc,
            totals,
        },
        warp,
        stores: &mut machine.stores,
        output: machine.output,
        access: machine.access,
        stepped: machine.stepped,
        native: machine.native.as_mut(),
    };
    let resumed = match resuming {
        true => engine.resume(&mut frame),
        false => Ok(None),
    };
    let stop = match resumed {
        Ok(None) => engine.go(&mut frame),
        Ok(Some(stop)) => Ok(stop),
        Err(fault) => Err(fault),
    };
    if stop.is_err() {
        // Idle lanes of the open stretch are already taken off: count it, the faulting instruction included.
        let end = (engine.pc + 1).max(engine.meter.start);
        engine.meter.close(end, engine.warp.path.mask);
    }
    engine.warp.path.pc = engine.pc;
    let executed = engine.meter.totals.instructions.wrapping_sub(already);
    engine.warp.executed = engine.warp.executed.wrapping_add(executed);
    engine.meter.totals.shared_replays += std::mem::take(&mut engine.stores.shared_replays);
    let remote = std::mem::take(&mut engine.stores.remote_accesses);
    engine.meter.totals.remote_shared_accesses += remote;
    stop
}

/// Where control goes after an instruction that is no lane operation.
enum Flow {
    /// To the next one.
    Next,
    /// To wherever the position now points.
    Jump,
    /// Out of the loop.
    Stop(Stop),
}

/// One advance in progress. Everything here is inlined into one function per instruction set.
struct Engine<'a, 'm> {
    code: &'a Code,
    stream: &'a Stream,
    pc: u32,
    warp: &'a mut Warp,
    stores: &'a mut Stores<'m>,
    output: &'a mut Output,
    access: &'a mut MemoryAccess,
    meter: Meter<'a>,
    /// Instructions in the totals at which to stop.
    allowed: u64,
    /// Instructions in the totals before this advance.
    already: u64,
    stepped: bool,
    native: Option<&'a mut Native<'m>>,
}

impl Engine<'_, '_> {
    /// Performs the access that was announced; where machine code went on from there until it stopped for good, says why.
    #[inline(always)]
    fn resume(&mut self, frame: &mut Frame<'_>) -> Result<Option<Stop>, Box<Fault>> {
        if let Some(stop) = self.resume_native(frame) {
            return Ok(stop);
        }
        let inst = &self.stream.insts[self.pc as usize];
        let (mask, _) = guarded(inst, frame, self.warp.path.mask);
        // The access itself was counted when it was announced.
        self.meter.start = self.pc + 1;
        if inst.op == Op::Texture {
            let texture = &self.code.textures[inst.aux as usize];
            self.stores.perform_texture(frame, texture, mask)?;
        } else {
            let memory = &self.code.memory[inst.aux as usize];
            self.stores
                .perform_due(frame, memory, mask, (self.warp.due, &self.warp.offsets))?;
        }
        self.note_access(inst.op);
        self.pc += 1;
        Ok(None)
    }

    #[inline(always)]
    fn go(&mut self, frame: &mut Frame<'_>) -> Result<Stop, Box<Fault>> {
        let insts: &[Inst] = &self.stream.insts;
        'stretches: loop {
            if let Some(stop) = self.run_native(frame) {
                return Ok(stop);
            }
            let active = self.warp.path.mask;
            let mut pc = self.pc as usize;
            let mut idle = 0u64;
            let entries = match &self.native {
                Some(native) => native.routine.entries(active),
                None => &[],
            };
            // Lane operations need nothing but the registers: a tight loop up to the next other instruction, or machine code.
            let (inst, mask) = loop {
                let inst = &insts[pc];
                let (mask, inactive) = guarded(inst, frame, active);
                idle += u64::from(inactive.count_ones());
                if !inst.op.is_lane_operation() && mask != 0 {
                    break (inst, mask);
                }
                if mask != 0 {
                    lane_operation(inst, frame, mask);
                }
                pc += 1;
                if entries.get(pc).is_some_and(|&entry| entry != 0) {
                    self.pc = pc as u32;
                    let threads = &mut self.meter.totals.thread_instructions;
                    *threads = threads.wrapping_sub(idle);
                    continue 'stretches;
                }
            };
            self.pc = pc as u32;
            let threads = &mut self.meter.totals.thread_instructions;
            *threads = threads.wrapping_sub(idle);
            match self.control(inst, frame, mask)? {
                Flow::Next => self.pc += 1,
                Flow::Jump => {}
                Flow::Stop(stop) => return Ok(stop),
            }
        }
    }

    /// Runs machine code from here on, if there is any, up to what it leaves to the interpreter.
    fn run_native(&mut self, frame: &mut Frame<'_>) -> Option<Stop> {
        let native = self.native.as_mut()?;
        let mask = self.warp.path.mask;
        let open = self.meter.open(self.pc);
        let done = self.meter.totals.instructions.wrapping_add(open);
        let remaining = self.allowed.saturating_sub(done);
        let standing = Standing {
            path: Path {
                pc: self.pc,
                ..self.warp.path
            },
            is_split: self.warp.is_split(),
            alive: &mut self.warp.alive,
            stack: &mut self.warp.stack,
            pending: &mut self.warp.pending,
        };
        let local = self.stores.local.as_mut_slice();
        let stay = native.run(frame, standing, local, &self.stream.before, remaining)?;
        self.meter.close(self.pc, mask);
        self.stayed(&stay)
    }

    /// Lets machine code perform the access that is due, and go on from there; `None` if it cannot.
    fn resume_native(&mut self, frame: &mut Frame<'_>) -> Option<Option<Stop>> {
        let native = self.native.as_mut()?;
        let Due::Whole {
            at,
            pattern,
            generation,
        } = self.warp.due
        else {
            return None;
        };
        if generation != self.stores.memory.generation() {
            return None;
        }
        let base = self.stores.memory.allocations()[at as usize].address();
        let place = match pattern {
            Pattern::Block { start } => (base.wrapping_add(start as u64), true),
            Pattern::Broadcast { at } => (base.wrapping_add(at as u64), false),
            Pattern::Scattered => return None,
        };
        let standing = Standing {
            path: self.warp.path,
            is_split: self.warp.is_split(),
            alive: &mut self.warp.alive,
            stack: &mut self.warp.stack,
            pending: &mut self.warp.pending,
        };
        let local = self.stores.local.as_mut_slice();
        let remaining = self.allowed.saturating_sub(self.meter.totals.instructions);
        let before = &self.stream.before;
        let stay = native.run_due(place, frame, standing, local, before, remaining)?;
        Some(self.stayed(&stay))
    }

    /// Takes over from a stay in machine code; where it stopped for good, says why.
    fn stayed(&mut self, stay: &Stay) -> Option<Stop> {
        self.meter.add(stay);
        self.warp.accesses += stay.accesses;
        self.stores.memory.note_writes(stay.writes);
        self.warp.path = stay.path;
        self.pc = stay.path.pc;
        match stay.end {
            End::Handover => None,
            End::Pause => Some(Stop::Budget),
            End::Exit => Some(Stop::Exit),
            End::Wait(slots) => Some(Stop::Wait(slots)),
            End::Memory => self.announced(),
            End::Barrier => Some(Stop::Barrier {
                index: self.stream.insts[self.pc as usize - 1].aux,
                mask: stay.path.mask,
            }),
        }
    }

    /// Machine code has announced the access at hand.
    fn announced(&mut self) -> Option<Stop> {
        let inst = &self.stream.insts[self.pc as usize];
        let memory = &self.code.memory[inst.aux as usize];
        let native = self.native.as_ref()?;
        self.warp.due = describe(native, memory, self.stores.memory, self.access);
        self.announce(memory);
        Some(Stop::Memory)
    }

    /// The warp stops before an access that is described.
    #[inline(always)]
    fn announce(&mut self, memory: &MemoryInst) {
        self.access.instruction = self.stream.info[self.pc as usize];
        self.warp.pending |= memory.slot.map_or(0, |slot| 1 << slot);
        self.warp.state = WarpState::MemoryDue;
    }

    #[inline(always)]
    fn control(
        &mut self,
        inst: &Inst,
        frame: &mut Frame<'_>,
        mask: u32,
    ) -> Result<Flow, Box<Fault>> {
        match inst.op {
            Op::Branch => return Ok(self.branch(inst, mask)),
            Op::BranchTable => {
                self.meter.close(self.pc + 1, self.warp.path.mask);
                let targets = &self.stream.tables[inst.aux as usize];
                branch_table(
                    self.warp,
                    inst,
                    frame.narrow(inst.a),
                    mask,
                    self.pc + 1,
                    targets,
                )?;
                return Ok(self.land(self.warp.path.pc));
            }
            Op::Reconverge if self.warp.path.reconverge == self.pc => {
                self.meter.close(self.pc, self.warp.path.mask);
                return Ok(self.next_path());
            }
            Op::Exit => return Ok(self.exit(inst, mask)),
            Op::Call => return self.call(inst, frame, mask),
            Op::Return => return Ok(self.leave(frame, mask)),
            Op::Restore => {
                if let Some(stack) = &self.code.stack {
                    let call = &self.code.calls[inst.aux as usize];
                    call::restore((call, stack), frame, self.stores, mask);
                }
            }
            Op::Wait => return Ok(self.wait(inst)),
            Op::Arrival => return self.arrival(inst, frame, mask),
            Op::Load | Op::Store | Op::Atomic => return self.access(inst, frame, mask),
            Op::Texture => return self.texture(inst, frame, mask),
            Op::Barrier => {
                self.pc += 1;
                self.meter.close(self.pc, self.warp.path.mask);
                return Ok(Flow::Stop(Stop::Barrier {
                    index: inst.aux,
                    mask,
                }));
            }
            Op::WarpWide => return self.warp_wide(inst, frame, mask),
            Op::Matrix => {
                let inst = &self.code.matrices[inst.aux as usize];
                let instruction = self.stream.info[self.pc as usize];
                matrix::execute(inst, frame, self.stores, mask, instruction)?;
            }
            Op::Scalar => scalar::execute(frame, &self.code.scalars[inst.aux as usize], inst, mask),
            Op::CheckDivisor => check_divisor(frame, inst, mask)?,
            Op::PredicateLogic => predicate_logic(frame, inst, mask),
            Op::Service => {
                let service = &self.code.services[inst.aux as usize];
                let clock = self.clock(service);
                service::execute(service, frame, self.stores, self.output, clock, mask)?;
            }
            Op::Fence => {
                let instruction = self.stream.info[self.pc as usize];
                self.stores.fence(mask, instruction);
            }
            // Reconvergence of another path, and what only counts.
            _ => {}
        }
        Ok(Flow::Next)
    }

    #[inline(always)]
    fn warp_wide(
        &mut self,
        inst: &Inst,
        frame: &mut Frame<'_>,
        mask: u32,
    ) -> Result<Flow, Box<Fault>> {
        let wide = &self.code.warp_wide[inst.aux as usize];
        // Before the exchange, which may overwrite the register of the mask.
        let members = match self.stores.check {
            Some(_) => self.checked_members(wide, frame, mask),
            None => None,
        };
        match warp_wide::execute(frame, wide, mask, self.warp.alive) {
            Exchanged::Done => {
                if let (Some(check), Some(members)) = (self.stores.check.as_deref_mut(), &members) {
                    check.sync_members(members, mask);
                }
                Ok(Flow::Next)
            }
            Exchanged::Stray => {
                self.output.note_stray(self.stream.info[self.pc as usize]);
                Ok(Flow::Next)
            }
            Exchanged::Elsewhere => {
                if inst.guard & Inst::CONTINUES == 0 {
                    // The lanes that are not guarded in are taken off again when the instruction counts.
                    let idle = self.warp.path.mask & !mask;
                    let threads = &mut self.meter.totals.thread_instructions;
                    *threads = threads.wrapping_add(idle.count_ones().into());
                }
                self.meter.close(self.pc, self.warp.path.mask);
                Ok(Flow::Stop(Stop::Meet {
                    index: inst.aux,
                    mask,
                }))
            }
        }
    }

    /// The member masks of an exchange's lanes. One that names lanes which have ended is a mistake, even if the others get on.
    #[cold]
    fn checked_members(
        &mut self,
        wide: &WarpWideInst,
        frame: &Frame<'_>,
        mask: u32,
    ) -> Option<[u32; LANES]> {
        let check = self.stores.check.as_deref()?;
        let checker = self.stores.memory.checker.as_mut()?;
        let members = warp_wide::members(frame, wide, mask);
        let gone = check.lanes() & !self.warp.alive;
        let ended = lanes_of(mask).fold(0, |all, lane| all | members[lane] & gone);
        if ended != 0 {
            let instruction = self.stream.info[self.pc as usize];
            checker.note_ended(check.index, instruction, ended);
        }
        wide.members.is_some().then_some(members)
    }

    /// Records what distinguishes a warp that waits from one that works.
    #[inline(always)]
    fn note_access(&mut self, op: Op) {
        self.warp.accesses += 1;
        if matches!(op, Op::Store | Op::Texture) {
            self.stores.memory.note_write();
        }
    }

    /// What the clock registers show: the PTX instructions that this warp has executed, and the cycles that it has skipped while it
    /// only asked for the time, again and again. No other service needs it.
    fn clock(&mut self, service: &Service) -> u64 {
        if !matches!(service, Service::Clock { .. }) {
            return 0;
        }
        let closed = self.meter.totals.instructions.wrapping_sub(self.already);
        let executed = self.warp.executed.wrapping_add(closed);
        let now = executed.wrapping_add(self.meter.open(self.pc)) + self.warp.skipped_cycles;
        let place = (self.pc, self.warp.path.mask, self.warp.accesses);
        let skip = self.warp.poll.skip(place, now);
        self.warp.skipped_cycles += skip;
        self.meter.totals.latency_cycles += skip;
        now + skip
    }

    /// Goes on at `pc`, unless enough was executed.
    #[inline(always)]
    fn land(&mut self, pc: u32) -> Flow {
        self.pc = pc;
        self.meter.start = pc;
        if self.meter.totals.instructions >= self.allowed {
            Flow::Stop(Stop::Budget)
        } else {
            Flow::Jump
        }
    }

    #[inline(always)]
    fn branch(&mut self, inst: &Inst, mask: u32) -> Flow {
        self.meter.close(self.pc + 1, self.warp.path.mask);
        if mask == self.warp.path.mask {
            return self.land(inst.aux);
        }
        self.warp
            .diverge(inst.aux, mask, self.pc + 1, inst.reconverge);
        self.land(self.warp.path.pc)
    }

    /// The current path has ended: the one below goes on, perhaps right here and with all lanes.
    #[inline(always)]
    fn next_path(&mut self) -> Flow {
        if !self.warp.pop() {
            return Flow::Stop(Stop::Exit);
        }
        self.pc = self.warp.path.pc;
        self.meter.start = self.pc;
        match self.warp.is_split() {
            true => Flow::Stop(Stop::Yield),
            false => Flow::Jump,
        }
    }

    #[inline(always)]
    fn exit(&mut self, inst: &Inst, mask: u32) -> Flow {
        self.meter.close(self.pc + 1, self.warp.path.mask);
        if inst.aux != 0 {
            self.meter
                .count_exit(inst.aux as usize, mask, self.warp.path.mask);
        }
        self.warp.alive &= !mask;
        self.warp.path.mask &= !mask;
        if self.warp.path.mask == 0 {
            self.next_path()
        } else {
            Flow::Next
        }
    }

    #[inline(never)]
    fn call(&mut self, inst: &Inst, frame: &mut Frame<'_>, mask: u32) -> Result<Flow, Box<Fault>> {
        let Some(stack) = &self.code.stack else {
            return Ok(Flow::Next);
        };
        let call = &self.code.calls[inst.aux as usize];
        let entries = &self.stream.entries;
        let state = (&mut *self.warp, frame, &mut *self.stores);
        call::call(self.code, entries, (call, stack), state, mask, self.pc + 1)?;
        self.meter.close(self.pc + 1, mask);
        Ok(self.land(self.warp.path.pc))
    }

    /// The lanes of `mask` return: they go on when all that called with them have returned.
    #[inline(never)]
    fn leave(&mut self, frame: &mut Frame<'_>, mask: u32) -> Flow {
        if let Some(stack) = &self.code.stack {
            call::leave(stack, frame, mask);
        }
        self.meter.close(self.pc + 1, self.warp.path.mask);
        self.warp.path.mask &= !mask;
        match self.warp.path.mask {
            0 => self.next_path(),
            _ => Flow::Next,
        }
    }

    #[inline(always)]
    fn wait(&mut self, inst: &Inst) -> Flow {
        let slots = self.stream.waits[inst.aux as usize] & self.warp.pending;
        if slots == 0 {
            return Flow::Next;
        }
        self.warp.pending &= !slots;
        self.pc += 1;
        self.meter.close(self.pc, self.warp.path.mask);
        Flow::Stop(Stop::Wait(slots))
    }

    /// Leaves what copies count at, and what is waited for, to time. Lanes that copy together wait for their bytes.
    #[inline(never)]
    fn arrival(&mut self, inst: &Inst, frame: &Frame<'_>, mask: u32) -> Result<Flow, Box<Fault>> {
        let arrival = &self.code.arrivals[inst.aux as usize];
        let slots = arrival.slots & self.warp.pending;
        let suspends = arrival.suspends && self.warp.is_together(mask);
        if !suspends && (arrival.suspends || arrival.phase.is_none() && slots == 0) {
            return Ok(Flow::Next);
        }
        let lane = mask.trailing_zeros() as usize & (LANES - 1);
        self.warp.arrival = self.stores.barrier_phase(frame, arrival, lane)?;
        // They stay pending: the same copy may count in several blocks.
        self.pc += 1;
        self.meter.close(self.pc, self.warp.path.mask);
        Ok(Flow::Stop(match arrival.phase {
            _ if suspends => Stop::Suspend,
            None if mask.count_ones() > 1 => Stop::Wait(slots),
            _ => Stop::Arrival(slots),
        }))
    }

    #[inline(always)]
    fn access(
        &mut self,
        inst: &Inst,
        frame: &mut Frame<'_>,
        mask: u32,
    ) -> Result<Flow, Box<Fault>> {
        let memory = &self.code.memory[inst.aux as usize];
        let (stores, offsets) = (&mut *self.stores, &mut self.warp.offsets);
        if self.stepped
            && let Some(due) = stores.announce(frame, memory, mask, self.access, offsets)?
        {
            // Machine code describes the next one by itself, if it lies in the same allocation.
            if matches!(due, Due::Whole { .. }) {
                self.learn(memory);
            }
            self.warp.due = due;
            self.announce(memory);
            self.meter.close(self.pc + 1, self.warp.path.mask);
            return Ok(Flow::Stop(Stop::Memory));
        }
        let is_checked = self.stores.check.is_some();
        let verdicts = match is_checked {
            true => self.look(inst, frame, mask),
            false => None,
        };
        if !is_checked && self.stores.memory.is_watched() {
            return self.watched_access(inst, frame, mask);
        }
        self.stores.perform(frame, memory, mask)?;
        self.note_access(inst.op);
        if is_checked {
            if let Some(verdicts) = verdicts {
                self.stores
                    .judge(&verdicts, self.stream.info[self.pc as usize]);
            }
            return Ok(Flow::Next);
        }
        // Of what is announced, only the bytes of announced accesses may be known.
        if !self.stepped || memory.space == Space::Const {
            self.learn(memory);
        }
        Ok(Flow::Next)
    }

    /// Lets machine code find the bytes of an access by itself from now on.
    #[inline(always)]
    fn learn(&mut self, memory: &MemoryInst) {
        if let Some(native) = &mut self.native {
            let at = self.stores.hints[memory.site as usize];
            learn(native.windows, memory, self.stores.memory, (at, None));
        }
    }

    /// An access of a run that looks for first touches. Compiled code leaves those to the interpreter.
    #[inline(never)]
    fn watched_access(
        &mut self,
        inst: &Inst,
        frame: &mut Frame<'_>,
        mask: u32,
    ) -> Result<Flow, Box<Fault>> {
        let memory = &self.code.memory[inst.aux as usize];
        let (stores, offsets) = (&mut *self.stores, &mut self.warp.offsets);
        let announced = stores.announce(frame, memory, mask, self.access, offsets)?;
        let is_new = announced.is_some() && self.note_touches();
        let first = self.access.first_address();
        self.stores.perform(frame, memory, mask)?;
        self.note_access(inst.op);
        // Where much is new, what is known around it changes too often to be worth a look.
        if !is_new && let Some(native) = &mut self.native {
            let at = self.stores.hints[memory.site as usize];
            let around = announced.is_some().then_some(first);
            learn(native.windows, memory, self.stores.memory, (at, around));
        }
        Ok(Flow::Next)
    }

    fn note_touches(&mut self) -> bool {
        self.access.instruction = self.stream.info[self.pc as usize];
        self.stores.memory.note_touches(self.access)
    }

    /// Looks at an access of a run that looks for mistakes. Compiled code leaves all of them to the interpreter. What it returns waits
    /// for the access.
    #[inline(never)]
    fn look(&mut self, inst: &Inst, frame: &Frame<'_>, mask: u32) -> Option<Box<Verdicts>> {
        let memory = &self.code.memory[inst.aux as usize];
        let instruction = self.stream.info[self.pc as usize];
        let verdicts = self.stores.check(frame, memory, mask, instruction);
        (!verdicts.is_empty()).then(|| Box::new(verdicts))
    }

    #[inline(never)]
    fn texture(
        &mut self,
        inst: &Inst,
        frame: &mut Frame<'_>,
        mask: u32,
    ) -> Result<Flow, Box<Fault>> {
        let texture = &self.code.textures[inst.aux as usize];
        if self.stepped
            && self
                .stores
                .announce_texture(frame, texture, mask, self.access)?
        {
            self.access.instruction = self.stream.info[self.pc as usize];
            self.warp.pending |= texture.slot.map_or(0, |slot| 1 << slot);
            self.warp.state = WarpState::MemoryDue;
            self.meter.close(self.pc + 1, self.warp.path.mask);
            return Ok(Flow::Stop(Stop::Memory));
        }
        if self.stores.memory.is_watched()
            && self
                .stores
                .announce_texture(frame, texture, mask, self.access)?
        {
            self.note_touches();
        }
        self.stores.perform_texture(frame, texture, mask)?;
        self.note_access(inst.op);
        Ok(Flow::Next)
    }
}

/// The lanes of `active` that execute `inst`, and those that count as idle because its guard fails.
#[inline(always)]
fn guarded(inst: &Inst, frame: &Frame<'_>, active: u32) -> (u32, u32) {
    if inst.guard == Inst::UNGUARDED {
        return (active, 0);
    }
    let holds = frame.predicate(inst.guard & !(Inst::NEGATED | Inst::CONTINUES));
    let mask = active
        & if inst.guard & Inst::NEGATED != 0 {
            !holds
        } else {
            holds
        };
    let counts = inst.guard & Inst::CONTINUES == 0;
    (mask, if counts { active & !mask } else { 0 })
}

/// Dividing integers by zero is undefined in PTX and in CUDA, so it is reported.
#[inline(never)]
fn check_divisor(frame: &Frame<'_>, inst: &Inst, mask: u32) -> Result<(), Box<Fault>> {
    let is_zero = |lane: &usize| match inst.aux {
        0 => frame.narrow(inst.a)[*lane] == 0,
        _ => frame.wide(inst.a)[*lane] == 0,
    };
    match lanes_of(mask).find(is_zero) {
        Some(lane) => Err(Fault::at_lane(lane as u32, TrapKind::DivisionByZero)),
        None => Ok(()),
    }
}

/// Truth table `aux` of two predicates: bit `a + 2 b` is the result.
#[inline(always)]
fn predicate_logic(frame: &mut Frame<'_>, inst: &Inst, mask: u32) {
    let (a, b) = (frame.predicate(inst.a), frame.predicate(inst.b));
    let term = |bit: u32, lanes: u32| if inst.aux >> bit & 1 != 0 { lanes } else { 0 };
    let bits = term(0, !a & !b) | term(1, a & !b) | term(2, !a & b) | term(3, a & b);
    frame.set_predicate(inst.dst, mask, bits);
}

/// Sends each lane of `mask` to the target its index names; lanes whose guard does not hold go on at `next`.
#[inline(never)]
fn branch_table(
    warp: &mut Warp,
    inst: &Inst,
    indices: &[u32; LANES],
    mask: u32,
    next: u32,
    targets: &[u32],
) -> Result<(), Box<Fault>> {
    let mut rest = mask;
    let others = warp.path.mask & !mask;
    let outer = warp.path.reconverge;
    if inst.reconverge != outer {
        warp.stack.push(Path {
            pc: inst.reconverge,
            mask: warp.path.mask,
            reconverge: outer,
        });
    }
    let reconverge = inst.reconverge;
    let mut paths = Vec::new();
    if others != 0 {
        paths.push(Path {
            pc: next,
            mask: others,
            reconverge,
        });
    }
    while rest != 0 {
        let lane = rest.trailing_zeros();
        let index = indices[lane as usize];
        let Some(&target) = targets.get(index as usize) else {
            let kind = TrapKind::BranchIndex {
                index,
                targets: targets.len() as u32,
            };
            return Err(Fault::at_lane(lane, kind));
        };
        let same = |&lane: &usize| targets.get(indices[lane] as usize) == Some(&target);
        let group = lanes_of(rest)
            .filter(same)
            .fold(0, |mask, lane| mask | LANE_BITS[lane]);
        rest &= !group;
        paths.push(Path {
            pc: target,
            mask: group,
            reconverge,
        });
    }
    paths.retain(|path| path.pc != reconverge);
    warp.stack.extend(paths);
    warp.pop();
    Ok(())
}
