//! The flat instruction, and the table of lane operations: what one lane computes, and nothing else.

use super::code::bank::Bank;
use super::float::{
    canonical32, canonical64, divide_approximately, exp2_f32, flush32, flush64, max32, max64,
    min32, min64, root32, root64, saturate32, saturate64, to_s32, to_u32,
};
use super::line::{Frame, Lane, map1, map2, map3};

/// One decoded instruction. Operand indices name lines of the warp's register file or constant lines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Inst {
    pub op: Op,
    pub dst: u16,
    pub a: u16,
    pub b: u16,
    pub c: u16,
    /// Predicate slot this is subject to, or [`Inst::UNGUARDED`]; [`Inst::NEGATED`] set for `@!p`.
    pub guard: u16,
    /// Index into the side table of the operation's kind, a flat branch target, or a small immediate.
    pub aux: u32,
    /// The reconvergence point of a branch.
    pub reconverge: u32,
}

impl Inst {
    pub const UNGUARDED: u16 = u16::MAX;
    pub const NEGATED: u16 = 0x8000;
    /// Set in `guard` of micro-operations after the first of one PTX instruction: it counts once.
    pub const CONTINUES: u16 = 0x4000;

    pub fn new(op: Op) -> Self {
        Self {
            op,
            dst: 0,
            a: 0,
            b: 0,
            c: 0,
            guard: Self::UNGUARDED,
            aux: 0,
            reconverge: 0,
        }
    }
}

/// The reconvergence point of paths that meet only at the end.
pub const NEVER: u32 = u32::MAX;

