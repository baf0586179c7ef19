//! What lowering hands to execution: flat instructions and the side tables they index.

pub mod bank;
pub mod device_calls;
pub mod entry;
pub mod path;
pub mod warp_group;

use super::op::Inst;
use crate::ast::Space;
pub use bank::{AddressOperand, Bank};
use device_calls::RuntimeCall;
use warp_group::GroupMeeting;

/// A kernel in executable form.
#[derive(Clone, Debug, Default)]
pub struct Code {
    /// Instructions without waits, for functional runs.
    pub functional: Stream,
    /// The same with [`Op::Wait`](super::op::Op::Wait) before consumers of loads.
    pub stepped: Stream,
    pub memory: Vec<MemoryInst>,
    pub textures: Vec<TextureInst>,
    pub barriers: Vec<BarrierInst>,
    pub arrivals: Vec<ArrivalInst>,
    pub warp_wide: Vec<WarpWideInst>,
    pub matrices: Vec<MatrixInst>,
    pub scalars: Vec<ScalarInst>,
    pub services: Vec<Service>,
    pub calls: Vec<CallInst>,
    /// Functions that are called rather than expanded.
    pub subroutines: Vec<Subroutine>,
    /// Present if the kernel has a stack: it calls functions, or takes memory with `alloca`.
    pub stack: Option<StackSlots>,
    pub constants_narrow: Vec<Constant>,
    pub constants_wide: Vec<Constant>,
    pub slots_narrow: u16,
    pub slots_wide: u16,
    pub slots_predicate: u16,
    /// Narrow slots the machine fills before the first instruction.
    pub preset: Vec<(Preset, u16)>,
    /// Slots that may be read before they are written, and therefore start as zero: narrow, wide, predicate.
    pub zeroed: [Vec<u16>; 3],
    /// Memory instructions, each with its own allocation hint.
    pub sites: u32,
}

impl Code {
    /// The stream of functional or of stepped runs.
    pub fn stream(&self, stepped: bool) -> &Stream {
        if stepped {
            &self.stepped
        } else {
            &self.functional
        }
    }
}

/// One linear instruction stream.
#[derive(Clone, Debug, Default)]
pub struct Stream {
    pub insts: Vec<Inst>,
    /// For each flat position, and one past the end: PTX instructions that come before it.
    pub before: Vec<u32>,
    /// The PTX instruction each flat instruction belongs to.
    pub info: Vec<u32>,
    /// Targets of each `brx.idx`.
    pub tables: Vec<Vec<u32>>,
    /// Where each subroutine begins.
    pub entries: Vec<u32>,
    pub waits: Vec<u64>,
}

impl Stream {
    /// Appends an instruction of PTX instruction `info`, `before` of which come before it.
    pub fn push(&mut self, inst: Inst, before: u32, info: u32) {
        self.insts.push(inst);
        self.before.push(before);
        self.info.push(info);
    }
}

/// A value that does not change during a launch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Constant {
    Bits(u64),
    /// Bytes of the kernel's parameter block.
    Param {
        offset: u32,
        bytes: u8,
        signed: bool,
    },
    /// Address of a module-level variable plus an addend.
    Symbol {
        index: u32,
        addend: i64,
    },
    GridDim(u8),
    BlockDim(u8),
    DynamicSharedBytes,
    TotalSharedBytes,
    ReservedShared(u16),
    WarpsPerBlock,
    /// Blocks of a cluster, and clusters of the grid, in each dimension; blocks of a cluster in all.
    ClusterDim(u8),
    ClusterGridDim(u8),
    ClusterBlocks,
    /// Whether the launch or the kernel asks for clusters.
    IsExplicitCluster,
    /// The halves of the address of the grid's workspace: the upper one in `%envreg1`, the lower one in `%envreg2`.
    GridWorkspaceHigh,
    GridWorkspaceLow,
}

/// A per-thread or per-block value held in a narrow slot of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Preset {
    ThreadIndex(u8),
    BlockIndex(u8),
    /// Coordinates of the cluster in the grid, and of the block in its cluster; its number there.
    ClusterIndex(u8),
    ClusterBlock(u8),
    ClusterRank,
    Lane,
    Warp,
    LaneMask(LaneMask),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LaneMask {
    Equal,
    LessEqual,
    Less,
    GreaterEqual,
    Greater,
}

