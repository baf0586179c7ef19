//! What PTX text says, before anything is decided about how to run it.
//!
//! Names are resolved only as far as the grammar needs: registers get an index into their function's register
//! table, labels an index into its statement list. Opcodes stay text, split at the dots; `lower` gives them meaning.

pub mod error;

/// A source line number of the PTX text, from 1.
pub type Line = u32;

/// One PTX translation unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Module {
    /// `.version`, for example (9, 5).
    pub version: (u32, u32),
    /// `.target`'s architecture number, for example 75.
    pub target_sm: u32,
    /// Module-level `.global`, `.const` and `.shared` variables, declaration order.
    pub variables: Vec<Variable>,
    /// `.entry` and `.func`, declaration order, each name once; one without a definition here has no body.
    pub functions: Vec<Function>,
    /// `.file` directives: index to path.
    pub files: Vec<(u32, String)>,
    /// `.alias` directives: (alias, function it stands for).
    pub aliases: Vec<(String, String)>,
}

/// A state space of PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    /// `.reg`
    Register,
    /// `.param`
    Param,
    /// `.const`
    Const,
    /// `.global`
    Global,
    /// `.shared`
    Shared,
    /// `.local`
    Local,
    /// No space named: decided by the address at run time.
    Generic,
}

/// A fundamental type of PTX: class and width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are those of the PTX ISA")]
pub enum Type {
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
    Pred,
}

impl Type {
    /// The type of that PTX name (`u32`), without the dot.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "b8" => Self::B8,
            "b16" => Self::B16,
            "b32" => Self::B32,
            "b64" => Self::B64,
            "b128" => Self::B128,
            "u8" => Self::U8,
            "u16" => Self::U16,
            "u32" => Self::U32,
            "u64" => Self::U64,
            "s8" => Self::S8,
            "s16" => Self::S16,
            "s32" => Self::S32,
            "s64" => Self::S64,
            "f16" => Self::F16,
            "f16x2" => Self::F16x2,
            "bf16" => Self::Bf16,
            "bf16x2" => Self::Bf16x2,
            "f32" => Self::F32,
            "f64" => Self::F64,
            "pred" => Self::Pred,
            _ => return None,
        })
    }

    /// Size in bytes; a predicate counts as one.
    pub fn bytes(self) -> u64 {
        match self {
            Self::B8 | Self::U8 | Self::S8 | Self::Pred => 1,
            Self::B16 | Self::U16 | Self::S16 | Self::F16 | Self::Bf16 => 2,
            Self::B32 | Self::U32 | Self::S32 | Self::F16x2 | Self::Bf16x2 | Self::F32 => 4,
            Self::B64 | Self::U64 | Self::S64 | Self::F64 => 8,
            Self::B128 => 16,
        }
    }
}

/// A variable in `.global`, `.const`, `.shared`, `.local` or `.param`.
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Name as written.
    pub name: String,
    /// Where it lives.
    pub space: Space,
    /// Alignment in bytes (declared, else the element's natural one).
    pub align: u64,
    /// Element type.
    pub ty: Type,
    /// Size in bytes over all elements; 0 for an `extern` array `[]`.
    pub bytes: u64,
    /// Bytes from one index to the next, for each dimension; empty for what is no array.
    pub strides: Vec<u64>,
    /// Whether it was `.extern` (dynamic shared memory when shared).
    pub is_extern: bool,
    /// Initial bytes, `bytes` long when present; absent means zero.
    pub init: Option<Vec<u8>>,
    /// Places in `init` that hold the address of another symbol plus an addend.
    pub relocations: Vec<Relocation>,
    /// Line of its declaration.
    pub line: Line,
}

/// `bytes_len` bytes at `offset` of an initializer are the address of `symbol` plus `addend`.
#[derive(Clone, Debug, PartialEq)]
pub struct Relocation {
    /// Offset in the initializer.
    pub offset: u64,
    /// Width in bytes: 4 or 8; 1 where a mask like `0xFF00(symbol)` takes a single byte of the address.
    pub width: u8,
    /// Bits the sum is shifted right before its low `width` bytes are stored: 8 for `0xFF00(symbol)`, else 0.
    pub shift: u8,
    /// Named variable or function.
    pub symbol: String,
    /// Added to its address.
    pub addend: i64,
    /// Whether `generic(symbol)` was written.
    pub generic: bool,
}

