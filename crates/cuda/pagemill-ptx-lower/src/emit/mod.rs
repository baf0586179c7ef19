//! Flat code out of allocated micro-operations.

use crate::flow::cfg::Graph;
use crate::flow::liveness::Liveness;
use crate::flow::program::{
    Aux, CallAux, Class, MemoryAux, Micro, Program, ServiceAux, VReg, Value, matrix_inst,
};
use crate::registers::allocate::Slots;
use crate::registers::saved;
use pagemill_ptx_ir::ast::Space;
use pagemill_ptx_ir::code::device_calls::RuntimeCall;
use pagemill_ptx_ir::code::{
    AccessKind, AddressOperand, Bank, BarrierInst, BarrierReduction, BarrierScope, CacheHint,
    CallInst, CallTarget, Code, HIGH_RESULT, MemoryInst, SINK, ScalarInst, Service, StackSlots,
    Stream, Subroutine, TextureForm, TextureInst, VECTOR_MAX, WarpWideInst,
};
use pagemill_ptx_ir::info::InstructionInfo;
use pagemill_ptx_ir::line::CONSTANT_BIT;
use pagemill_ptx_ir::op::NEVER;
use pagemill_ptx_ir::op::{Inst, Op};

/// Emits both streams, or `None` when the kernel is too large for its indices.
pub(crate) fn emit(
    program: &Program,
    graph: &Graph,
    slots: &Slots,
    live: &Liveness,
    infos: &mut [InstructionInfo],
) -> Option<Code> {
    let mut code = Code {
        constants_narrow: program.narrow.constants.clone(),
        constants_wide: program.wide.constants.clone(),
        slots_narrow: slots.narrow,
        slots_wide: slots.wide,
        slots_predicate: slots.predicate,
        preset: program
            .presets
            .iter()
            .map(|(preset, register)| (*preset, slots.slot[register.index()]))
            .collect(),
        zeroed: zeroed(program, slots, live),
        ..Code::default()
    };
    for bounds in &graph.blocks {
        let info = program.micros[bounds.start].info as usize;
        infos[info].block_leader = true;
    }
    code.stack = stack_slots(program, slots);
    let subroutines = program.subroutines.iter();
    code.subroutines = subroutines
        .map(|&(_, frame_bytes)| Subroutine { frame_bytes })
        .collect();
    let mut saved = saved::at_calls(program, graph, slots, live).into_iter();
    let tables = Tables { program, slots };
    let indices: Vec<u32> = program
        .micros
        .iter()
        .map(|micro| match (&micro.aux, micro.op) {
            (
                Aux::Call {
                    target,
                    argument_bytes,
                },
                _,
            ) => {
                let (target, callees) = tables.target(micro, target);
                let call = CallInst {
                    target,
                    argument_bytes: *argument_bytes,
                    saved: saved.next().unwrap_or_default(),
                    callees,
                };
                push(&mut code.calls, call)
            }
            // The call just before.
            (_, Op::Restore) => code.calls.len() as u32 - 1,
            _ => tables.add(&mut code, micro),
        })
        .collect();
    let emitter = Emitter {
        program,
        graph,
        slots,
        infos,
        indices: &indices,
        has_copies: has_copies(program),
    };
    code.functional = emitter.stream(false)?;
    code.stepped = emitter.stream(true)?;
    Some(code)
}

/// Where the registers of the stack are; where it begins is decided later.
fn stack_slots(program: &Program, slots: &Slots) -> Option<StackSlots> {
    let stack = program.stack?;
    let slot = |register: VReg| slots.slot[register.index()];
    Some(StackSlots {
        pointer: slot(stack.pointer),
        frame: slot(stack.frame),
        arguments: slot(stack.arguments),
        bottom: 0,
        margin: argument_bytes(program),
    })
}

/// Most bytes of results and parameters of a call.
fn argument_bytes(program: &Program) -> u32 {
    let calls = program.micros.iter().map(|micro| match micro.aux {
        Aux::Call { argument_bytes, .. } => argument_bytes,
        _ => 0,
    });
    calls.max().unwrap_or(0)
}