/// What a memory instruction does to memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// Reads.
    #[default]
    Load,
    /// Writes.
    Store,
    /// Reads, changes and writes; the old value is returned.
    Atomic,
    /// Changes memory without an answer.
    Reduction,
}

/// The cache operator or eviction priority of a load or store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CacheHint {
    /// `.ca`, `.wb` or none given.
    #[default]
    Default,
    /// `.cg`: cache at the L2 level only.
    GlobalLevel,
    /// `.cs`, `.lu`, `evict_first`, `no_allocate`: unlikely to be used again.
    Streaming,
    /// `.cv`, `.wt`, `.volatile`, `.mmio` and scoped accesses: do not serve from a stale line.
    Volatile,
    /// `.nc`: read-only for the whole kernel.
    ReadOnly,
}

/// Bytes that a mark of a store stands for, where blocks on several cores mark what they store.
pub const WORD_BYTES: usize = 4;

/// Registers of a vector access at most.
pub const VECTOR_MAX: usize = 8;

/// Which of an atomic's registers is the destination of the upper half, of 128 bits.
pub const HIGH_RESULT: usize = VECTOR_MAX - 1;

/// The operand index of a destination that is thrown away.
pub const SINK: u16 = u16::MAX;

/// One memory instruction.
#[derive(Clone, Debug)]
pub struct MemoryInst {
    pub kind: AccessKind,
    pub space: Space,
    pub address: AddressOperand,
    pub offset: i64,
    pub element_bytes: u8,
    pub signed: bool,
    /// Whether the registers are 64-bit ones.
    pub wide: bool,
    pub count: u8,
    /// Destinations of a load; values of a store or atomic.
    pub registers: [u16; VECTOR_MAX],
    /// Destination of an atomic, or [`SINK`].
    pub result: u16,
    pub atomic: Option<Atomic>,
    pub slot: Option<u8>,
    pub hint: CacheHint,
    /// Whether an access before it stands for it in simulated time.
    pub untimed: bool,
    pub site: u32,
}

impl MemoryInst {
    #[inline]
    pub fn lane_bytes(&self) -> u32 {
        u32::from(self.element_bytes) * u32::from(self.count)
    }
}

/// One texture or surface instruction.
#[derive(Clone, Debug)]
pub struct TextureInst {
    pub form: TextureForm,
    /// Wide operand: the handle.
    pub object: u16,
    /// Narrow operands: one for each dimension; of surfaces, the first counts bytes.
    pub coordinates: [u16; 3],
    /// Narrow operand: the layer.
    pub layer: Option<u16>,
    /// Narrow operands: the level or the gradients.
    pub detail: [u16; 6],
    /// Destinations of a fetch or load; values of a store.
    pub registers: [u16; 4],
    pub slot: Option<u8>,
}

/// What a texture or surface instruction does, apart from its operands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextureForm {
    pub action: TextureAction,
    /// Coordinates without the layer.
    pub dimensions: u8,
    /// Whether the coordinates are a direction, which meets a face of a cube.
    pub cube: bool,
    pub detail: Detail,
}

impl TextureForm {
    /// Operands that say which level is meant.
    pub fn detail_operands(&self) -> usize {
        match self.detail {
            Detail::First => 0,
            Detail::Level => 1,
            Detail::Gradients => 2 * usize::from(self.dimensions),
        }
    }
}

/// How a fetch says which level of an image it means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// The first.
    First,
    /// By number.
    Level,
    /// By how far neighbors on the screen are apart: for each dimension to the right, then for each down.
    Gradients,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TextureAction {
    Sample { integer_coordinates: bool },
    Gather { component: u8 },
    Load(SurfaceElement),
    Store(SurfaceElement),
}

/// What a surface instruction moves for a lane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SurfaceElement {
    /// Bytes of a register's value.
    pub bytes: u8,
    /// Registers.
    pub count: u8,
    /// Whether the registers are 64-bit ones.
    pub wide: bool,
    pub outside: OutsideSurface,
}

