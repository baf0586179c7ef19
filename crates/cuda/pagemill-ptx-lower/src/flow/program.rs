//! Between the syntax tree and flat code: micro-operations over virtual registers.

use pagemill_ptx_ir::ast::Space;
use pagemill_ptx_ir::code::device_calls::{Launchable, RuntimeFn};
use pagemill_ptx_ir::code::{
    AccessKind, AddressOperand, ArrivalInst, Atomic, BarrierScope, CacheHint, ClockPart, Constant,
    Element, MatrixInst, MatrixLoad, MatrixProduct, MatrixTile, MemoryInst, Preset, ProductForm,
    Reduce, ScalarFn, TextureForm, TileShape, WarpWide,
};
use pagemill_ptx_ir::op::Op;
use std::collections::HashMap;
use std::sync::Arc;

/// A virtual register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct VReg(pub u32);

impl VReg {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// How a virtual register is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Class {
    /// 32 bits; 8- and 16-bit values are held zero-extended.
    Narrow,
    /// 64 bits.
    Wide,
    Predicate,
}

/// A source operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Value {
    Reg(VReg),
    /// Index into the narrow constants.
    Narrow(u16),
    /// Index into the wide constants.
    Wide(u16),
}

/// A branch target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Label(pub u32);

/// One micro-operation.
#[derive(Clone, Debug)]
pub(crate) struct Micro {
    pub op: Op,
    pub dsts: Vec<VReg>,
    pub srcs: Vec<Value>,
    pub guard: Option<(VReg, bool)>,
    pub aux: Aux,
    /// The PTX instruction it is part of.
    pub info: u32,
}

/// What an operation needs beyond its operands.
#[derive(Clone, Debug)]
pub(crate) enum Aux {
    None,
    Immediate(u32),
    Target(Label),
    Targets(Vec<Label>),
    /// Sources: address, then values. Destinations: the registers loaded, or the old value.
    Memory(MemoryAux),
    /// Sources: handle, coordinates, layer if `layered`, level or gradients, then values. Destinations: the registers loaded.
    Texture {
        form: TextureForm,
        layered: bool,
        slot: Option<u8>,
    },
    /// Sources: id, threads if `counted`, predicate if a reduction. Destination: the reduction's.
    Barrier {
        counted: bool,
        waits: bool,
        reduction: Option<(Reduce, bool)>,
    },
    /// Of a cluster or a warp group. Source: any number.
    ScopedBarrier {
        scope: BarrierScope,
        waits: bool,
    },
    /// Destinations: value, predicate. Sources: a, b, c, members if `members`.
    WarpWide {
        kind: WarpWide,
        members: bool,
        negated: bool,
    },
    /// Sources: the registers of A, B and C. Destinations: those of D.
    Product(ProductForm),
    /// Source: address. Destinations: a register for each matrix.
    MatrixLoad {
        space: Space,
        offset: i64,
        transposes: bool,
    },
    /// Sources: descriptor, first row or column. Destinations: the registers of the operand.
    MatrixTile(TileShape),
    Scalar {
        function: ScalarFn,
        immediate: u32,
    },
    Service(ServiceAux),
    /// Sources: the registers of the stack, then the address if the target is one.
    Call {
        target: CallAux,
        argument_bytes: u32,
    },
    /// Waits for the loads of asynchronous copies.
    WaitForCopies,
    /// Copies, whose loads have these slots, count at the barrier object that the source names; with a second source, the phase
    /// that it says is over. In simulated time, a phase is not over before the bytes are there. One that suspends has seen that
    /// the phase is not over.
    Arrival {
        space: Space,
        offset: i64,
        slots: u64,
        suspends: bool,
    },
}

impl Aux {
    /// Whether it suspends its warp.
    pub(crate) fn suspends(&self) -> bool {
        matches!(self, Self::Arrival { suspends: true, .. })
    }

    /// What it counts, or waits for, at the barrier object `object`.
    pub(crate) fn arrival(&self, object: MemoryInst, phase: Option<AddressOperand>) -> ArrivalInst {
        let slots = match self {
            Self::Arrival { slots, .. } => *slots,
            _ => 0,
        };
        ArrivalInst {
            object,
            slots,
            phase,
            suspends: self.suspends(),
        }
    }
}

/// What `aux` says of matrices, with the registers of its operands; the first source may be an address.
///
/// # Panics
/// If it says nothing of matrices.
pub(crate) fn matrix_inst(
    aux: &Aux,
    address: AddressOperand,
    registers: Vec<u16>,
    sources: Vec<u16>,
) -> MatrixInst {
    match aux {
        Aux::MatrixLoad {
            space,
            offset,
            transposes,
        } => MatrixInst::Load(MatrixLoad {
            space: *space,
            address,
            offset: *offset,
            transposes: *transposes,
            registers,
        }),
        Aux::MatrixTile(shape) => MatrixInst::Tile(MatrixTile {
            shape: *shape,
            descriptor: sources[0],
            first: sources[1],
            registers,
        }),
        Aux::Product(form) => MatrixInst::Multiply(product(*form, registers, sources)),
        _ => unreachable!("only matrices have such instructions"),
    }
}

