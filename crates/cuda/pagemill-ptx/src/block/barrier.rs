//! The sixteen barriers of a block, and one for each of its warp groups. Arrival is counted in warps, as hardware does.

use crate::exec::trap::{Fault, TrapKind};
use crate::exec::warp::{Warp, WarpState};
use pagemill_ptx_ir::code::warp_group::{self, BARRIERS, GroupMeeting, NUMBERED};
use pagemill_ptx_ir::code::{BarrierInst, BarrierReduction, BarrierScope, Reduce};
use pagemill_ptx_ir::line::{ConstantLines, Frame, LANES, Registers, lanes_of};

/// All barriers of one block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Barriers {
    barriers: [Barrier; BARRIERS],
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Barrier {
    /// Warps that must arrive, as the first to arrive said; `None` for all that have not ended.
    wanted: Option<u32>,
    arrived: u32,
    /// The instruction at which a warp group meets, as the first to arrive said.
    meeting: Option<GroupMeeting>,
    /// Waiting warps, one bit each.
    waiting: u64,
    /// Lanes whose predicate held, and lanes that took part, for reductions.
    holds: u32,
    lanes: u32,
}

/// What an arrival brought about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    pub id: u32,
    /// Whether the arriving warp may go on.
    pub released: bool,
    /// Other warps that may go on.
    pub others: u64,
}

impl Barriers {
    pub(crate) fn reset(&mut self) {
        *self = Self::default();
    }

    /// Warp `number` arrives with the lanes of `mask`.
    pub(crate) fn arrive(
        &mut self,
        inst: &BarrierInst,
        number: u32,
        mask: u32,
        warps: &mut [Warp],
        registers: &mut [Registers],
        constants: &ConstantLines,
    ) -> Result<Arrival, Box<Fault>> {
        let at = number as usize;
        let alive = warps[at].alive;
        if mask != alive {
            return Err(Fault::of_warp(TrapKind::DivergedBarrier {
                arrived: mask,
                expected: alive,
            }));
        }
        let frame = Frame::new(&mut registers[at], constants);
        let (meeting, (id, wanted)) = match inst.scope {
            BarrierScope::WarpGroup(meeting) => (Some(meeting), group_of(number, warps.len())?),
            _ => (None, operands(&frame, inst, mask)?),
        };
        let barrier = &mut self.barriers[id as usize];
        if barrier.arrived == 0 {
            (barrier.wanted, barrier.meeting) = (wanted, meeting);
        } else if barrier.meeting != meeting {
            let reason = "a warp of its group is at a product, another at a wait: all four execute the same wgmma";
            return Err(Fault::of_warp(TrapKind::Misuse { reason }));
        } else if barrier.wanted != wanted {
            let reason = "other warps wait at it with another thread count";
            return Err(Fault::of_warp(TrapKind::BadBarrier {
                id,
                threads: wanted.unwrap_or(0) * 32,
                reason,
            }));
        }
        barrier.arrived += 1;
        if let Some(BarrierReduction {
            source, negated, ..
        }) = inst.reduction
        {
            let predicate = frame.predicate(source);
            barrier.holds += ((if negated { !predicate } else { predicate }) & mask).count_ones();
            barrier.lanes += mask.count_ones();
        }
        if inst.waits {
            barrier.waiting |= 1 << number;
            warps[at].state = WarpState::AtBarrier(id as u8);
            warps[at].reduction = inst.reduction;
        }
        let released = self.complete(id, warps, registers);
        check_progress(&self.barriers, warps)?;
        let own = 1 << number;
        Ok(Arrival {
            id,
            released: !inst.waits || released & own != 0,
            others: released & !own,
        })
    }

    /// A warp has ended: barriers that waited only for it complete.
    pub(crate) fn leave(
        &mut self,
        warps: &mut [Warp],
        registers: &mut [Registers],
    ) -> Result<u64, Box<Fault>> {
        let mut released = 0;
        for id in 0..BARRIERS as u32 {
            if self.barriers[id as usize].waiting != 0 {
                released |= self.complete(id, warps, registers);
            }
        }
        check_progress(&self.barriers, warps)?;
        Ok(released)
    }