/// What an access outside of a surface does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutsideSurface {
    Trap,
    Clamp,
    /// Loads zeroes, stores nothing.
    Zero,
}

/// The change an atomic makes: old value and operands to new value.
#[derive(Clone, Copy, Debug)]
pub struct Atomic {
    pub apply: fn(old: u64, a: u64, b: u64) -> u64,
}

/// `bar`, `barrier`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BarrierInst {
    /// Narrow operand: which barrier.
    pub id: u16,
    /// Narrow operand: how many threads, or `None` for all.
    pub threads: Option<u16>,
    /// Whether to wait.
    pub waits: bool,
    pub reduction: Option<BarrierReduction>,
    pub scope: BarrierScope,
}

/// Who meets at a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BarrierScope {
    Block,
    /// Arriving and waiting are apart.
    Cluster,
    /// The four warps of a group.
    WarpGroup(GroupMeeting),
}

impl BarrierInst {
    pub fn is_of_cluster(&self) -> bool {
        self.scope == BarrierScope::Cluster
    }

    /// Whether accesses before it are ordered before those behind it.
    pub fn orders(&self) -> bool {
        self.scope != BarrierScope::WarpGroup(GroupMeeting::Product)
    }
}

/// Where the bytes of copies count, or are waited for.
#[derive(Clone, Debug)]
pub struct ArrivalInst {
    /// The barrier object: as an access.
    pub object: MemoryInst,
    /// Slots of the copies' loads.
    pub slots: u64,
    /// What says which phase is waited for: its parity in 32 bits, or a state of that phase in 64.
    pub phase: Option<AddressOperand>,
    /// Whether that phase is not over, so that the warp is suspended.
    pub suspends: bool,
}

/// `bar.red`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BarrierReduction {
    pub kind: Reduce,
    pub source: u16,
    pub negated: bool,
    /// Narrow slot for a count, predicate slot otherwise.
    pub dst: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduce {
    Count,
    And,
    Or,
}

/// An instruction in which lanes see each other.
#[derive(Clone, Copy, Debug)]
pub struct WarpWideInst {
    pub kind: WarpWide,
    pub dst: u16,
    /// Predicate destination of shuffles and matches, or [`SINK`].
    pub dst_predicate: u16,
    pub a: u16,
    pub b: u16,
    pub c: u16,
    /// Narrow operand: the member mask, or `None` for the forms without `.sync`.
    pub members: Option<u16>,
    pub negated: bool,
}

#[derive(Clone, Copy, Debug)]
pub enum WarpWide {
    ShuffleUp,
    ShuffleDown,
    ShuffleButterfly,
    ShuffleIndex,
    VoteAll,
    VoteAny,
    VoteUniform,
    Ballot,
    ActiveMask,
    MatchAny32,
    MatchAny64,
    MatchAll32,
    MatchAll64,
    Redux(fn(u32, u32) -> u32),
    Elect,
    Barrier,
}

/// A product of small matrices, or a load of one, by all lanes of a warp together.
#[derive(Clone, Debug)]
pub enum MatrixInst {
    Multiply(MatrixProduct),
    Load(MatrixLoad),
    Tile(MatrixTile),
}

/// `mma`: D = A B + C.
#[derive(Clone, Debug)]
pub struct MatrixProduct {
    pub form: ProductForm,
    /// Registers of a lane, of the class that the element says.
    pub a: Vec<u16>,
    pub b: Vec<u16>,
    pub c: Vec<u16>,
    pub d: Vec<u16>,
}

/// Sizes and element types of a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProductForm {
    pub rows: usize,
    pub columns: usize,
    /// Terms of each sum.
    pub depth: usize,
    pub a: Element,
    pub b: Element,
    pub c: Element,
    pub d: Element,
    /// Whether integers stop at the ends of their range instead of wrapping around.
    pub saturates: bool,
    /// Whether bits are joined by exclusive or instead of and.
    pub is_exclusive: bool,
}

/// What matrices are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    F16,
    Bf16,
    Tf32,
    F32,
    F64,
    E4m3,
    E5m2,
    S8,
    U8,
    S4,
    U4,
    S32,
    /// Single bits, 32 to a register.
    B1,
}