/// A `.entry` or `.func`.
#[derive(Clone, Debug, PartialEq)]
pub struct Function {
    /// Name as written (mangled).
    pub name: String,
    /// `.entry` rather than `.func`.
    pub is_entry: bool,
    /// Return parameters of a `.func` (`.param` or `.reg` space).
    /// Those of `.reg` space, then such `params`, are the first `registers`, in order.
    pub returns: Vec<Variable>,
    /// Parameters in order.
    pub params: Vec<Variable>,
    /// Every register used anywhere in the body, each scope's own; a declared one that nothing names is left out.
    pub registers: Vec<Register>,
    /// `.shared`, `.local` and `.param` variables declared anywhere in the body, scopes flattened by renaming.
    pub variables: Vec<Variable>,
    /// Instructions, in order; empty for a prototype.
    pub body: Vec<Instruction>,
    /// Whether a body was given.
    pub has_body: bool,
    /// Label name and the index in `body` it stands before (may equal `body.len()`).
    pub labels: Vec<(String, usize)>,
    /// `.branchtargets` lists, by their label.
    pub branch_targets: Vec<(String, Vec<String>)>,
    /// `.calltargets` lists, by their label: the functions an indirect call may reach.
    pub call_targets: Vec<(String, Vec<String>)>,
    /// `.callprototype`s, one of which may stand as the last operand of an indirect call.
    pub call_prototypes: Vec<Prototype>,
    /// `.maxntid`, `.reqntid`, `.minnctapersm`, `.maxnreg` ... as (directive, values).
    pub directives: Vec<(String, Vec<u32>)>,
    /// Line of its declaration.
    pub line: Line,
}

/// `.callprototype`: what a function that is called by its address takes and returns.
#[derive(Clone, Debug, PartialEq)]
pub struct Prototype {
    /// Its label.
    pub label: String,
    /// Return parameters.
    pub returns: Vec<Variable>,
    /// Parameters in order.
    pub params: Vec<Variable>,
}

/// A declared register.
#[derive(Clone, Debug, PartialEq)]
pub struct Register {
    /// Name, for messages (`%r12`).
    pub name: String,
    /// Declared type.
    pub ty: Type,
}

/// Index into [`Function::registers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RegisterId(pub u32);

/// One instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction {
    /// `@%p` or `@!%p`.
    pub guard: Option<Guard>,
    /// The opcode split at its dots: `ld.global.v4.f32` is `["ld", "global", "v4", "f32"]`.
    /// A `::` stays inside its part (`shared::cta`).
    pub opcode: Vec<String>,
    /// Operands in the order written.
    pub operands: Vec<Operand>,
    /// PTX line it starts on.
    pub line: Line,
    /// The nearest `.loc` before it: (file index, line), when given.
    pub source: Option<(u32, u32)>,
    /// Where the compiler has inlined the function that `source` lies in, as far out as `.loc` says.
    pub caller: Option<(u32, u32)>,
}

/// The predicate an instruction is subject to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The predicate register.
    pub register: RegisterId,
    /// Whether `!` was written.
    pub negated: bool,
}

/// One operand.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A register.
    Register(RegisterId),
    /// `!%p`, as `setp` and `selp` combine take it.
    NegatedRegister(RegisterId),
    /// `%tid.x`, `%laneid`, `%clock64` ...: the name without `%`, split at the dot: ("tid", Some('x')).
    Special(String, Option<char>),
    /// An integer literal, two's complement in 64 bits (`U` suffix and constant expressions folded).
    Integer(u64),
    /// `0f...` as its 32 bits.
    Float32(u32),
    /// `0d...` or a decimal float, as its 64 bits.
    Float64(u64),
    /// A variable, function or label name plus a byte offset.
    Symbol(String, i64),
    /// `[base + offset]`.
    Address(Box<Address>),
    /// `{a, b, ...}`.
    Vector(Vec<Operand>),
    /// `a|b`, the paired destination of `setp` and `shfl`.
    Pair(Box<Operand>, Box<Operand>),
    /// `(a, b, ...)`, the argument lists of `call`.
    List(Vec<Operand>),
    /// `_`, a discarded destination.
    Sink,
}

/// What stands in `[...]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Address {
    /// Register, symbol or integer that the offset is added to; for texture operands, see `coordinates`.
    pub base: Operand,
    /// Byte offset.
    pub offset: i64,
    /// `[tex, {x, y}]`: the operands behind the base.
    pub coordinates: Vec<Operand>,
}
