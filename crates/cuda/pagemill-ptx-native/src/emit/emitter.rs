//! A stream of instructions to machine code, once for whole warps and once for warps some of whose lanes are elsewhere.
//!
//! The code keeps lines of the register file in vector registers within a *region*: the instructions from one place that
//! branches lead to up to the next. It can be left before any instruction it does not execute itself, with everything
//! that will be read again back in memory, and entered behind such an instruction, at the beginning of a region, and
//! behind a branch.

use crate::assembler::encode::{
    AND, Assembler, Label, Masking, OR, Operand, R8, R9, R10, R11, R12, R13, R14, R15, RAX, RBP,
    RBX, RCX, RDI, RDX, RSI, SUB, Width, Zmm, at,
};
use crate::assembler::encode::{Mask, Mem};
use crate::assembler::table::Table;
use crate::emit::cache::{Cache, Entry, Name};
use crate::emit::paths::{ACTIVE, Paths, Split, Stretch, spread_mask};
use crate::emit::vectors::*;
use crate::flow::liveness::Liveness;
use crate::flow::regions::{leaders, regions};
use crate::run::context::{Place, fields};
use crate::run::purpose::Purpose;
use pagemill_ptx_ir::ast::Space;
use pagemill_ptx_ir::code::{Bank, Code, Stream};
use pagemill_ptx_ir::float::{NAN32, NAN64};
use pagemill_ptx_ir::line::CONSTANT_BIT;
use pagemill_ptx_ir::op::{Inst, Op};

pub(crate) const K5: Mask = Mask(5);
pub(crate) const K6: Mask = Mask(6);
pub(crate) const K7: Mask = Mask(7);
pub(crate) const K0: Mask = Mask(0);

/// Positions to offsets in the code.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entries {
    /// Zero where the code cannot be entered.
    pub whole: Vec<u32>,
    pub partial: Vec<u32>,
    /// Where the access at a position, which was announced, is performed: by whole warps and by others.
    pub due: [Vec<u32>; 2],
    /// The same for compiled code.
    pub places: Vec<Place>,
    /// The first position of each position's region.
    pub region: Vec<u32>,
}

/// Machine code: first the trampoline in, and where it can be entered.
#[derive(Debug)]
pub(crate) struct Emitted {
    pub code: Vec<u8>,
    pub entries: Entries,
}

/// Code that is rarely run: it is placed behind all other code.
pub(crate) enum Stub {
    /// Back to the interpreter, before instruction `pc`.
    Exit {
        label: Label,
        flush: Vec<Entry>,
        pc: usize,
    },
    /// A taken branch, which ends a stretch.
    Edge {
        label: Label,
        flush: Vec<Entry>,
        stretch: Stretch,
        target: usize,
    },
    /// The current path ends before instruction `pc`.
    NextPath {
        label: Label,
        flush: Vec<Entry>,
        pc: usize,
    },
    /// All active lanes end with instruction `pc`.
    EndAll {
        label: Label,
        exit: Label,
        stretch: Stretch,
        pc: usize,
    },
    /// A wait, instruction `pc`, for the slots in RAX.
    Wait {
        label: Label,
        flush: Vec<Entry>,
        stretch: Stretch,
        pc: usize,
    },
    /// Only some of the active lanes branch or end.
    Split(Split),
    /// Into the middle of a region.
    Enter {
        label: Label,
        load: Vec<Entry>,
        resume: Label,
    },
    /// Memory patterns other than one block.
    Patterns(crate::emit::access::Patterns),
}

/// The compiler's state at one point of the code.
pub(crate) struct Emitter<'a> {
    pub asm: Assembler,
    pub table: Table,
    pub code: &'a Code,
    pub stream: &'a Stream,
    pub live: Liveness,
    pub cache: Cache,
    /// Whether the code at hand is that for warps some of whose lanes are elsewhere.
    pub is_partial: bool,
    /// Whether the instruction at hand is for some lanes only: their bits are in RBX and in [`ACTIVE`].
    pub is_masked: bool,
    pub pc: usize,
    pub stubs: Vec<Stub>,
    pub heads: Vec<Option<Label>>,
    /// Where announced accesses are performed.
    pub due: Vec<Option<Label>>,
    region: usize,
    pub leave: Label,
    pub paths: Paths,
    pub purpose: Purpose,
    /// More registers were needed than there are: there is no code.
    pub has_failed: bool,
}

