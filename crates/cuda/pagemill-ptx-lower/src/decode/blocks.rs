//! Copies that go to several blocks of a cluster: the same once more for each.

use super::context::Decoder;
use crate::fail::Fail;
use crate::flow::program::{Aux, Class, Label, VReg, Value};
use pagemill_ptx_ir::address::cluster;
use pagemill_ptx_ir::ast::Type;
use pagemill_ptx_ir::code::Preset;
use pagemill_ptx_ir::op::Op;

//   rest = mask, repeats = 0
//   again: if rest == 0 goto behind
//          rank = the lowest bit of rest; rest without it
//          the copy, its address turned to block `rank`
//          repeats = 1, goto again
//   behind:
/// The loop over the blocks that a copy goes to; no loop where it goes where its address says.
pub(super) struct Blocks {
    turns: Option<Turns>,
    /// Copies of the same bytes before this one, or whether there are any.
    pub repeats: Value,
}

struct Turns {
    again: Label,
    behind: Label,
    rank: Value,
    repeats: VReg,
}

impl Blocks {
    /// What is emitted until [`Blocks::end`] is done for each block whose bit is set in operand `mask`.
    pub(super) fn begin(decoder: &mut Decoder<'_>, mask: Option<usize>) -> Result<Self, Fail> {
        let none = decoder.bits(Class::Narrow, 0)?;
        let Some(mask) = mask else {
            return Ok(Self {
                turns: None,
                repeats: none,
            });
        };
        let mask = decoder.source(mask, Type::B16)?;
        let (rest, repeats) = (
            decoder.temporary(Class::Narrow),
            decoder.temporary(Class::Narrow),
        );
        decoder.copy(rest, mask);
        decoder.copy(repeats, none);
        let (again, behind) = (decoder.new_label(), decoder.new_label());
        decoder.set_label(again);
        let is_done = decoder.temporary(Class::Predicate);
        decoder.op(Op::Equal32, is_done, &[Value::Reg(rest), none]);
        decoder.push_guarded(Op::Branch, Aux::Target(behind), Some((is_done, false)));
        let rank = decoder.scalar_fresh(lowest, 0, Class::Narrow, &[Value::Reg(rest)]);
        decoder.scalar(without_lowest, 0, rest, &[Value::Reg(rest)]);
        let turns = Turns {
            again,
            behind,
            rank,
            repeats,
        };
        Ok(Self {
            turns: Some(turns),
            repeats: Value::Reg(repeats),
        })
    }

    /// Lets the address in `register` mean the same place in the block whose turn it is.
    pub(super) fn turn(&self, decoder: &mut Decoder<'_>, register: VReg) {
        if let Some(turns) = &self.turns {
            let own = Value::Reg(decoder.program.preset(Preset::ClusterRank));
            let operands = [Value::Reg(register), turns.rank, own];
            decoder.scalar(cluster::in_block, 0, register, &operands);
        }
    }

    pub(super) fn end(&self, decoder: &mut Decoder<'_>) -> Result<(), Fail> {
        if let Some(turns) = &self.turns {
            let one = decoder.bits(Class::Narrow, 1)?;
            // From the second block on: in simulated time, the reads of the first stand for all.
            decoder.copy(turns.repeats, one);
            decoder.push(Op::Branch, &[], &[], Aux::Target(turns.again));
            decoder.set_label(turns.behind);
        }
        Ok(())
    }
}

fn lowest(mask: u64, _: u64, _: u64, _: u32) -> u64 {
    u64::from(mask.trailing_zeros())
}

fn without_lowest(mask: u64, _: u64, _: u64, _: u32) -> u64 {
    mask & mask.wrapping_sub(1)
}