/// Sources are the registers of A, B and C, one matrix after the other.
fn product(form: ProductForm, d: Vec<u16>, sources: Vec<u16>) -> MatrixProduct {
    let registers = |rows: usize, columns: usize, element: Element| {
        rows * columns / 32 / element.per_register()
    };
    let mut rest = sources.into_iter();
    let mut take = |count: usize| rest.by_ref().take(count).collect();
    MatrixProduct {
        form,
        a: take(registers(form.rows, form.depth, form.a)),
        b: take(registers(form.depth, form.columns, form.b)),
        c: take(registers(form.rows, form.columns, form.c)),
        d,
    }
}

#[derive(Clone, Debug)]
pub(crate) struct MemoryAux {
    pub kind: AccessKind,
    pub space: Space,
    pub offset: i64,
    pub element_bytes: u8,
    pub signed: bool,
    pub wide: bool,
    pub count: u8,
    pub atomic: Option<Atomic>,
    pub slot: Option<u8>,
    pub hint: CacheHint,
    /// Whether an access before it stands for it in simulated time.
    pub untimed: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum CallAux {
    Subroutine(u32),
    /// Addresses and subroutines of the functions it may reach.
    Address(Vec<(u64, u32)>),
}

/// Registers that belong to the whole kernel, and that calls change.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StackRegisters {
    pub pointer: VReg,
    pub frame: VReg,
    pub arguments: VReg,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum ServiceAux {
    Print,
    AssertFail,
    Trap,
    /// Stops the kernel, which does what it must not.
    Misuse(&'static str),
    Clock(ClockPart),
    /// Source: the stack pointer.
    GrowStack,
    Malloc,
    Free,
    /// Sources: each number of each argument.
    Runtime(RuntimeFn),
}

impl Micro {
    pub(crate) fn sources(&self) -> impl Iterator<Item = VReg> {
        let registers = self.srcs.iter().filter_map(|value| match value {
            Value::Reg(register) => Some(*register),
            Value::Narrow(_) | Value::Wide(_) => None,
        });
        registers.chain(self.guard.map(|(register, _)| register))
    }

    /// Whether control does not simply go on to the next micro-operation.
    pub(crate) fn ends_block(&self) -> bool {
        matches!(
            self.op,
            Op::Branch | Op::BranchTable | Op::Exit | Op::Return
        )
    }

    /// Whether it has no effect but its destinations.
    pub(crate) fn is_pure(&self) -> bool {
        self.op.is_lane_operation() || matches!(self.op, Op::Scalar | Op::PredicateLogic)
    }
}

/// The body of a kernel under construction.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub micros: Vec<Micro>,
    pub classes: Vec<Class>,
    /// Position in `micros` of each label.
    pub labels: Vec<usize>,
    pub narrow: Interner,
    pub wide: Interner,
    /// Registers the machine fills.
    pub presets: Vec<(Preset, VReg)>,
    /// Where each subroutine begins, and the bytes of its frame.
    pub subroutines: Vec<(Label, u32)>,
    pub stack: Option<StackRegisters>,
    /// What it can launch.
    pub kernels: Arc<[Launchable]>,
}

/// Constants, each once.
#[derive(Debug, Default)]
pub(crate) struct Interner {
    pub constants: Vec<Constant>,
    index: HashMap<Constant, u16>,
}

impl Interner {
    /// The index of `constant`, or `None` when there are more than an operand can name.
    pub(crate) fn intern(&mut self, constant: Constant) -> Option<u16> {
        if let Some(&index) = self.index.get(&constant) {
            return Some(index);
        }
        let index = u16::try_from(self.constants.len())
            .ok()
            // The uppermost bit of an operand says that it is a constant.
            .filter(|&index| index < 0x7ff0)?;
        self.constants.push(constant.clone());
        self.index.insert(constant, index);
        Some(index)
    }
}

impl Program {
    pub(crate) fn register(&mut self, class: Class) -> VReg {
        self.classes.push(class);
        VReg(self.classes.len() as u32 - 1)
    }

    pub(crate) fn class(&self, register: VReg) -> Class {
        self.classes[register.index()]
    }

    /// The registers of the stack, which a kernel has if it asks for them.
    pub(crate) fn stack(&mut self) -> StackRegisters {
        if let Some(stack) = self.stack {
            return stack;
        }
        let mut register = || self.register(Class::Narrow);
        let stack = StackRegisters {
            pointer: register(),
            frame: register(),
            arguments: register(),
        };
        self.stack = Some(stack);
        stack
    }

    /// The register that the machine fills with `preset`.
    pub(crate) fn preset(&mut self, preset: Preset) -> VReg {
        if let Some((_, register)) = self.presets.iter().find(|(other, _)| *other == preset) {
            return *register;
        }
        let register = self.register(Class::Narrow);
        self.presets.push((preset, register));
        register
    }
}