// Every stream is emitted twice. Most warps run with all lanes: their code has no masks at all. The other variant merges every
// result under the lanes' mask. A branch that only some lanes take leads from the first to the second, and where the lanes
// meet again, back. Layout of the result:
//
//   trampoline | paths | whole warps | its stubs | partial warps | its stubs | constants
//
// A stub is what is rarely run (a way out, an edge that must store registers, a split): behind all other code, so that the usual
// way is straight and stays in the instruction cache.
/// The machine code of `stream`, or `None` if it is too large.
pub(crate) fn emit(code: &Code, stream: &Stream, purpose: Purpose) -> Option<Emitted> {
    let mut asm = Assembler::default();
    let (leave, table_label) = (asm.label(), asm.label());
    trampoline(&mut asm, leave, table_label);
    let has_costs = purpose == Purpose::Timed;
    let paths = Paths::emit(&mut asm, leave, stream.insts.len(), has_costs);
    let mut emitter = Emitter {
        asm,
        table: Table::new(),
        code,
        stream,
        live: Liveness::new(code, stream),
        cache: Cache::new(),
        is_partial: false,
        is_masked: false,
        pc: 0,
        stubs: Vec::new(),
        heads: Vec::new(),
        due: Vec::new(),
        region: 0,
        leave,
        paths,
        purpose,
        has_failed: false,
    };
    let leaders = leaders(stream);
    let mut entries = Entries {
        region: regions(&leaders),
        ..Entries::default()
    };
    let mut due = Vec::new();
    let labels = [false, true].map(|is_partial| {
        let labels = emitter.variant(&leaders, is_partial);
        due.push(std::mem::take(&mut emitter.due));
        labels
    });
    if emitter.has_failed {
        return None;
    }
    let mut asm = emitter.asm;
    asm.align();
    asm.bind(table_label);
    if !asm.link() || i32::try_from(asm.code.len()).is_err() {
        return None;
    }
    let offset = |label: Option<Label>| label.and_then(|label| asm.offset_of(label));
    let offsets = |labels: Vec<Option<Label>>| -> Vec<u32> {
        let offsets = labels.into_iter().map(offset);
        offsets.map(|offset| offset.unwrap_or(0) as u32).collect()
    };
    let [whole, partial] = labels.map(offsets);
    let mut due = due.into_iter().map(offsets);
    entries.due = [(); 2].map(|()| due.next().unwrap_or_default());
    let place = |pc: usize| Place {
        whole: whole[pc],
        partial: partial[pc],
        ahead: stream.before[pc] - stream.before[entries.region[pc] as usize],
        before: stream.before[entries.region[pc] as usize],
    };
    // The last one is for lanes that would run beyond the end: it cannot be entered.
    entries.places = (0..leaders.len()).map(place).collect();
    entries.places.push(Place::default());
    (entries.whole, entries.partial) = (whole, partial);
    let mut code = asm.code;
    code.extend_from_slice(emitter.table.bytes());
    Some(Emitted { code, entries })
}

