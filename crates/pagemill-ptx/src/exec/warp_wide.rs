//! Instructions in which the lanes of a warp see each other.

use super::line::{Frame, LANE_BITS, LANES, lanes_of};
use crate::code::{SINK, WarpWide, WarpWideInst};
use crate::trap::{Fault, TrapKind};

#[inline(never)]
pub(crate) fn execute(
    frame: &mut Frame<'_>,
    inst: &WarpWideInst,
    mask: u32,
) -> Result<(), Box<Fault>> {
    let members = check_members(frame, inst, mask)?;
    match inst.kind {
        WarpWide::ShuffleUp
        | WarpWide::ShuffleDown
        | WarpWide::ShuffleButterfly
        | WarpWide::ShuffleIndex => {
            shuffle(frame, inst, mask);
        }
        WarpWide::VoteAll | WarpWide::VoteAny | WarpWide::VoteUniform | WarpWide::Ballot => {
            vote(frame, inst, mask, &members)
        }
        WarpWide::ActiveMask => frame.set_narrow(inst.dst, mask, [mask; LANES]),
        WarpWide::MatchAny32 | WarpWide::MatchAny64 => match_any(frame, inst, mask, &members),
        WarpWide::MatchAll32 | WarpWide::MatchAll64 => match_all(frame, inst, mask, &members),
        WarpWide::Redux(combine) => redux(frame, inst, mask, &members, combine),
        WarpWide::Elect => elect(frame, inst, mask, &members),
        WarpWide::Barrier => {}
    }
    Ok(())
}

/// The lanes that each lane exchanges with. All of them must be here: a result made of fewer would be wrong silently.
fn check_members(
    frame: &Frame<'_>,
    inst: &WarpWideInst,
    mask: u32,
) -> Result<[u32; LANES], Box<Fault>> {
    let Some(operand) = inst.members else {
        return Ok([mask; LANES]);
    };
    let members = *frame.narrow(operand);
    for lane in lanes_of(mask) {
        let named = members[lane];
        if named & !mask != 0 || named & LANE_BITS[lane] == 0 {
            return Err(Fault::at_lane(
                lane as u32,
                TrapKind::AbsentLanes {
                    members: named,
                    active: mask,
                },
            ));
        }
    }
    Ok(members)
}

fn shuffle(frame: &mut Frame<'_>, inst: &WarpWideInst, mask: u32) {
    let (values, offsets, clamps) = (
        *frame.narrow(inst.a),
        *frame.narrow(inst.b),
        *frame.narrow(inst.c),
    );
    let mut out = [0; LANES];
    let mut in_range = 0;
    for lane in 0..LANES {
        let (offset, clamp) = ((offsets[lane] & 31) as usize, (clamps[lane] & 31) as usize);
        let segment = (clamps[lane] >> 8 & 31) as usize;
        let max = (lane & segment) | (clamp & !segment);
        let min = lane & segment;
        let (source, valid) = match inst.kind {
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
        out[lane] = if valid {
            values[source & (LANES - 1)]
        } else {
            values[lane]
        };
        if valid {
            in_range |= LANE_BITS[lane];
        }
    }
    if inst.dst != SINK {
        frame.set_narrow(inst.dst, mask, out);
    }
    if inst.dst_predicate != SINK {
        frame.set_predicate(inst.dst_predicate, mask, in_range);
    }
}

fn vote(frame: &mut Frame<'_>, inst: &WarpWideInst, mask: u32, members: &[u32; LANES]) {
    let source = frame.predicate(inst.a);
    let holds = if inst.negated { !source } else { source } & mask;
    if matches!(inst.kind, WarpWide::Ballot) {
        let out = std::array::from_fn(|lane| holds & members[lane]);
        frame.set_narrow(inst.dst, mask, out);
        return;
    }
    let answer = |lane: &usize| {
        let group = members[*lane] & mask;
        match inst.kind {
            WarpWide::VoteAll => holds & group == group,
            WarpWide::VoteAny => holds & group != 0,
            _ => holds & group == group || holds & group == 0,
        }
    };
    let bits = lanes_of(mask)
        .filter(answer)
        .fold(0, |bits, lane| bits | LANE_BITS[lane]);
    frame.set_predicate(inst.dst_predicate, mask, bits);
}

fn match_values(frame: &Frame<'_>, inst: &WarpWideInst) -> [u64; LANES] {
    match inst.kind {
        WarpWide::MatchAny64 | WarpWide::MatchAll64 => *frame.wide(inst.a),
        _ => frame.narrow(inst.a).map(u64::from),
    }
}

fn match_any(frame: &mut Frame<'_>, inst: &WarpWideInst, mask: u32, members: &[u32; LANES]) {
    let values = match_values(frame, inst);
    let same = |lane: usize| {
        lanes_of(members[lane] & mask)
            .filter(|&other| values[other] == values[lane])
            .fold(0, |bits, other| bits | LANE_BITS[other])
    };
    frame.set_narrow(inst.dst, mask, std::array::from_fn(same));
}

fn match_all(frame: &mut Frame<'_>, inst: &WarpWideInst, mask: u32, members: &[u32; LANES]) {
    let values = match_values(frame, inst);
    let agree =
        |lane: usize| lanes_of(members[lane] & mask).all(|other| values[other] == values[lane]);
    let bits = lanes_of(mask)
        .filter(|&lane| agree(lane))
        .fold(0, |bits, lane| bits | LANE_BITS[lane]);
    if inst.dst != SINK {
        frame.set_narrow(
            inst.dst,
            mask,
            std::array::from_fn(|lane| {
                if bits & LANE_BITS[lane] != 0 {
                    members[lane]
                } else {
                    0
                }
            }),
        );
    }
    if inst.dst_predicate != SINK {
        frame.set_predicate(inst.dst_predicate, mask, bits);
    }
}

fn redux(
    frame: &mut Frame<'_>,
    inst: &WarpWideInst,
    mask: u32,
    members: &[u32; LANES],
    combine: fn(u32, u32) -> u32,
) {
    let values = *frame.narrow(inst.a);
    let reduce = |lane: usize| {
        lanes_of(members[lane] & mask)
            .map(|other| values[other])
            .reduce(combine)
            .unwrap_or(0)
    };
    frame.set_narrow(inst.dst, mask, std::array::from_fn(reduce));
}

fn elect(frame: &mut Frame<'_>, inst: &WarpWideInst, mask: u32, members: &[u32; LANES]) {
    let leader = std::array::from_fn(|lane| (members[lane] & mask).trailing_zeros() & 31);
    let bits = lanes_of(mask)
        .filter(|&lane| leader[lane] == lane as u32)
        .fold(0, |bits, lane| bits | LANE_BITS[lane]);
    if inst.dst != SINK {
        frame.set_narrow(inst.dst, mask, leader);
    }
    if inst.dst_predicate != SINK {
        frame.set_predicate(inst.dst_predicate, mask, bits);
    }
}