/// Slots of registers that may be read before they are written.
fn zeroed(program: &Program, slots: &Slots, live: &Liveness) -> [Vec<u16>; 3] {
    let mut zeroed = [Vec::new(), Vec::new(), Vec::new()];
    let is_preset = |register: usize| {
        program
            .presets
            .iter()
            .any(|(_, preset)| preset.index() == register)
    };
    for register in live
        .live_in
        .first()
        .into_iter()
        .flat_map(|set| set.iter())
        .filter(|&register| !is_preset(register))
    {
        let bank = match program.classes[register] {
            Class::Narrow => 0,
            Class::Wide => 1,
            Class::Predicate => 2,
        };
        zeroed[bank].push(slots.slot[register]);
    }
    zeroed
}

/// Whether copies count at barrier objects.
fn has_copies(program: &Program) -> bool {
    let counts = |micro: &Micro| matches!(micro.aux, Aux::Arrival { .. }) && micro.srcs.len() == 1;
    program.micros.iter().any(counts)
}

struct Emitter<'a> {
    program: &'a Program,
    graph: &'a Graph,
    slots: &'a Slots,
    infos: &'a [InstructionInfo],
    /// Index in its side table, by micro-operation.
    indices: &'a [u32],
    /// Whether copies count at barrier objects.
    has_copies: bool,
}

