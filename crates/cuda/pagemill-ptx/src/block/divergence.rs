//! How the lanes of one warp take turns where they cannot run together.

use crate::block::Block;
use crate::exec::meeting::Meetings;
use crate::exec::path::Meeting;
use crate::exec::step::{StepEnd, StepTotals};
use crate::exec::trap::{Fault, Trap, TrapKind};
use crate::exec::warp::{Warp, WarpState};
use crate::exec::watch::{IDLE_INSTRUCTIONS, LOOK_INSTRUCTIONS, Look, Standing, TURN_INSTRUCTIONS};
use crate::launch::Launch;
use crate::memory::DeviceMemory;
use pagemill_ptx_ir::code::Code;
use pagemill_ptx_ir::code::path::Path;
use pagemill_ptx_ir::info::Prefix;
use pagemill_ptx_ir::line::Frame;
use pagemill_ptx_ir::op::{Inst, Op};

/// A limit of instructions from which on it is none.
const NO_LIMIT: u64 = 1 << 62;

impl Warp {
    /// PTX instructions until the warp is looked at, or its lanes change turns.
    pub(crate) fn until_pause(&self) -> u64 {
        let pause = match self.is_split() || self.watch.shares {
            true => self.watch.next.min(self.watch.turn_end),
            false => self.watch.next,
        };
        pause.saturating_sub(self.executed)
    }

    /// Whether the lanes of `mask`, which are at a barrier, wait while others of their warp run.
    pub(crate) fn leaves_others(&self, mask: u32, code: &Code) -> bool {
        mask != self.alive && (self.is_split() || self.others_left_loop(code))
    }

    /// Whether the current path, which is past a barrier, is within a loop that other lanes have left: they wait behind it.
    /// Of a barrier that a branch forward goes around, nothing behind leads back.
    fn others_left_loop(&self, code: &Code) -> bool {
        let Path { pc, reconverge, .. } = self.path;
        let insts = &code.stream(self.stepped).insts;
        let end = (reconverge as usize).min(insts.len());
        let rest = insts.get(pc as usize..end).unwrap_or_default();
        let leads_back = |inst: &Inst| inst.op == Op::Branch && inst.aux < pc;
        rest.iter().any(leads_back)
    }

    /// Lets the lanes of `mask` on the current path wait behind entry `index` of the barrier table; the others of the warp take
    /// their turn.
    pub(crate) fn wait_at_barrier(&mut self, index: u32, mask: u32) {
        self.split();
        self.detach(mask, self.path.pc, Some(Meeting::Barrier { index }));
        self.park(None);
    }
}

impl Block {
    /// Whether no warp gets on unless something outside of the block changes memory.
    pub fn stands_still(&self, memory: &mut DeviceMemory) -> bool {
        let writes = memory.activity().writes;
        let mut warps = self.warps.iter();
        warps.all(|warp| match warp.state {
            WarpState::Running | WarpState::MemoryDue => warp.watch.stands_still(writes),
            WarpState::AtBarrier(_) | WarpState::AtClusterBarrier | WarpState::Exited => true,
        })
    }

    /// A warp has used up its allowance: is that all that it may have, and does it get on?
    pub(crate) fn pause(
        &mut self,
        launch: &Launch,
        number: u32,
        memory: &mut DeviceMemory,
    ) -> Result<(), Box<Fault>> {
        let at = number as usize;
        let (warp, activity) = (&mut self.warps[at], memory.activity());
        warp.watch.waits = false;
        // Without a limit of the run, what counts is how long nothing has had an effect.
        let (limit, executed) = match launch.instruction_limit {
            NO_LIMIT.. => (
                IDLE_INSTRUCTIONS,
                warp.executed.saturating_sub(warp.watch.memory_since),
            ),
            limit => (limit, warp.executed),
        };
        if executed >= limit {
            return Err(Fault::of_warp(TrapKind::InstructionLimit { limit }));
        }
        if warp.executed < warp.watch.next {
            return Ok(());
        }
        let standing = Standing {
            registers: &self.registers[at],
            path: &warp.path,
            stack: &warp.stack,
            parked: &warp.parked,
            is_alone: warp.path.mask == warp.alive,
            executed: warp.executed,
            accesses: warp.accesses,
            writes: activity.writes,
        };
        let look = warp.watch.look(&standing);
        match look {
            Look::Progress => activity.quiet = 0,
            Look::Endless => {
                return Err(Fault::of_warp(TrapKind::NoProgress { instructions: 0 }));
            }
            Look::Repeats | Look::Impatient => {
                activity.quiet += 1;
                warp.watch.waits = true;
                if activity.quiet >= launch.quiet_looks() {
                    let instructions = activity.quiet * LOOK_INSTRUCTIONS;
                    return Err(Fault::of_warp(TrapKind::NoProgress { instructions }));
                }
                if warp.path.mask != warp.alive {
                    warp.watch.shares = true;
                }
            }
        }
        Ok(())
    }

    /// The lanes of `mask` wait before entry `index` of the warp-operation table.
    pub(crate) fn wait_for_lanes(&mut self, launch: &Launch, number: u32, index: u32, mask: u32) {
        let at = number as usize;
        let code = &*launch.kernel.code;
        let meetings = Meetings {
            code,
            stream: code.stream(self.warps[at].stepped),
            costs: &[],
        };
        let frame = Frame::new(&mut self.registers[at], &launch.constants);
        meetings.wait(&mut self.warps[at], &frame, index, mask);
    }

    /// Gives the turn to the next lanes of a split warp, if those of the current path are gone or have had theirs.
    pub(crate) fn take_turns(
        &mut self,
        launch: &Launch,
        number: u32,
        memory: &mut DeviceMemory,
        costs: &[Prefix],
        totals: &mut StepTotals,
    ) -> Result<(StepEnd, u64), Box<Trap>> {
        let at = number as usize;
        let warp = &mut self.warps[at];
        let is_over = warp.path.mask == 0 || warp.executed >= warp.watch.turn_end;
        if !is_over || !(warp.is_split() || warp.watch.shares) {
            return Ok((StepEnd::Budget, 0));
        }
        warp.watch.turn_end = warp.executed + TURN_INSTRUCTIONS;
        warp.split();
        if !warp.is_split() {
            return Ok((StepEnd::Budget, 0));
        }
        warp.park(None);
        let code = &*launch.kernel.code;
        let meetings = Meetings {
            code,
            stream: code.stream(warp.stepped),
            costs,
        };
        let mut frame = Frame::new(&mut self.registers[at], &launch.constants);
        let before = totals.instructions;
        let mut groups = Vec::new();
        let is_stray = meetings.complete(warp, &mut frame, totals, &mut groups);
        warp.executed += totals.instructions - before;
        if let Some(check) = &mut self.check {
            match &groups[..] {
                // Lanes that take turns may wait for each other by what they write.
                [] => check.sync_warp(number),
                groups => groups
                    .iter()
                    .for_each(|&group| check.sync_lanes(number, group)),
            }
        }
        let warp = &mut self.warps[at];
        if warp.dispatch() {
            if is_stray {
                let info = code.stream(warp.stepped).info[warp.path.pc as usize];
                self.output.note_stray(info);
            }
            return Ok((StepEnd::Budget, 0));
        }
        let Some(index) = warp.common_barrier() else {
            let fault = warp.stuck();
            return Err(self.trap(launch, number, *fault));
        };
        warp.leave_barrier();
        warp.dispatch();
        let alive = warp.alive;
        self.arrive(launch, number, index, alive, memory)
    }
}