/// An operand of a product, out of a larger matrix that a descriptor of `wgmma` says lies in shared memory.
#[derive(Clone, Debug)]
pub struct MatrixTile {
    pub shape: TileShape,
    /// Operands: the descriptor, and the first row of A or column of B.
    pub descriptor: u16,
    pub first: u16,
    pub registers: Vec<u16>,
}

/// Which operand of which product, and how it lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileShape {
    pub form: ProductForm,
    /// Operand A rather than B.
    pub is_a: bool,
    /// Whether elements of different rows of A, or columns of B, lie side by side, rather than the terms of one sum.
    pub is_across: bool,
}

/// `ldmatrix`: 8 by 8 elements of 16 bits, `registers.len()` times.
#[derive(Clone, Debug)]
pub struct MatrixLoad {
    pub space: Space,
    pub address: AddressOperand,
    pub offset: i64,
    pub transposes: bool,
    pub registers: Vec<u16>,
}

/// A per-lane function of up to three operands, for what is not worth a vector loop.
#[derive(Clone, Copy, Debug)]
pub struct ScalarInst {
    pub function: ScalarFn,
    /// Handed to the function as its last argument.
    pub immediate: u32,
    pub result: Bank,
    pub operands: [Bank; 3],
}

/// Operand bits (zero-extended; predicates as 0 or 1) to result bits.
pub type ScalarFn = fn(a: u64, b: u64, c: u64, immediate: u32) -> u64;

/// A call of a subroutine.
#[derive(Clone, Debug)]
pub struct CallInst {
    pub target: CallTarget,
    /// Bytes of results and parameters, which lie at the caller's stack pointer.
    pub argument_bytes: u32,
    /// What the caller keeps in its frame, behind them.
    pub saved: SavedSlots,
    /// Of a call by address: the functions it may reach, address and subroutine, by address.
    pub callees: Vec<(u64, u32)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallTarget {
    /// That entry of [`Code::subroutines`].
    Subroutine(u32),
    /// Wide operand: the address of a function.
    Address(u16),
}

/// Slots whose values outlive a call.
#[derive(Clone, Debug, Default)]
pub struct SavedSlots {
    pub narrow: Vec<u16>,
    pub wide: Vec<u16>,
    pub predicates: Vec<u16>,
    /// Room for them in the frame.
    pub bytes: u32,
}

/// A function that is called.
#[derive(Clone, Copy, Debug)]
pub struct Subroutine {
    /// Bytes of its own variables.
    pub frame_bytes: u32,
}

/// Narrow slots that hold offsets in local memory.
#[derive(Clone, Copy, Debug)]
pub struct StackSlots {
    /// End of the stack.
    pub pointer: u16,
    /// Variables of the current function.
    pub frame: u16,
    /// Results and parameters of the current function.
    pub arguments: u16,
    /// Where the stack begins: behind the kernel's own variables.
    pub bottom: u32,
    /// Bytes behind the stack pointer that a call may fill with parameters.
    pub margin: u32,
}

/// What a kernel asks of the system.
#[derive(Clone, Debug, PartialEq)]
pub enum Service {
    /// `vprintf(format, arguments)`: wide operands; the narrow destination gets the argument count.
    Print {
        format: u16,
        arguments: u16,
        dst: u16,
    },
    /// `__assertfail(message, file, line, function, size)`.
    AssertFail {
        message: u16,
        file: u16,
        line: u16,
        function: u16,
    },
    /// `trap` or `brkpt`.
    Trap,
    /// Stops the kernel for a reason.
    Misuse(&'static str),
    /// Makes room up to the stack pointer in this narrow slot.
    GrowStack { pointer: u16 },
    /// `malloc(bytes)`: a wide operand; the wide destination gets the address, or 0.
    Malloc { bytes: u16, dst: u16 },
    /// `free(address)`: a wide operand.
    Free { address: u16 },
    /// A function of the device runtime.
    Runtime(Box<RuntimeCall>),
    /// A clock register into a narrow or wide slot.
    Clock { dst: u16, part: ClockPart },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockPart {
    Low,
    High,
    Whole,
}
