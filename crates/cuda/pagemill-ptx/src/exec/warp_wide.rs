//! Instructions in which the lanes of a warp see each other.
//!
//! An exchange has three steps: the lanes' values are read, each lane's answer is computed, the answers are written. So
//! lanes that stand at different instructions can take part in one exchange: each with the operands of its own.

use pagemill_ptx_ir::code::{SINK, WarpWide, WarpWideInst};
use pagemill_ptx_ir::line::{FULL, Frame, LANE_BITS, LANES, lanes_of};

/// What became of an exchange.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exchanged {
    Done,
    /// Done, and a lane read from one outside of its mask, or is outside of its own, which PTX leaves undefined.
    Stray,
    /// Nothing happened: a mask names a living lane that is elsewhere.
    Elsewhere,
}

/// Executes `inst` for the lanes of `mask`, if every lane of `alive` that their member masks name is among them. A lane that
/// its own mask leaves out waits for no other: on GPUs it takes part with those that happen to be there.
#[inline(never)]
pub(crate) fn execute(
    frame: &mut Frame<'_>,
    inst: &WarpWideInst,
    mask: u32,
    alive: u32,
) -> Exchanged {
    let members = members(frame, inst, mask);
    let left_out = left_out(&members, mask);
    let elsewhere = alive & !mask;
    if elsewhere != 0 && lanes_of(mask & !left_out).any(|lane| members[lane] & elsewhere != 0) {
        return Exchanged::Elsewhere;
    }
    let mut values = Values::new(members);
    values.read(frame, inst, mask);
    let (answer, is_stray) = values.answer(inst.kind, mask);
    answer.write(frame, inst, mask);
    match is_stray || left_out != 0 {
        true => Exchanged::Stray,
        false => Exchanged::Done,
    }
}

/// Executes one exchange whose lanes stand at different instructions of the same kind: each with its lanes.
pub(crate) fn execute_apart(frame: &mut Frame<'_>, parts: &[(&WarpWideInst, u32)]) -> Exchanged {
    let mut values = Values::new([0; LANES]);
    let mut all = 0;
    for &(inst, mask) in parts {
        let members = members(frame, inst, mask);
        lanes_of(mask).for_each(|lane| values.members[lane] = members[lane]);
        values.read(frame, inst, mask);
        all |= mask;
    }
    let mut is_any_stray = false;
    for &(inst, mask) in parts {
        let (answer, is_stray) = values.answer(inst.kind, all);
        answer.write(frame, inst, mask);
        is_any_stray |= is_stray;
    }
    match is_any_stray {
        true => Exchanged::Stray,
        false => Exchanged::Done,
    }
}

/// The lanes that each lane exchanges with: mostly itself among them.
pub(crate) fn members(frame: &Frame<'_>, inst: &WarpWideInst, mask: u32) -> [u32; LANES] {
    match inst.members {
        Some(operand) => *frame.narrow(operand),
        None => [mask; LANES],
    }
}

/// The lanes of `mask` that their own masks leave out.
pub(crate) fn left_out(members: &[u32; LANES], mask: u32) -> u32 {
    lanes_where(mask, |lane| members[lane] & LANE_BITS[lane] == 0)
}

/// What the lanes bring to an exchange.
struct Values {
    members: [u32; LANES],
    narrow: [u32; LANES],
    wide: [u64; LANES],
    offsets: [u32; LANES],
    clamps: [u32; LANES],
    holds: u32,
}

/// What the lanes take from it.
struct Answer {
    value: [u32; LANES],
    holds: u32,
}

impl Answer {
    #[inline(always)]
    fn write(&self, frame: &mut Frame<'_>, inst: &WarpWideInst, mask: u32) {
        let (value, predicate) = match inst.kind {
            WarpWide::Barrier => (false, false),
            WarpWide::Ballot
            | WarpWide::ActiveMask
            | WarpWide::MatchAny32
            | WarpWide::MatchAny64
            | WarpWide::Redux(_) => (true, false),
            WarpWide::VoteAll | WarpWide::VoteAny | WarpWide::VoteUniform => (false, true),
            _ => (true, true),
        };
        if value && inst.dst != SINK {
            frame.set_narrow(inst.dst, mask, self.value);
        }
        if predicate && inst.dst_predicate != SINK {
            frame.set_predicate(inst.dst_predicate, mask, self.holds);
        }
    }
}

impl Values {
    #[inline(always)]
    fn new(members: [u32; LANES]) -> Self {
        Self {
            members,
            narrow: [0; LANES],
            wide: [0; LANES],
            offsets: [0; LANES],
            clamps: [0; LANES],
            holds: 0,
        }
    }

    /// Takes the operands of `inst` for the lanes of `mask`. A shuffle reads 0 from the others: CUDA leaves that value undefined,
    /// and NVIDIA's GPUs must give 0, as `reduction` of its samples sums what such lanes give.
    #[inline(always)]
    fn read(&mut self, frame: &Frame<'_>, inst: &WarpWideInst, mask: u32) {
        match inst.kind {
            WarpWide::ShuffleUp
            | WarpWide::ShuffleDown
            | WarpWide::ShuffleButterfly
            | WarpWide::ShuffleIndex => {
                blend(&mut self.narrow, frame.narrow(inst.a), mask);
                blend(&mut self.offsets, frame.narrow(inst.b), mask);
                blend(&mut self.clamps, frame.narrow(inst.c), mask);
            }
            WarpWide::VoteAll | WarpWide::VoteAny | WarpWide::VoteUniform | WarpWide::Ballot => {
                let source = frame.predicate(inst.a);
                self.holds |= if inst.negated { !source } else { source } & mask;
            }
            WarpWide::MatchAny64 | WarpWide::MatchAll64 => {
                let source = frame.wide(inst.a);
                lanes_of(mask).for_each(|lane| self.wide[lane] = source[lane]);
            }
            WarpWide::MatchAny32 | WarpWide::MatchAll32 => {
                let source = frame.narrow(inst.a);
                lanes_of(mask).for_each(|lane| self.wide[lane] = source[lane].into());
            }
            WarpWide::Redux(_) => blend(&mut self.narrow, frame.narrow(inst.a), mask),
            WarpWide::ActiveMask | WarpWide::Elect | WarpWide::Barrier => {}
        }
    }