    /// Releases the waiting warps of `id` if all have arrived.
    fn complete(&mut self, id: u32, warps: &mut [Warp], registers: &mut [Registers]) -> u64 {
        let barrier = &mut self.barriers[id as usize];
        if barrier.arrived < barrier.wanted.unwrap_or_else(|| living(warps)) {
            return 0;
        }
        let done = std::mem::take(barrier);
        for (number, warp) in warps.iter_mut().enumerate() {
            if done.waiting >> number & 1 != 0 {
                warp.state = WarpState::Running;
                if let Some(reduction) = warp.reduction.take() {
                    answer(&reduction, &done, warp.alive, &mut registers[number]);
                }
            }
        }
        done.waiting
    }
}

/// Barrier number and wanted warps, which must be the same for all lanes.
fn operands(
    frame: &Frame<'_>,
    inst: &BarrierInst,
    mask: u32,
) -> Result<(u32, Option<u32>), Box<Fault>> {
    let lane = mask.trailing_zeros() as usize & (LANES - 1);
    let id = frame.narrow(inst.id)[lane];
    let threads = inst.threads.map(|operand| frame.narrow(operand)[lane]);
    let uniform = |operand: u16| {
        let line = frame.narrow(operand);
        lanes_of(mask).all(|other| line[other] == line[lane])
    };
    let reason = match threads {
        _ if id >= NUMBERED as u32 => "there are barriers 0 to 15",
        _ if !uniform(inst.id) || !inst.threads.is_none_or(uniform) => {
            "the lanes of the warp disagree about it"
        }
        Some(threads) if threads == 0 || threads % LANES as u32 != 0 || threads > 1024 => {
            "the thread count must be a multiple of 32 up to 1024"
        }
        _ => return Ok((id, threads.map(|threads| threads / LANES as u32))),
    };
    Err(Fault::of_warp(TrapKind::BadBarrier {
        id,
        threads: threads.unwrap_or(0),
        reason,
    }))
}

/// The barrier at which warp `number` of `warps` meets its group.
fn group_of(number: u32, warps: usize) -> Result<(u32, Option<u32>), Box<Fault>> {
    let barrier = warp_group::barrier_of(number, warps);
    let barrier = barrier.map(|(id, wanted)| (id, Some(wanted)));
    barrier.ok_or_else(|| {
        let reason =
            "wgmma needs a group of four warps: the block has fewer behind the last whole group";
        Fault::of_warp(TrapKind::Misuse { reason })
    })
}

fn living(warps: &[Warp]) -> u32 {
    warps
        .iter()
        .filter(|warp| warp.state != WarpState::Exited)
        .count() as u32
}

fn answer(reduction: &BarrierReduction, barrier: &Barrier, mask: u32, registers: &mut Registers) {
    let slot = usize::from(reduction.dst);
    let holds = match reduction.kind {
        Reduce::Count => {
            for (lane, value) in registers.narrow[slot].0.iter_mut().enumerate() {
                if mask >> lane & 1 != 0 {
                    *value = barrier.holds;
                }
            }
            return;
        }
        Reduce::And => barrier.holds == barrier.lanes,
        Reduce::Or => barrier.holds != 0,
    };
    let predicate = &mut registers.predicates[slot];
    *predicate = (*predicate & !mask) | if holds { mask } else { 0 };
}

/// An error when every living warp waits.
fn check_progress(barriers: &[Barrier; BARRIERS], warps: &[Warp]) -> Result<(), Box<Fault>> {
    let stuck = |warp: &Warp| matches!(warp.state, WarpState::AtBarrier(_) | WarpState::Exited);
    let waiting = |warp: &Warp| matches!(warp.state, WarpState::AtBarrier(_));
    if !warps.iter().all(stuck) || !warps.iter().any(waiting) {
        return Ok(());
    }
    let living = living(warps);
    let describe = |(id, barrier): (usize, &Barrier)| {
        let lanes = LANES as u32;
        (
            id as u32,
            barrier.arrived * lanes,
            barrier.wanted.unwrap_or(living) * lanes,
        )
    };
    let waited = barriers
        .iter()
        .enumerate()
        .filter(|(_, barrier)| barrier.waiting != 0);
    Err(Fault::of_warp(TrapKind::Deadlock {
        barriers: waited.map(describe).collect(),
    }))
}