/// The way in, called with the context and where to go, and the way out at `leave`, with the position in EAX.
fn trampoline(asm: &mut Assembler, leave: Label, table: Label) {
    const SAVED: [crate::assembler::encode::Gpr; 6] = [RBX, RBP, R12, R13, R14, R15];
    use Width::{W32, W64};
    SAVED.iter().for_each(|&reg| asm.push(reg));
    asm.mov(W64, RAX, RSI);
    for (register, field) in [
        (RSI, fields::NARROW),
        (RDX, fields::WIDE),
        (R8, fields::CONSTANTS_NARROW),
        (R9, fields::CONSTANTS_WIDE),
        (R10, fields::PREDICATES),
        (R12, fields::REMAINING),
        (R13, fields::WINDOWS),
        (R14, fields::ACCESSES),
        (R15, fields::WRITES),
    ] {
        asm.load(W64, register, at(RDI, field));
    }
    asm.lea_label(R11, table);
    asm.load(W32, RBX, at(RDI, fields::MASK));
    spread_mask(asm);
    asm.jump_to(RAX);
    asm.bind(leave);
    for (register, field) in [
        (R12, fields::REMAINING),
        (R14, fields::ACCESSES),
        (R15, fields::WRITES),
    ] {
        asm.store(W64, at(RDI, field), register);
    }
    SAVED.iter().rev().for_each(|&reg| asm.pop(reg));
    asm.leave();
}