    /// What an operation of this `kind` gives among the lanes of `mask`, and whether a lane reads outside of its members.
    #[inline(always)]
    fn answer(&self, kind: WarpWide, mask: u32) -> (Answer, bool) {
        let none = Answer {
            value: [0; LANES],
            holds: 0,
        };
        let group = |lane: usize| self.members[lane] & mask;
        let answer = match kind {
            WarpWide::ShuffleUp
            | WarpWide::ShuffleDown
            | WarpWide::ShuffleButterfly
            | WarpWide::ShuffleIndex => return self.shuffle(kind, mask),
            WarpWide::VoteAll | WarpWide::VoteAny | WarpWide::VoteUniform => Answer {
                holds: lanes_where(mask, |lane| {
                    let (group, holds) = (group(lane), self.holds & group(lane));
                    match kind {
                        WarpWide::VoteAll => holds == group,
                        WarpWide::VoteAny => holds != 0,
                        _ => holds == group || holds == 0,
                    }
                }),
                ..none
            },
            WarpWide::Ballot => Answer {
                value: std::array::from_fn(|lane| self.holds & self.members[lane]),
                ..none
            },
            WarpWide::ActiveMask => Answer {
                value: [mask; LANES],
                ..none
            },
            WarpWide::MatchAny32 | WarpWide::MatchAny64 => {
                let same = |lane: usize| {
                    lanes_where(group(lane), |other| self.wide[other] == self.wide[lane])
                };
                Answer {
                    value: std::array::from_fn(same),
                    ..none
                }
            }
            WarpWide::MatchAll32 | WarpWide::MatchAll64 => self.match_all(mask),
            WarpWide::Redux(combine) => {
                let reduce = |lane: usize| {
                    let values = lanes_of(group(lane)).map(|other| self.narrow[other]);
                    values.reduce(combine).unwrap_or(0)
                };
                Answer {
                    value: std::array::from_fn(reduce),
                    ..none
                }
            }
            WarpWide::Elect => {
                let leader = std::array::from_fn(|lane| group(lane).trailing_zeros() & 31);
                Answer {
                    value: leader,
                    holds: lanes_where(mask, |lane| leader[lane] == lane as u32),
                }
            }
            WarpWide::Barrier => none,
        };
        (answer, false)
    }

    fn match_all(&self, mask: u32) -> Answer {
        let agrees = |lane: usize| {
            let group = self.members[lane] & mask;
            lanes_of(group).all(|other| self.wide[other] == self.wide[lane])
        };
        let holds = lanes_where(mask, agrees);
        let value = |lane: usize| match holds & LANE_BITS[lane] {
            0 => 0,
            _ => self.members[lane],
        };
        Answer {
            value: std::array::from_fn(value),
            holds,
        }
    }

    #[inline(always)]
    fn shuffle(&self, kind: WarpWide, mask: u32) -> (Answer, bool) {
        let mut value = [0; LANES];
        let (mut holds, mut stray) = (0, 0);
        for lane in 0..LANES {
            let (offset, clamp) = (
                (self.offsets[lane] & 31) as usize,
                (self.clamps[lane] & 31) as usize,
            );
            let segment = (self.clamps[lane] >> 8 & 31) as usize;
            let max = (lane & segment) | (clamp & !segment);
            let min = lane & segment;
            let (source, valid) = match kind {
                WarpWide::ShuffleUp => (
                    lane.wrapping_sub(offset),
                    lane as isize - offset as isize >= max as isize,
                ),
                WarpWide::ShuffleDown => (lane + offset, lane + offset <= max),
                WarpWide::ShuffleButterfly => (lane ^ offset, lane ^ offset <= max),
                _ => {
                    let source = min | (offset & !segment);
                    (source, source <= max)
                }
            };
            let source = source & (LANES - 1);
            value[lane] = if valid {
                self.narrow[source]
            } else {
                self.narrow[lane]
            };
            if valid {
                holds |= LANE_BITS[lane];
                if self.members[lane] & mask & LANE_BITS[source] == 0 {
                    stray |= LANE_BITS[lane];
                }
            }
        }
        (Answer { value, holds }, stray & mask != 0)
    }
}

/// `to` with the lanes of `mask` from `from`.
#[inline(always)]
fn blend(to: &mut [u32; LANES], from: &[u32; LANES], mask: u32) {
    if mask == FULL {
        *to = *from;
        return;
    }
    for lane in 0..LANES {
        if mask & LANE_BITS[lane] != 0 {
            to[lane] = from[lane];
        }
    }
}

#[inline(always)]
fn lanes_where(mask: u32, test: impl Fn(usize) -> bool) -> u32 {
    lanes_of(mask)
        .filter(|&lane| test(lane))
        .fold(0, |bits, lane| bits | LANE_BITS[lane])
}
