//! Registers of a warp as lines of 32 lanes, and the loops over them.
//!
//! Every loop here is written so that the compiler turns it into whole-vector code: constant trip count, no
//! branch in the body, results collected in a local array before they are stored.

use super::code::bank::Bank;

/// Lanes of a warp.
pub const LANES: usize = 32;

/// The mask of all lanes.
pub const FULL: u32 = u32::MAX;

/// Set in an operand that names a constant line rather than a register line.
pub const CONSTANT_BIT: u16 = 0x8000;

/// One bit per lane, as a table: comparing against it vectorises, shifting by a lane number does not.
pub const LANE_BITS: [u32; LANES] = {
    let mut bits = [0; LANES];
    let mut lane = 0;
    while lane < LANES {
        bits[lane] = 1 << lane;
        lane += 1;
    }
    bits
};

/// The lanes of `mask`, lowest first.
#[inline(always)]
pub fn lanes_of(mask: u32) -> impl Iterator<Item = usize> {
    let mut rest = mask;
    std::iter::from_fn(move || {
        let lane = rest.trailing_zeros() as usize;
        (rest != 0).then(|| {
            rest &= rest - 1;
            lane
        })
    })
}

/// One register of all lanes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub struct Line<T>(pub [T; LANES]);

impl<T> std::ops::Index<usize> for Line<T> {
    type Output = T;
    #[inline(always)]
    fn index(&self, lane: usize) -> &T {
        &self.0[lane]
    }
}

impl<T> std::ops::IndexMut<usize> for Line<T> {
    #[inline(always)]
    fn index_mut(&mut self, lane: usize) -> &mut T {
        &mut self.0[lane]
    }
}

impl<T: Copy> Line<T> {
    #[inline(always)]
    pub fn splat(value: T) -> Self {
        Self([value; LANES])
    }
}

/// The register file of one warp.
#[derive(Clone, Debug, PartialEq)]
pub struct Registers {
    pub narrow: Vec<Line<u32>>,
    pub wide: Vec<Line<u64>>,
    pub predicates: Vec<u32>,
}

impl Registers {
    /// Zeroes the given slots: narrow, wide, predicate.
    #[inline]
    pub fn zero(&mut self, [narrow, wide, predicates]: &[Vec<u16>; 3]) {
        for &slot in narrow {
            self.narrow[usize::from(slot)] = Line::splat(0);
        }
        for &slot in wide {
            self.wide[usize::from(slot)] = Line::splat(0);
        }
        for &slot in predicates {
            self.predicates[usize::from(slot)] = 0;
        }
    }
}

/// Lines that no instruction writes: immediates, parameters, symbol addresses, launch dimensions.
#[derive(Clone, Debug, Default)]
pub struct ConstantLines {
    pub narrow: Vec<Line<u32>>,
    pub wide: Vec<Line<u64>>,
}

/// What an instruction's operand indices refer to.
pub struct Frame<'a> {
    pub narrow: &'a mut [Line<u32>],
    pub wide: &'a mut [Line<u64>],
    pub predicates: &'a mut [u32],
    pub constants_narrow: &'a [Line<u32>],
    pub constants_wide: &'a [Line<u64>],
}

impl<'a> Frame<'a> {
    #[inline]
    pub fn new(registers: &'a mut Registers, constants: &'a ConstantLines) -> Self {
        Self {
            narrow: &mut registers.narrow,
            wide: &mut registers.wide,
            predicates: &mut registers.predicates,
            constants_narrow: &constants.narrow,
            constants_wide: &constants.wide,
        }
    }

    #[inline(always)]
    pub fn narrow(&self, operand: u16) -> &[u32; LANES] {
        let constant = operand & CONSTANT_BIT != 0;
        let arena: &[Line<u32>] = if constant {
            self.constants_narrow
        } else {
            self.narrow
        };
        &arena[usize::from(operand & !CONSTANT_BIT)].0
    }

    #[inline(always)]
    pub fn wide(&self, operand: u16) -> &[u64; LANES] {
        let constant = operand & CONSTANT_BIT != 0;
        let arena: &[Line<u64>] = if constant {
            self.constants_wide
        } else {
            self.wide
        };
        &arena[usize::from(operand & !CONSTANT_BIT)].0
    }

    #[inline(always)]
    pub fn predicate(&self, slot: u16) -> u32 {
        self.predicates[usize::from(slot)]
    }

    #[inline(always)]
    pub fn set_narrow(&mut self, slot: u16, mask: u32, out: [u32; LANES]) {
        let line = &mut self.narrow[usize::from(slot)].0;
        if mask == FULL {
            *line = out;
        } else {
            let old = *line;
            let mut new = [0; LANES];
            for lane in 0..LANES {
                let keep = if mask & LANE_BITS[lane] != 0 {
                    0
                } else {
                    u32::MAX
                };
                new[lane] = (old[lane] & keep) | (out[lane] & !keep);
            }
            *line = new;
        }
    }

    #[inline(always)]
    pub fn set_wide(&mut self, slot: u16, mask: u32, out: [u64; LANES]) {
        let line = &mut self.wide[usize::from(slot)].0;
        if mask == FULL {
            *line = out;
        } else {
            let old = *line;
            let mut new = [0; LANES];
            for lane in 0..LANES {
                let keep = if mask & LANE_BITS[lane] != 0 {
                    0
                } else {
                    u64::MAX
                };
                new[lane] = (old[lane] & keep) | (out[lane] & !keep);
            }
            *line = new;
        }
    }