impl Emitter<'_> {
    fn stream(&self, waits: bool) -> Option<Stream> {
        let blocks = &self.graph.blocks;
        let joins = self.joins();
        let mut stream = Stream::default();
        let mut starts = Vec::with_capacity(blocks.len());
        // Flat positions of branches, and their micro-operations, to be patched when all starts are known.
        let mut branches = Vec::new();
        for (block, bounds) in blocks.iter().enumerate() {
            starts.push(stream.insts.len() as u32);
            let first_info = self.program.micros[bounds.start].info;
            // An instruction of several blocks counts where it begins, not in each of them.
            let mut before = stream.before.last().map_or(0, |&last| last.max(first_info));
            if joins[block] {
                stream.push(Inst::new(Op::Reconverge), before, first_info);
            }
            let mut last_info = None;
            for at in bounds.start..bounds.end {
                let micro = &self.program.micros[at];
                let continues = last_info == Some(micro.info);
                if !self.is_needed(block, at, continues) || micro.op == Op::Arrival && !waits {
                    continue;
                }
                // A branch may be the same instruction as what precedes it in another block.
                if continues {
                    before = before.max(micro.info + 1);
                } else if stream.insts.len() as u32 > starts[block] + u32::from(joins[block]) {
                    before = micro.info;
                }
                let wait_mask = self.infos[micro.info as usize].wait_mask;
                if waits && wait_mask != 0 && !continues {
                    stream.waits.push(wait_mask);
                    let inst = Inst {
                        aux: stream.waits.len() as u32 - 1,
                        ..Inst::new(Op::Wait)
                    };
                    stream.push(inst, before, micro.info);
                }
                if micro.ends_block() {
                    branches.push((stream.insts.len(), at, block));
                }
                stream.push(self.inst(at, continues), before, micro.info);
                last_info = Some(micro.info);
            }
            if stream.insts.len() as u32 == starts[block] + u32::from(joins[block]) {
                stream.push(Inst::new(Op::Nop), before, first_info);
            }
        }
        let total = self.infos.len() as u32;
        // Falling off the end of the body ends the thread.
        stream.push(Inst::new(Op::Exit), total, total.saturating_sub(1));
        stream.before.push(total);
        starts.push(stream.insts.len() as u32 - 1);
        let entries = self.program.subroutines.iter();
        stream.entries = entries
            .map(|(entry, _)| starts[self.graph.block_of(*entry)])
            .collect();
        (stream.insts.len() < (u32::MAX / 2) as usize).then_some(())?;
        self.patch(&mut stream, &branches, &starts);
        Some(stream)
    }

    /// Blocks where diverged lanes meet.
    fn joins(&self) -> Vec<bool> {
        let mut joins = vec![false; self.graph.blocks.len()];
        for (block, bounds) in self.graph.blocks.iter().enumerate() {
            let last = &self.program.micros[bounds.end - 1];
            let diverges =
                last.op == Op::BranchTable || last.op == Op::Branch && last.guard.is_some();
            let join = self.graph.post_dominator[block];
            if diverges && join < joins.len() {
                joins[join] = true;
            }
        }
        joins
    }

    /// Whether the operation leaves a flat instruction.
    fn is_needed(&self, block: usize, at: usize, continues: bool) -> bool {
        let micro = &self.program.micros[at];
        match micro.op {
            // A guard is still evaluated: the instruction counts only where it holds.
            Op::Nop => {
                matches!(micro.aux, Aux::WaitForCopies) || micro.guard.is_some() && !continues
            }
            // A branch to what follows anyway.
            Op::Branch if micro.guard.is_none() => {
                self.graph.blocks[block].successors != [block + 1]
            }
            // Nothing counts later than its instruction says.
            Op::Arrival => self.has_copies || micro.aux.suspends(),
            Op::Move32 | Op::Move64 => match micro.srcs[0] {
                Value::Reg(source) => {
                    let (dst, source) = (micro.dsts[0], source);
                    self.program.class(dst) != self.program.class(source)
                        || self.slots.slot[dst.index()] != self.slots.slot[source.index()]
                        || micro.guard.is_some()
                }
                Value::Narrow(_) | Value::Wide(_) => true,
            },
            _ => true,
        }
    }

    fn inst(&self, at: usize, continues: bool) -> Inst {
        let micro = &self.program.micros[at];
        let mut inst = Inst::new(micro.op);
        if let Some((register, negated)) = micro.guard {
            inst.guard = self.slots.slot[register.index()];
            inst.guard |= if negated { Inst::NEGATED } else { 0 };
            inst.guard |= if continues { Inst::CONTINUES } else { 0 };
        }
        inst.aux = self.indices[at];
        let in_fields = micro.op.is_lane_operation()
            || matches!(
                micro.op,
                Op::Scalar | Op::PredicateLogic | Op::BranchTable | Op::CheckDivisor
            );
        if in_fields {
            let operand = |index: usize| {
                micro
                    .srcs
                    .get(index)
                    .map_or(0, |value| operand(self.slots, *value))
            };
            (inst.a, inst.b, inst.c) = (operand(0), operand(1), operand(2));
            inst.dst = micro
                .dsts
                .first()
                .map_or(0, |dst| self.slots.slot[dst.index()]);
        }
        inst
    }

    fn patch(&self, stream: &mut Stream, branches: &[(usize, usize, usize)], starts: &[u32]) {
        for &(flat, at, block) in branches {
            let join = self.graph.post_dominator[block];
            let inst = &mut stream.insts[flat];
            inst.reconverge = if join < self.graph.blocks.len() {
                starts[join]
            } else {
                NEVER
            };
            match &self.program.micros[at].aux {
                Aux::Target(label) => inst.aux = starts[self.graph.block_of(*label)],
                Aux::Targets(labels) => {
                    stream.tables.push(
                        labels
                            .iter()
                            .map(|label| starts[self.graph.block_of(*label)])
                            .collect(),
                    );
                    inst.aux = stream.tables.len() as u32 - 1;
                }
                _ => {}
            }
        }
    }
}

fn operand(slots: &Slots, value: Value) -> u16 {
    match value {
        Value::Reg(register) => slots.slot[register.index()],
        Value::Narrow(index) | Value::Wide(index) => index | CONSTANT_BIT,
    }
}

/// Fills the side tables.
struct Tables<'a> {
    program: &'a Program,
    slots: &'a Slots,
}