macro_rules! operations {
    (
        control { $($(#[$doc:meta])* $control:ident),* $(,)? }
        $( $name:ident : ($($arg:ty),+) -> $ret:ty = $f:expr ; )*
    ) => {
        /// What an instruction does.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u16)]
        pub enum Op {
            $($(#[$doc])* $control,)*
            $($name,)*
        }

        impl Op {
            /// Every lane operation.
            pub const LANE_OPERATIONS: &[Op] = &[$(Op::$name),*];

            /// The operations that are not lane operations come first.
            const CONTROLS: u16 = [$(Op::$control),*].len() as u16;

            /// Whether it is a lane operation: no effect but its result, computed lane by lane.
            #[inline(always)]
            pub fn is_lane_operation(self) -> bool {
                self as u16 >= Self::CONTROLS
            }

            /// Where a lane operation's operands and its result are held; nothing for other operations.
            pub fn banks(self) -> (&'static [Bank], Bank) {
                match self {
                    $(Op::$name => (&[$(<$arg as Lane>::BANK),+], <$ret as Lane>::BANK),)*
                    _ => (&[], Bank::None),
                }
            }
        }

        /// Computes a lane operation in all lanes of `mask`.
        #[inline(always)]
        pub fn lane_operation(inst: &Inst, frame: &mut Frame<'_>, mask: u32) {
            match inst.op {
                $(Op::$name => operations!(@call inst, frame, mask, ($($arg),+) -> $ret, $f),)*
                _ => {}
            }
        }
    };
    (@call $inst:ident, $frame:ident, $mask:ident, ($a:ty) -> $ret:ty, $f:expr) => {
        map1::<$a, $ret>($frame, $inst.dst, $inst.a, $mask, $f)
    };
    (@call $inst:ident, $frame:ident, $mask:ident, ($a:ty, $b:ty) -> $ret:ty, $f:expr) => {
        map2::<$a, $b, $ret>($frame, $inst.dst, ($inst.a, $inst.b), $mask, $f)
    };
    (@call $inst:ident, $frame:ident, $mask:ident, ($a:ty, $b:ty, $c:ty) -> $ret:ty, $f:expr) => {
        map3::<$a, $b, $c, $ret>($frame, $inst.dst, ($inst.a, $inst.b, $inst.c), $mask, $f)
    };
}

operations! {
    control {
        /// Counts, and does nothing.
        Nop,
        /// A fence: nothing, as memory is sequentially consistent, but for those who look for mistakes.
        Fence,
        /// Unconditional or guarded branch to flat position `aux`.
        Branch,
        /// Branch through table `aux` by the narrow index `a`.
        BranchTable,
        /// Start of a block where diverged lanes meet again.
        Reconverge,
        /// Ends the active lanes. With `aux`, it is a branch to the exit that is PTX instruction `aux - 1`, and counts for both.
        Exit,
        /// Calls by entry `aux` of the call table.
        Call,
        /// Brings back what the call of entry `aux` of the call table kept in the frame.
        Restore,
        /// Ends the current path: its lanes go on behind their call.
        Return,
        /// Waits for the loads in mask `aux` of the wait table.
        Wait,
        /// Entry `aux` of the arrival table: copies count at a barrier object, or a thread has seen that a phase is over.
        Arrival,
        /// Access `aux` of the memory table.
        Load,
        Store,
        Atomic,
        /// `aux` of the texture table.
        Texture,
        /// `aux` of the barrier table.
        Barrier,
        /// `aux` of the warp-operation table.
        WarpWide,
        /// `aux` of the matrix table.
        Matrix,
        /// Per-lane function `aux` of the scalar table.
        Scalar,
        /// Predicate logic by truth table `aux`.
        PredicateLogic,
        /// Traps if the narrow (`aux` 0) or wide (`aux` 1) divisor `a` is zero in any active lane.
        CheckDivisor,
        /// A system service: `aux` of the service table.
        Service,
    }

    Move32: (u32) -> u32 = |a| a;
    Move64: (u64) -> u64 = |a| a;
    ZeroExtend32: (u32) -> u64 = u64::from;
    SignExtend32: (i32) -> i64 = i64::from;
    Truncate64: (u64) -> u32 = |a| a as u32;
    HighHalf64: (u64) -> u32 = |a| (a >> 32) as u32;
    Join64: (u32, u32) -> u64 = |low, high| u64::from(low) | u64::from(high) << 32;
    SignExtend8: (u32) -> i32 = |a| i32::from(a as i8);
    SignExtend16: (u32) -> i32 = |a| i32::from(a as i16);
    Select32: (u32, u32, bool) -> u32 = |a, b, p| { let m = if p { u32::MAX } else { 0 }; (a & m) | (b & !m) };
    Select64: (u64, u64, bool) -> u64 = |a, b, p| { let m = if p { u64::MAX } else { 0 }; (a & m) | (b & !m) };

    Add32: (u32, u32) -> u32 = |a, b| a.wrapping_add(b);
    Sub32: (u32, u32) -> u32 = |a, b| a.wrapping_sub(b);
    Mul32: (u32, u32) -> u32 = |a, b| a.wrapping_mul(b);
    Mad32: (u32, u32, u32) -> u32 = |a, b, c| a.wrapping_mul(b).wrapping_add(c);
    MulHighU32: (u32, u32) -> u32 = |a, b| ((u64::from(a) * u64::from(b)) >> 32) as u32;
    MulHighS32: (i32, i32) -> i32 = |a, b| ((i64::from(a) * i64::from(b)) >> 32) as i32;
    MulWideU32: (u32, u32) -> u64 = |a, b| u64::from(a) * u64::from(b);
    MulWideS32: (i32, i32) -> i64 = |a, b| i64::from(a) * i64::from(b);
    MadWideU32: (u32, u32, u64) -> u64 = |a, b, c| (u64::from(a) * u64::from(b)).wrapping_add(c);
    MadWideS32: (i32, i32, i64) -> i64 = |a, b, c| (i64::from(a) * i64::from(b)).wrapping_add(c);
    DivU32: (u32, u32) -> u32 = divide_u32;
    RemU32: (u32, u32) -> u32 = |a, b| a.wrapping_sub(divide_u32(a, b).wrapping_mul(b));
    DivS32: (i32, i32) -> i32 = divide_s32;
    RemS32: (i32, i32) -> i32 = |a, b| a.wrapping_sub(divide_s32(a, b).wrapping_mul(b));
    MinU32: (u32, u32) -> u32 = |a, b| a.min(b);
    MaxU32: (u32, u32) -> u32 = |a, b| a.max(b);
    MinS32: (i32, i32) -> i32 = |a, b| a.min(b);
    MaxS32: (i32, i32) -> i32 = |a, b| a.max(b);
    AbsS32: (i32) -> i32 = |a| a.wrapping_abs();
    And32: (u32, u32) -> u32 = |a, b| a & b;
    Or32: (u32, u32) -> u32 = |a, b| a | b;
    Xor32: (u32, u32) -> u32 = |a, b| a ^ b;
    Not32: (u32) -> u32 = |a| !a;
    ShiftLeft32: (u32, u32) -> u32 = |a, n| if n < 32 { a << (n & 31) } else { 0 };
    ShiftRightU32: (u32, u32) -> u32 = |a, n| if n < 32 { a >> (n & 31) } else { 0 };
    ShiftRightS32: (i32, u32) -> i32 = |a, n| a >> n.min(31);
    // The funnel shifts take the low word first. 64-bit shifts below 64 keep them free of special cases.
    FunnelLeftWrap: (u32, u32, u32) -> u32 = |low, high, n| funnel_left(low, high, n & 31);
    FunnelLeftClamp: (u32, u32, u32) -> u32 = |low, high, n| funnel_left(low, high, n.min(32));
    FunnelRightWrap: (u32, u32, u32) -> u32 = |low, high, n| funnel_right(low, high, n & 31);
    FunnelRightClamp: (u32, u32, u32) -> u32 = |low, high, n| funnel_right(low, high, n.min(32));

    PopCount32: (u32) -> u32 = u32::count_ones;
    LeadingZeros32: (u32) -> u32 = u32::leading_zeros;
    PermuteBytes: (u32, u32, u32) -> u32 = permute_bytes;

    Add64: (u64, u64) -> u64 = |a, b| a.wrapping_add(b);
    Sub64: (u64, u64) -> u64 = |a, b| a.wrapping_sub(b);
    Mul64: (u64, u64) -> u64 = |a, b| a.wrapping_mul(b);
    Mad64: (u64, u64, u64) -> u64 = |a, b, c| a.wrapping_mul(b).wrapping_add(c);
    MulHighU64: (u64, u64) -> u64 = |a, b| ((u128::from(a) * u128::from(b)) >> 64) as u64;
    MulHighS64: (i64, i64) -> i64 = |a, b| ((i128::from(a) * i128::from(b)) >> 64) as i64;
    MinU64: (u64, u64) -> u64 = |a, b| a.min(b);
    MaxU64: (u64, u64) -> u64 = |a, b| a.max(b);
    MinS64: (i64, i64) -> i64 = |a, b| a.min(b);
    MaxS64: (i64, i64) -> i64 = |a, b| a.max(b);
    AbsS64: (i64) -> i64 = |a| a.wrapping_abs();
    And64: (u64, u64) -> u64 = |a, b| a & b;
    Or64: (u64, u64) -> u64 = |a, b| a | b;
    Xor64: (u64, u64) -> u64 = |a, b| a ^ b;
    Not64: (u64) -> u64 = |a| !a;
    ShiftLeft64: (u64, u32) -> u64 = |a, n| if n < 64 { a << (n & 63) } else { 0 };
    ShiftRightU64: (u64, u32) -> u64 = |a, n| if n < 64 { a >> (n & 63) } else { 0 };
    ShiftRightS64: (i64, u32) -> i64 = |a, n| a >> n.min(63);

    Equal32: (u32, u32) -> bool = |a, b| a == b;
    NotEqual32: (u32, u32) -> bool = |a, b| a != b;
    LessU32: (u32, u32) -> bool = |a, b| a < b;
    LessEqualU32: (u32, u32) -> bool = |a, b| a <= b;
    LessS32: (i32, i32) -> bool = |a, b| a < b;
    LessEqualS32: (i32, i32) -> bool = |a, b| a <= b;
    Equal64: (u64, u64) -> bool = |a, b| a == b;
    NotEqual64: (u64, u64) -> bool = |a, b| a != b;
    LessU64: (u64, u64) -> bool = |a, b| a < b;
    LessEqualU64: (u64, u64) -> bool = |a, b| a <= b;
    LessS64: (i64, i64) -> bool = |a, b| a < b;
    LessEqualS64: (i64, i64) -> bool = |a, b| a <= b;
    EqualF32: (f32, f32) -> bool = |a, b| a == b;
    LessF32: (f32, f32) -> bool = |a, b| a < b;
    LessEqualF32: (f32, f32) -> bool = |a, b| a <= b;
    UnorderedF32: (f32, f32) -> bool = |a, b| a.is_nan() | b.is_nan();
    EqualF64: (f64, f64) -> bool = |a, b| a == b;
    LessF64: (f64, f64) -> bool = |a, b| a < b;
    LessEqualF64: (f64, f64) -> bool = |a, b| a <= b;
    UnorderedF64: (f64, f64) -> bool = |a, b| a.is_nan() | b.is_nan();

    AddF32: (f32, f32) -> f32 = |a, b| canonical32(a + b);
    SubF32: (f32, f32) -> f32 = |a, b| canonical32(a - b);
    MulF32: (f32, f32) -> f32 = |a, b| canonical32(a * b);
    FmaF32: (f32, f32, f32) -> f32 = |a, b, c| canonical32(a.mul_add(b, c));
    DivF32: (f32, f32) -> f32 = |a, b| canonical32(a / b);
    DivApproxF32: (f32, f32) -> f32 = divide_approximately;
    SqrtF32: (f32) -> f32 = root32;
    RsqrtF32: (f32) -> f32 = |a| canonical32((1.0 / f64::from(a).sqrt()) as f32);
    Exp2F32: (f32) -> f32 = exp2_f32;
    MinF32: (f32, f32) -> f32 = min32;
    MaxF32: (f32, f32) -> f32 = max32;
    FlushF32: (f32) -> f32 = flush32;
    FlushF64: (f64) -> f64 = flush64;
    SaturateF32: (f32) -> f32 = saturate32;
    TruncF32: (f32) -> f32 = |a| canonical32(a.trunc());
    FloorF32: (f32) -> f32 = |a| canonical32(a.floor());
    CeilF32: (f32) -> f32 = |a| canonical32(a.ceil());
    RintF32: (f32) -> f32 = |a| canonical32(a.round_ties_even());

    AddF64: (f64, f64) -> f64 = |a, b| canonical64(a + b);
    SubF64: (f64, f64) -> f64 = |a, b| canonical64(a - b);
    MulF64: (f64, f64) -> f64 = |a, b| canonical64(a * b);
    FmaF64: (f64, f64, f64) -> f64 = |a, b, c| canonical64(a.mul_add(b, c));
    DivF64: (f64, f64) -> f64 = |a, b| canonical64(a / b);
    SqrtF64: (f64) -> f64 = root64;
    MinF64: (f64, f64) -> f64 = min64;
    MaxF64: (f64, f64) -> f64 = max64;
    SaturateF64: (f64) -> f64 = saturate64;
    TruncF64: (f64) -> f64 = |a| canonical64(a.trunc());
    FloorF64: (f64) -> f64 = |a| canonical64(a.floor());
    CeilF64: (f64) -> f64 = |a| canonical64(a.ceil());
    RintF64: (f64) -> f64 = |a| canonical64(a.round_ties_even());

    S32ToF32: (i32) -> f32 = |a| a as f32;
    U32ToF32: (u32) -> f32 = |a| a as f32;
    S32ToF64: (i32) -> f64 = f64::from;
    U32ToF64: (u32) -> f64 = f64::from;
    S64ToF64: (i64) -> f64 = |a| a as f64;
    U64ToF64: (u64) -> f64 = |a| a as f64;
    F32ToF64: (f32) -> f64 = |a| canonical64(f64::from(a));
    F64ToF32: (f64) -> f32 = |a| canonical32(a as f32);
    F32ToS32: (f32) -> i32 = |a| to_s32(f64::from(a));
    F32ToU32: (f32) -> u32 = |a| to_u32(f64::from(a));
    // Only a double source turns NaN into the sign bit.
    F64ToS32: (f64) -> i32 = |a| if a.is_nan() { i32::MIN } else { to_s32(a) };
    F64ToU32: (f64) -> u32 = |a| if a.is_nan() { 1 << 31 } else { to_u32(a) };
}

/// Through doubles, which vectorise: the quotient of two 32-bit integers, rounded to 53 bits, never reaches the next integer.
#[inline(always)]
fn divide_u32(a: u32, b: u32) -> u32 {
    let quotient = to_u32(f64::from(a) / f64::from(b));
    if b == 0 { u32::MAX } else { quotient }
}

#[inline(always)]
fn divide_s32(a: i32, b: i32) -> i32 {
    let magnitude = divide_u32(a.unsigned_abs(), b.unsigned_abs()) as i32;
    let sign = (a ^ b) >> 31;
    let quotient = (magnitude ^ sign).wrapping_sub(sign);
    if b == 0 { -1 } else { quotient }
}

/// Each nibble of `selectors` picks a byte of `high:low`, or with its top bit that byte's sign.
#[inline(always)]
fn permute_bytes(low: u32, high: u32, selectors: u32) -> u32 {
    let bytes = (u64::from(high) << 32) | u64::from(low);
    let pick = |index: u32| {
        let selector = selectors >> (4 * index);
        let byte = (bytes >> (8 * (selector & 7))) as u32 & 0xff;
        let sign = if byte & 0x80 != 0 { 0xff } else { 0 };
        (if selector & 8 != 0 { sign } else { byte }) << (8 * index)
    };
    pick(0) | pick(1) | pick(2) | pick(3)
}

#[inline(always)]
fn funnel_left(low: u32, high: u32, n: u32) -> u32 {
    ((u64::from(high) << 32 | u64::from(low)) << n >> 32) as u32
}

#[inline(always)]
fn funnel_right(low: u32, high: u32, n: u32) -> u32 {
    ((u64::from(high) << 32 | u64::from(low)) >> n) as u32
}

#[cfg(test)]
mod tests;