    #[inline(always)]
    pub fn set_predicate(&mut self, slot: u16, mask: u32, bits: u32) {
        let predicate = &mut self.predicates[usize::from(slot)];
        *predicate = (*predicate & !mask) | (bits & mask);
    }
}

/// A type of lane value: where it is held and how its bits read.
pub trait Lane: Copy {
    /// What is borrowed to read all lanes.
    type Source<'a>: Copy;
    /// What one lane's result is collected as.
    type Cell: Copy;
    const EMPTY: Self::Cell;
    /// Which arena holds it.
    const BANK: Bank;
    fn source<'a>(frame: &'a Frame<'_>, operand: u16) -> Self::Source<'a>;
    fn at(source: Self::Source<'_>, lane: usize) -> Self;
    fn cell(self, lane: usize) -> Self::Cell;
    fn commit(frame: &mut Frame<'_>, slot: u16, mask: u32, out: [Self::Cell; LANES]);
}

macro_rules! lane_type {
    ($ty:ty, $bank:ident, $cell:ty, $read:ident, $write:ident, $from:expr, $to:expr) => {
        impl Lane for $ty {
            type Source<'a> = &'a [$cell; LANES];
            type Cell = $cell;
            const EMPTY: $cell = 0;
            const BANK: Bank = Bank::$bank;
            #[inline(always)]
            fn source<'a>(frame: &'a Frame<'_>, operand: u16) -> Self::Source<'a> {
                frame.$read(operand)
            }
            #[inline(always)]
            fn at(source: Self::Source<'_>, lane: usize) -> Self {
                $from(source[lane])
            }
            #[inline(always)]
            fn cell(self, _lane: usize) -> $cell {
                $to(self)
            }
            #[inline(always)]
            fn commit(frame: &mut Frame<'_>, slot: u16, mask: u32, out: [$cell; LANES]) {
                frame.$write(slot, mask, out);
            }
        }
    };
}

lane_type!(u32, Narrow, u32, narrow, set_narrow, |bits| bits, |value| {
    value
});
lane_type!(
    i32,
    Narrow,
    u32,
    narrow,
    set_narrow,
    |bits: u32| bits as i32,
    |value: i32| value as u32
);
lane_type!(
    f32,
    Narrow,
    u32,
    narrow,
    set_narrow,
    f32::from_bits,
    f32::to_bits
);
lane_type!(u64, Wide, u64, wide, set_wide, |bits| bits, |value| value);
lane_type!(
    i64,
    Wide,
    u64,
    wide,
    set_wide,
    |bits: u64| bits as i64,
    |value: i64| value as u64
);
lane_type!(f64, Wide, u64, wide, set_wide, f64::from_bits, f64::to_bits);

impl Lane for bool {
    type Source<'a> = u32;
    type Cell = u32;
    const EMPTY: u32 = 0;
    const BANK: Bank = Bank::Predicate;
    #[inline(always)]
    fn source(frame: &Frame<'_>, operand: u16) -> u32 {
        frame.predicate(operand)
    }
    #[inline(always)]
    fn at(source: u32, lane: usize) -> Self {
        source & LANE_BITS[lane] != 0
    }
    #[inline(always)]
    fn cell(self, lane: usize) -> u32 {
        if self { LANE_BITS[lane] } else { 0 }
    }
    #[inline(always)]
    fn commit(frame: &mut Frame<'_>, slot: u16, mask: u32, out: [u32; LANES]) {
        frame.set_predicate(slot, mask, or_all(&out));
    }
}

/// The union of all lanes' bits.
#[inline(always)]
pub fn or_all(lanes: &[u32; LANES]) -> u32 {
    let mut bits = 0;
    for lane in lanes {
        bits |= lane;
    }
    bits
}

/// `dst = f(a)` in every lane of `mask`.
#[inline(always)]
pub fn map1<A: Lane, R: Lane>(
    frame: &mut Frame<'_>,
    dst: u16,
    a: u16,
    mask: u32,
    f: impl Fn(A) -> R,
) {
    let mut out = [R::EMPTY; LANES];
    let a = A::source(frame, a);
    for (lane, out) in out.iter_mut().enumerate() {
        *out = f(A::at(a, lane)).cell(lane);
    }
    R::commit(frame, dst, mask, out);
}

/// `dst = f(a, b)` in every lane of `mask`.
#[inline(always)]
pub fn map2<A: Lane, B: Lane, R: Lane>(
    frame: &mut Frame<'_>,
    dst: u16,
    (a, b): (u16, u16),
    mask: u32,
    f: impl Fn(A, B) -> R,
) {
    let mut out = [R::EMPTY; LANES];
    let (a, b) = (A::source(frame, a), B::source(frame, b));
    for (lane, out) in out.iter_mut().enumerate() {
        *out = f(A::at(a, lane), B::at(b, lane)).cell(lane);
    }
    R::commit(frame, dst, mask, out);
}

/// `dst = f(a, b, c)` in every lane of `mask`.
#[inline(always)]
pub fn map3<A: Lane, B: Lane, C: Lane, R: Lane>(
    frame: &mut Frame<'_>,
    dst: u16,
    (a, b, c): (u16, u16, u16),
    mask: u32,
    f: impl Fn(A, B, C) -> R,
) {
    let mut out = [R::EMPTY; LANES];
    let (a, b, c) = (
        A::source(frame, a),
        B::source(frame, b),
        C::source(frame, c),
    );
    for (lane, out) in out.iter_mut().enumerate() {
        *out = f(A::at(a, lane), B::at(b, lane), C::at(c, lane)).cell(lane);
    }
    R::commit(frame, dst, mask, out);
}