impl Emitter<'_> {
    /// One of the two variants; where each position can be entered.
    fn variant(&mut self, leaders: &[bool], is_partial: bool) -> Vec<Option<Label>> {
        (self.is_partial, self.is_masked) = (is_partial, is_partial);
        self.heads = leaders
            .iter()
            .map(|&is_leader| is_leader.then(|| self.asm.label()))
            .collect();
        let mut entries = vec![None; leaders.len()];
        self.due = vec![None; leaders.len()];
        self.cache.clear();
        // Whether control can come here from the instruction before.
        let mut falls = false;
        for pc in 0..leaders.len() {
            self.pc = pc;
            // Regions begin with nothing in registers, so that every edge into one agrees: what is live is stored before, on each edge.
            // A region is a loop's body in most kernels, and loads its lines once per turn.
            if let Some(head) = self.heads[pc] {
                if falls {
                    self.flush(pc);
                    self.count_stretch(self.stretch(pc));
                }
                self.cache.clear();
                self.asm.bind(head);
                self.region = pc;
                entries[pc] = Some(head);
            }
            self.cache.next();
            let inst = self.stream.insts[pc];
            let done = self.instruction(&inst);
            falls = !matches!(inst.op, Op::Branch | Op::Exit) || inst.guard != Inst::UNGUARDED;
            if falls && !done.is_straight && pc + 1 < leaders.len() && self.heads[pc + 1].is_none()
            {
                entries[pc + 1] = Some(self.entry(pc + 1));
            }
        }
        self.place_stubs();
        entries
    }

    /// One instruction. What is not compiled is left to the interpreter.
    fn instruction(&mut self, inst: &Inst) -> Done {
        let done = match inst.op {
            Op::Nop | Op::Fence if inst.op == Op::Nop || !self.is_watched() => {
                self.begin(inst);
                self.end(inst);
                Done::STRAIGHT
            }
            Op::Branch => {
                self.branch(inst);
                Done::BENT
            }
            Op::Reconverge => {
                self.reconverge();
                Done::STRAIGHT
            }
            Op::Exit => {
                self.end_lanes(inst);
                Done::BENT
            }
            Op::Barrier if inst.guard == Inst::UNGUARDED => {
                self.barrier();
                Done::BENT
            }
            Op::Wait if inst.guard == Inst::UNGUARDED => {
                self.wait(inst);
                Done::BENT
            }
            Op::Load | Op::Store if self.try_access(inst) => Done::BENT,
            Op::WarpWide if self.can_exchange(inst) && !self.is_watched() => {
                self.exchange(inst);
                Done::STRAIGHT
            }
            Op::Scalar if let Some(directed) = self.directed(inst) => {
                self.begin(inst);
                self.directed_operation(inst, directed);
                self.end(inst);
                Done::STRAIGHT
            }
            Op::CheckDivisor => {
                self.begin(inst);
                self.check_divisor(inst);
                self.end(inst);
                Done::STRAIGHT
            }
            Op::PredicateLogic => {
                self.begin(inst);
                self.predicate_logic(inst);
                self.end(inst);
                Done::STRAIGHT
            }
            op if op.is_lane_operation() && crate::emit::lanes::is_compiled(op) => {
                self.begin(inst);
                self.lane_operation(inst);
                self.end(inst);
                Done::STRAIGHT
            }
            // The interpreter has an implementation of every instruction, this one only of what is hot. Registers are made true in memory, the
            // interpreter executes one instruction, and comes back behind it by `entries`.
            _ => {
                self.flush(self.pc);
                self.asm.mov_imm(RAX, self.pc as u32);
                self.asm.jump(self.leave);
                self.cache.clear();
                return Done::BENT;
            }
        };
        self.drop_dead_lines();
        done
    }

    fn is_watched(&self) -> bool {
        self.purpose == Purpose::Watched
    }

    /// Whether an access is one that the timing model decides about.
    fn is_timed(&self, inst: &Inst) -> bool {
        let space = self.code.memory[inst.aux as usize].space;
        self.purpose == Purpose::Timed
            && matches!(space, Space::Global | Space::Generic | Space::Local)
    }

    /// A load or store, unless it is left to the interpreter.
    fn try_access(&mut self, inst: &Inst) -> bool {
        if self.is_timed(inst) && self.can_announce(inst) {
            self.announce(inst);
            return true;
        }
        let is_compiled = self.can_access(inst) && !self.is_seen(inst);
        if is_compiled {
            self.access(inst);
        }
        is_compiled
    }

    /// Whether an access is left to those who look for mistakes or decide when it happens.
    fn is_seen(&self, inst: &Inst) -> bool {
        let space = self.code.memory[inst.aux as usize].space;
        let is_watched = matches!(space, Space::Global | Space::Shared | Space::Generic);
        self.is_timed(inst) || self.is_watched() && is_watched
    }

    /// Lines that no instruction reads again need not be kept.
    fn drop_dead_lines(&mut self) {
        let next = self.pc + 1;
        let live = &self.live;
        self.cache.retain(|entry| {
            entry
                .name
                .slot()
                .is_none_or(|slot| live.is_live(next, slot))
        });
    }

    /// An entry point before instruction `pc`, the next one.
    fn entry(&mut self, pc: usize) -> Label {
        let resume = self.asm.label();
        self.asm.bind(resume);
        let live = &self.live;
        debug_assert!(
            self.cache
                .entries()
                .iter()
                .all(|entry| { entry.name.slot().is_none_or(|slot| live.is_live(pc, slot)) })
        );
        if self.cache.entries().is_empty() {
            return resume;
        }
        let label = self.asm.label();
        let load = self.cache.entries().to_vec();
        self.stubs.push(Stub::Enter {
            label,
            load,
            resume,
        });
        label
    }

    /// The region's instructions before `pc`.
    pub(crate) fn stretch(&self, pc: usize) -> Stretch {
        let before = &self.stream.before;
        Stretch {
            from: before[self.region],
            to: before[pc],
        }
    }

    // Masks.

    /// Computes which lanes a guarded instruction is for.
    pub(crate) fn begin(&mut self, inst: &Inst) {
        if inst.guard == Inst::UNGUARDED {
            return;
        }
        self.is_masked = true;
        self.guard(inst, RBX);
        spread_mask(&mut self.asm);
    }

    /// Counts the lanes that a guarded instruction was not for, and restores what `begin` changed.
    pub(crate) fn end(&mut self, inst: &Inst) {
        self.count_idle(inst);
        self.restore_mask(inst);
    }

    /// Restores what `begin` changed.
    pub(crate) fn restore_mask(&mut self, inst: &Inst) {
        if inst.guard != Inst::UNGUARDED && self.is_partial {
            self.asm.load(Width::W32, RBX, at(RDI, fields::MASK));
            spread_mask(&mut self.asm);
        }
        self.is_masked = self.is_partial;
    }

    /// Counts the lanes that a guarded instruction was not for. Uses RAX and RCX.
    pub(crate) fn count_idle(&mut self, inst: &Inst) {
        if inst.guard != Inst::UNGUARDED && inst.guard & Inst::CONTINUES == 0 {
            self.asm.count_ones(RAX, RBX);
            self.asm.load(Width::W32, RCX, at(RDI, fields::LANES));
            self.asm.arithmetic(SUB, Width::W32, RCX, RAX);
            self.asm.add_to_memory(at(RDI, fields::IDLE), RCX);
        }
    }

    /// The active lanes whose guard holds, to `dst`.
    pub(crate) fn guard(&mut self, inst: &Inst, dst: crate::assembler::encode::Gpr) {
        let slot = inst.guard & !(Inst::NEGATED | Inst::CONTINUES);
        self.asm.load(Width::W32, dst, predicate(slot));
        if inst.guard & Inst::NEGATED != 0 {
            self.asm.not(dst);
        }
        if self.is_partial {
            self.asm
                .arithmetic_mem(AND, Width::W32, dst, at(RDI, fields::MASK));
        }
    }

    /// How part `part` of a line is written: of two parts if narrow, of four if wide.
    pub(crate) fn masking(&self, bank: Bank, part: usize) -> Masking {
        match (self.is_masked, bank) {
            (false, _) => Masking::None,
            (true, Bank::Wide) => Masking::Merge(ACTIVE[part]),
            (true, _) => Masking::Merge(ACTIVE[2 * part]),
        }
    }

    /// Writes the lanes' bits in EAX to predicate `slot`. Uses ECX.
    pub(crate) fn set_predicate(&mut self, slot: u16) {
        if self.is_masked {
            self.asm.arithmetic(AND, Width::W32, RAX, RBX);
            self.asm.mov(Width::W32, RCX, RBX);
            self.asm.not(RCX);
            self.asm
                .arithmetic_mem(AND, Width::W32, RCX, predicate(slot));
            self.asm.arithmetic(OR, Width::W32, RAX, RCX);
        }
        self.asm.store(Width::W32, predicate(slot), RAX);
    }

    fn predicate_logic(&mut self, inst: &Inst) {
        self.asm.mov_imm(RBP, 0);
        for term in (0..4).filter(|term| inst.aux >> term & 1 != 0) {
            for (register, slot, is_set) in
                [(RAX, inst.a, term & 1 != 0), (RCX, inst.b, term & 2 != 0)]
            {
                self.asm.load(Width::W32, register, predicate(slot));
                if !is_set {
                    self.asm.not(register);
                }
            }
            self.asm.arithmetic(AND, Width::W32, RAX, RCX);
            self.asm.arithmetic(OR, Width::W32, RBP, RAX);
        }
        self.asm.mov(Width::W32, RAX, RBP);
        self.set_predicate(inst.dst);
    }

    /// A way out before the instruction at hand, from the present state of the cache.
    pub(crate) fn exit(&mut self) -> Label {
        let label = self.asm.label();
        let flush = self.dirty(self.pc);
        self.stubs.push(Stub::Exit {
            label,
            flush,
            pc: self.pc,
        });
        label
    }

    fn place_stubs(&mut self) {
        let mut at = 0;
        // Stubs may need further stubs.
        while at < self.stubs.len() {
            let stub = std::mem::replace(
                &mut self.stubs[at],
                Stub::Enter {
                    label: Label::NONE,
                    load: Vec::new(),
                    resume: Label::NONE,
                },
            );
            at += 1;
            match stub {
                Stub::Exit { label, flush, pc } => {
                    self.asm.bind(label);
                    self.store_all(&flush);
                    self.asm.mov_imm(RAX, pc as u32);
                    self.asm.jump(self.leave);
                }
                Stub::Edge {
                    label,
                    flush,
                    stretch,
                    target,
                } => self.edge(label, &flush, stretch, target),
                Stub::Enter {
                    label,
                    load,
                    resume,
                } => {
                    self.asm.bind(label);
                    load.iter()
                        .for_each(|entry| self.fetch(entry.name, entry.registers()));
                    self.asm.jump(resume);
                }
                Stub::NextPath { label, flush, pc } => self.next_path(label, &flush, pc),
                Stub::EndAll {
                    label,
                    exit,
                    stretch,
                    pc,
                } => self.end_all(label, exit, stretch, pc),
                Stub::Wait {
                    label,
                    flush,
                    stretch,
                    pc,
                } => self.end_for_slots(label, &flush, stretch, pc),
                Stub::Split(split) => self.split(&split),
                Stub::Patterns(patterns) => self.patterns(&patterns),
            }
        }
        self.stubs.clear();
    }

    // Lines in registers.

    /// A vector register for the instruction at hand.
    pub(crate) fn take(&mut self) -> Zmm {
        if let Some(register) = self.cache.take() {
            return register;
        }
        // A line that is read again later goes to memory if memory has not got it; one that is dead is just forgotten.
        match self.cache.evict() {
            Some(entry) => {
                let is_needed = |slot| self.live.is_live(self.pc, slot);
                if entry.is_dirty && entry.name.slot().is_some_and(is_needed) {
                    self.store_line(&entry);
                }
            }
            None => self.has_failed = true,
        }
        self.cache.take().unwrap_or(0)
    }

    pub(crate) fn take_line<const N: usize>(&mut self) -> [Zmm; N] {
        std::array::from_fn(|_| self.take())
    }

    pub(crate) fn release(&mut self, registers: &[Zmm]) {
        self.cache.release(registers);
    }

    /// The two registers of a narrow operand; of a constant, the same twice.
    pub(crate) fn narrow(&mut self, operand: u16) -> [Zmm; 2] {
        let registers = self.line(Name::narrow(operand), true);
        [registers[0], registers[1]]
    }

    /// The same for operations that do not tell NaNs apart.
    pub(crate) fn narrow_float(&mut self, operand: u16) -> [Zmm; 2] {
        let registers = self.line(Name::narrow(operand), false);
        [registers[0], registers[1]]
    }

    /// The four registers of a wide operand; of a constant, four times the same.
    pub(crate) fn wide(&mut self, operand: u16) -> [Zmm; 4] {
        self.line(Name::wide(operand), true)
    }

    pub(crate) fn wide_float(&mut self, operand: u16) -> [Zmm; 4] {
        self.line(Name::wide(operand), false)
    }

    pub(crate) fn line(&mut self, name: Name, canonical: bool) -> [Zmm; 4] {
        if let Some(entry) = self.cache.find(name) {
            let found = *entry;
            // PTX gives one NaN for all operations, processors keep the operand's. So results of floating point are raw until something
            // can tell: an integer operation, a store. A chain of multiply-adds never pays for it.
            if canonical && found.is_raw {
                entry.is_raw = false;
                self.canonicalize(name.bank, found.registers());
            }
            return found.registers;
        }
        let len = name.len();
        let mut registers = [0; 4];
        for register in &mut registers[..len] {
            *register = self.take();
        }
        if name.is_constant() {
            registers = [registers[0]; 4];
        }
        self.fetch(name, &registers[..len]);
        self.cache.define(name, registers, false, false);
        registers
    }

    /// Loads a line from memory.
    fn fetch(&mut self, name: Name, registers: &[Zmm]) {
        let mem = memory_of(name);
        for (part, &register) in registers.iter().enumerate() {
            let (op, operand) = match (name.is_constant(), name.bank) {
                (true, Bank::Wide) => (VPBROADCASTQ, Operand::Memory(mem)),
                (true, _) => (VPBROADCASTD, Operand::Memory(mem)),
                (false, _) => (VMOVDQA64_LOAD, Operand::Memory(part_of(mem, part))),
            };
            self.asm.vector(op, register, 0, operand, Masking::None);
        }
    }

    /// What must be in memory before the interpreter or other code goes on at `pc`.
    pub(crate) fn dirty(&self, pc: usize) -> Vec<Entry> {
        let needed = |entry: &&Entry| {
            let is_live = |slot| self.live.is_live(pc, slot);
            entry.is_dirty && entry.name.slot().is_some_and(is_live)
        };
        self.cache
            .entries()
            .iter()
            .filter(needed)
            .copied()
            .collect()
    }

    /// Stores what is needed from `pc` on.
    pub(crate) fn flush(&mut self, pc: usize) {
        let dirty = self.dirty(pc);
        self.store_all(&dirty);
    }

    pub(crate) fn store_all(&mut self, entries: &[Entry]) {
        entries.iter().for_each(|entry| self.store_line(entry));
    }

    fn store_line(&mut self, entry: &Entry) {
        if entry.is_raw {
            self.canonicalize(entry.name.bank, entry.registers());
        }
        let mem = memory_of(entry.name);
        for (part, &register) in entry.registers().iter().enumerate() {
            let operand = Operand::Memory(part_of(mem, part));
            self.asm
                .vector(VMOVDQA64_STORE, register, 0, operand, Masking::None);
        }
    }

    /// Makes memory hold what the registers do.
    pub(crate) fn clean(&mut self, name: Name) {
        if let Some(entry) = self.cache.find(name)
            && entry.is_dirty
        {
            let found = *entry;
            (entry.is_dirty, entry.is_raw) = (false, false);
            self.store_line(&found);
        }
    }

    /// Replaces every NaN by the one that PTX operations give. Uses K5.
    pub(crate) fn canonicalize(&mut self, bank: Bank, registers: &[Zmm]) {
        let (compare, load, nan) = match bank {
            Bank::Wide => (VCMPPD, VPBROADCASTQ, self.table.constant64(NAN64)),
            _ => (VCMPPS, VPBROADCASTD, self.table.constant32(NAN32)),
        };
        for &register in registers {
            let same = (register, Operand::Register(register));
            self.asm
                .vector_imm(compare, K5.0, same, float::UNORDERED, Masking::None);
            self.asm
                .vector(load, register, 0, Operand::Memory(nan), Masking::Merge(K5));
        }
    }

    /// Writes a line that was computed for all lanes into `name`, for those that take part.
    pub(crate) fn commit(&mut self, name: Name, registers: &[Zmm], is_raw: bool) {
        if !self.is_masked {
            let mut all = [0; 4];
            all[..registers.len()].copy_from_slice(registers);
            self.cache.define(name, all, true, is_raw);
            return;
        }
        if is_raw {
            self.canonicalize(name.bank, registers);
        }
        // Lanes elsewhere keep the old value: it has to be in registers, canonical, for the merge.
        let old = self.line(name, true);
        let op = match name.bank {
            Bank::Wide => VMOVDQA64_LOAD,
            _ => VMOVDQA32_LOAD,
        };
        for (part, (&new, &old)) in registers.iter().zip(&old).enumerate() {
            let masking = self.masking(name.bank, part);
            self.asm.vector(op, old, 0, Operand::Register(new), masking);
        }
        if let Some(entry) = self.cache.find(name) {
            entry.is_dirty = true;
        }
        self.release(registers);
    }
}

/// How an instruction leaves the code.
struct Done {
    /// Only the instruction before leads to the next one.
    is_straight: bool,
}

impl Done {
    const STRAIGHT: Self = Self { is_straight: true };
    /// The interpreter may have executed it.
    const BENT: Self = Self { is_straight: false };
}

/// The place of a line in memory.
pub(crate) fn memory_of(name: Name) -> Mem {
    let index = i32::from(name.operand & !CONSTANT_BIT);
    match (name.bank, name.is_constant()) {
        (Bank::Wide, true) => at(R9, 256 * index),
        (Bank::Wide, false) => at(RDX, 256 * index),
        (_, true) => at(R8, 128 * index),
        (_, false) => at(RSI, 128 * index),
    }
}

fn part_of(mem: Mem, part: usize) -> Mem {
    Mem {
        disp: mem.disp + 64 * part as i32,
        ..mem
    }
}

/// The place of a predicate in memory.
pub(crate) fn predicate(slot: u16) -> Mem {
    at(R10, 4 * i32::from(slot))
}