impl Tables<'_> {
    fn slot(&self, register: VReg) -> u16 {
        self.slots.slot[register.index()]
    }

    fn operand(&self, value: Value) -> u16 {
        operand(self.slots, value)
    }

    fn bank(&self, value: Value) -> Bank {
        match value {
            Value::Reg(register) => self.register_bank(register),
            Value::Narrow(_) => Bank::Narrow,
            Value::Wide(_) => Bank::Wide,
        }
    }

    fn register_bank(&self, register: VReg) -> Bank {
        match self.program.class(register) {
            Class::Narrow => Bank::Narrow,
            Class::Wide => Bank::Wide,
            Class::Predicate => Bank::Predicate,
        }
    }

    /// Adds what `micro` keeps in a side table; its index there, or its immediate.
    fn add(&self, code: &mut Code, micro: &Micro) -> u32 {
        match &micro.aux {
            Aux::None
            | Aux::Target(_)
            | Aux::Targets(_)
            | Aux::WaitForCopies
            | Aux::Call { .. } => 0,
            Aux::Immediate(value) => *value,
            Aux::Memory(memory) => {
                let site = code.sites;
                code.sites += 1;
                push(&mut code.memory, self.memory(micro, memory, site))
            }
            Aux::Texture {
                form,
                layered,
                slot,
            } => push(
                &mut code.textures,
                self.texture(micro, *form, *layered, *slot),
            ),
            Aux::Barrier {
                counted,
                waits,
                reduction,
            } => {
                let reduction = reduction.map(|(kind, negated)| BarrierReduction {
                    kind,
                    source: micro.srcs.last().map_or(0, |value| self.operand(*value)),
                    negated,
                    dst: micro.dsts.first().map_or(SINK, |dst| self.slot(*dst)),
                });
                let threads = counted.then(|| self.operand(micro.srcs[1]));
                push(
                    &mut code.barriers,
                    BarrierInst {
                        id: self.operand(micro.srcs[0]),
                        threads,
                        waits: *waits,
                        reduction,
                        scope: BarrierScope::Block,
                    },
                )
            }
            Aux::ScopedBarrier { scope, waits } => push(
                &mut code.barriers,
                BarrierInst {
                    id: self.operand(micro.srcs[0]),
                    threads: None,
                    waits: *waits,
                    reduction: None,
                    scope: *scope,
                },
            ),
            Aux::WarpWide {
                kind,
                members,
                negated,
            } => {
                let operand = |index: usize| self.operand(micro.srcs[index]);
                let inst = WarpWideInst {
                    kind: *kind,
                    dst: self.slot(micro.dsts[0]),
                    dst_predicate: self.slot(micro.dsts[1]),
                    a: operand(0),
                    b: operand(1),
                    c: operand(2),
                    members: members.then(|| operand(3)),
                    negated: *negated,
                };
                push(&mut code.warp_wide, inst)
            }
            aux @ (Aux::Product(_) | Aux::MatrixLoad { .. } | Aux::MatrixTile(_)) => {
                let dsts = micro.dsts.iter().map(|dst| self.slot(*dst)).collect();
                let srcs = micro
                    .srcs
                    .iter()
                    .map(|value| self.operand(*value))
                    .collect();
                let inst = matrix_inst(aux, self.address(micro.srcs[0]), dsts, srcs);
                push(&mut code.matrices, inst)
            }
            Aux::Arrival { space, offset, .. } => {
                let phase = micro.srcs.get(1).map(|value| self.address(*value));
                let object = self.memory(micro, &object(*space, *offset), 0);
                push(&mut code.arrivals, micro.aux.arrival(object, phase))
            }
            Aux::Scalar {
                function,
                immediate,
            } => {
                let bank = |index: usize| {
                    micro
                        .srcs
                        .get(index)
                        .map_or(Bank::None, |value| self.bank(*value))
                };
                let inst = ScalarInst {
                    function: *function,
                    immediate: *immediate,
                    result: self.register_bank(micro.dsts[0]),
                    operands: [bank(0), bank(1), bank(2)],
                };
                push(&mut code.scalars, inst)
            }
            Aux::Service(service) => push(&mut code.services, self.service(micro, *service)),
        }
    }

    fn target(&self, micro: &Micro, target: &CallAux) -> (CallTarget, Vec<(u64, u32)>) {
        match (target, micro.srcs.last()) {
            (CallAux::Subroutine(number), _) => (CallTarget::Subroutine(*number), Vec::new()),
            (CallAux::Address(callees), address) => {
                let operand = address.map_or(0, |address| self.operand(*address));
                (CallTarget::Address(operand), callees.clone())
            }
        }
    }

    fn address(&self, value: Value) -> AddressOperand {
        match self.bank(value) {
            Bank::Wide => AddressOperand::Wide(self.operand(value)),
            _ => AddressOperand::Narrow(self.operand(value)),
        }
    }

    fn memory(&self, micro: &Micro, aux: &MemoryAux, site: u32) -> MemoryInst {
        let address = self.address(micro.srcs[0]);
        let mut registers = [SINK; VECTOR_MAX];
        let values: Vec<u16> = match aux.kind {
            AccessKind::Load => micro.dsts.iter().map(|dst| self.slot(*dst)).collect(),
            _ => micro.srcs[1..]
                .iter()
                .map(|value| self.operand(*value))
                .collect(),
        };
        registers[..values.len()].copy_from_slice(&values);
        // Of 128 bits, the upper half of the old value.
        if aux.kind == AccessKind::Atomic
            && let [_, high] = micro.dsts[..]
        {
            registers[HIGH_RESULT] = self.slot(high);
        }
        let result = match aux.kind {
            AccessKind::Atomic => micro.dsts.first().map_or(SINK, |dst| self.slot(*dst)),
            _ => SINK,
        };
        MemoryInst {
            kind: aux.kind,
            space: aux.space,
            address,
            offset: aux.offset,
            element_bytes: aux.element_bytes,
            signed: aux.signed,
            wide: aux.wide,
            count: aux.count,
            registers,
            result,
            atomic: aux.atomic,
            slot: aux.slot,
            hint: aux.hint,
            untimed: aux.untimed,
            site,
        }
    }

    fn texture(
        &self,
        micro: &Micro,
        form: TextureForm,
        layered: bool,
        slot: Option<u8>,
    ) -> TextureInst {
        let mut rest = micro.srcs.iter().map(|value| self.operand(*value));
        let object = rest.next().unwrap_or(0);
        let mut coordinates = [0; 3];
        for coordinate in &mut coordinates[..usize::from(form.dimensions)] {
            *coordinate = rest.next().unwrap_or(0);
        }
        let layer = if layered { rest.next() } else { None };
        let mut detail = [0; 6];
        for operand in &mut detail[..form.detail_operands()] {
            *operand = rest.next().unwrap_or(0);
        }
        let mut registers = [SINK; 4];
        let dsts = micro.dsts.iter().map(|dst| self.slot(*dst));
        for (register, operand) in registers.iter_mut().zip(dsts.chain(rest)) {
            *register = operand;
        }
        TextureInst {
            form,
            object,
            coordinates,
            layer,
            detail,
            registers,
            slot,
        }
    }

    fn service(&self, micro: &Micro, service: ServiceAux) -> Service {
        let operand = |index: usize| self.operand(micro.srcs[index]);
        let dst = micro.dsts.first().map_or(SINK, |dst| self.slot(*dst));
        match service {
            ServiceAux::Print => Service::Print {
                format: operand(0),
                arguments: operand(1),
                dst,
            },
            ServiceAux::AssertFail => Service::AssertFail {
                message: operand(0),
                file: operand(1),
                line: operand(2),
                function: operand(3),
            },
            ServiceAux::Trap => Service::Trap,
            ServiceAux::Misuse(reason) => Service::Misuse(reason),
            ServiceAux::GrowStack => Service::GrowStack {
                pointer: operand(0),
            },
            ServiceAux::Malloc => Service::Malloc {
                bytes: operand(0),
                dst,
            },
            ServiceAux::Free => Service::Free {
                address: operand(0),
            },
            ServiceAux::Runtime(function) => {
                let result = micro.dsts.first().map(|dst| self.address(Value::Reg(*dst)));
                Service::Runtime(Box::new(RuntimeCall {
                    function,
                    operands: micro.srcs.iter().map(|src| self.address(*src)).collect(),
                    result: result.unwrap_or(AddressOperand::Narrow(SINK)),
                    kernels: self.program.kernels.clone(),
                }))
            }
            ServiceAux::Clock(part) => Service::Clock { dst, part },
        }
    }
}

/// The 64 bits of a barrier object, as an access without registers.
fn object(space: Space, offset: i64) -> MemoryAux {
    MemoryAux {
        kind: AccessKind::Load,
        space,
        offset,
        element_bytes: 8,
        signed: false,
        wide: true,
        count: 1,
        atomic: None,
        slot: None,
        hint: CacheHint::Volatile,
        untimed: true,
    }
}

fn push<T>(table: &mut Vec<T>, entry: T) -> u32 {
    table.push(entry);
    table.len() as u32 - 1
}
