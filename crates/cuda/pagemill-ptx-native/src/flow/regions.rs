//! Regions of a stream: from one place that branches lead to up to the next.

use pagemill_ptx_ir::code::Stream;
use pagemill_ptx_ir::op::{Inst, Op};

/// Where regions begin.
pub(crate) fn leaders(stream: &Stream) -> Vec<bool> {
    let mut leaders = vec![false; stream.insts.len()];
    let mut mark = |pc: u32| {
        if let Some(leader) = leaders.get_mut(pc as usize) {
            *leader = true;
        }
    };
    mark(0);
    stream.entries.iter().for_each(|&entry| mark(entry));
    for (pc, inst) in (0..).zip(&stream.insts) {
        match inst.op {
            Op::Branch => {
                mark(inst.aux);
                mark(inst.reconverge);
                if inst.guard == Inst::UNGUARDED {
                    mark(pc + 1);
                }
            }
            Op::BranchTable => {
                stream.tables[inst.aux as usize]
                    .iter()
                    .for_each(|&target| mark(target));
                mark(inst.reconverge);
                mark(pc + 1);
            }
            Op::Exit => mark(pc + 1),
            Op::Reconverge => mark(pc),
            _ => {}
        }
    }
    leaders
}

/// The first position of each position's region.
pub(crate) fn regions(leaders: &[bool]) -> Vec<u32> {
    let mut region = 0;
    let of = |(pc, &is_leader): (usize, &bool)| {
        if is_leader {
            region = pc as u32;
        }
        region
    };
    leaders.iter().enumerate().map(of).collect()
}
