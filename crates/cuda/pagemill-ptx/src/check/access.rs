//! Accesses as they happen: what they read must have a value, and must not race.

use super::block::in_warp;
use super::cells::{Cells, Conflict, SEVERAL, Stamp};
use super::order::BlockRules;
use super::rows::{Row, RowTouch, Rows};
use super::shadow::{Shadow, Valid};
use super::{BlockCheck, Checker, Place};
use crate::exec::access::{Stores, Target, lane_addresses, resolve};
use crate::exec::width::{Wide, widest};
use crate::memory::DeviceMemory;
use pagemill_ptx_ir::code::{AccessKind, MemoryInst};
use pagemill_ptx_ir::line::{Frame, LANE_BITS, LANES, Line, lanes_of};

/// Stores that race, if they change anything: where, and what was there.
#[derive(Debug, Default)]
pub(crate) struct Verdicts(Vec<Verdict>);

impl Verdicts {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[derive(Debug)]
struct Verdict {
    target: Target,
    lane: usize,
    address: u64,
    before: Vec<u8>,
    conflict: Conflict,
}

/// One memory instruction of one warp.
pub(super) struct Step<'a> {
    frame: &'a Frame<'a>,
    inst: &'a MemoryInst,
    instruction: u32,
    mask: u32,
    is_strong: bool,
    is_of_block: bool,
    pub(super) is_release: bool,
    is_copy: bool,
    line: u32,
}

impl Step<'_> {
    pub(super) fn writes(&self) -> bool {
        self.inst.kind != AccessKind::Load
    }

    pub(super) fn reads(&self) -> bool {
        self.inst.kind != AccessKind::Store
    }

    /// Whether one lane's access reads what has no value. A copied struct brings its padding along: a load is no mistake as
    /// long as some of its bytes have a value.
    #[inline(always)]
    fn is_unset(&self, valid: &Valid, offset: usize) -> bool {
        let bytes = self.inst.lane_bytes() as usize;
        if !self.reads() || valid.all(offset, bytes) {
            return false;
        }
        self.writes() || !valid.any(offset, bytes)
    }

    fn place(&self, block: &BlockCheck, lane: usize) -> Place {
        Place {
            block: block.index,
            thread: block.warp * LANES as u32 + lane as u32,
            instruction: self.instruction,
        }
    }

    /// Whether another lane of this store, the one that `other` is of, stores the same, or a number that differs by its rounding.
    fn stores_same(&self, lane: usize, other: Stamp, warp: u32) -> bool {
        let from = other.thread() as usize % LANES;
        if self.inst.kind != AccessKind::Store
            || other.thread() / LANES as u32 != warp
            || self.mask & LANE_BITS[from] == 0
        {
            return false;
        }
        let registers = &self.inst.registers[..usize::from(self.inst.count)];
        registers.iter().all(|&register| match self.inst.wide {
            true => {
                let values = self.frame.wide(register);
                is_rounded_alike(values[lane], values[from], 0x7ff << 52)
            }
            false => {
                let values = self.frame.narrow(register);
                is_rounded_alike(values[lane].into(), values[from].into(), 0xff << 23)
            }
        })
    }
}

impl Stores<'_> {
    /// Looks at an access of the lanes of `mask` that is about to be performed.
    #[inline(never)]
    pub(crate) fn check(
        &mut self,
        frame: &Frame<'_>,
        inst: &MemoryInst,
        mask: u32,
        instruction: u32,
    ) -> Verdicts {
        let mut verdicts = Verdicts::default();
        let Some(mut checker) = self.memory.take_checker() else {
            return verdicts;
        };
        if let Some(block) = self.check.as_deref_mut() {
            let site = checker.site(instruction);
            let step = Step {
                frame,
                inst,
                instruction,
                mask,
                is_strong: site.is_some_and(|site| site.is_strong),
                is_of_block: site.is_some_and(|site| site.is_of_block),
                is_release: site.is_some_and(|site| site.is_release),
                is_copy: site.is_some_and(|site| site.is_copy),
                line: site.map_or(0, |site| site.line_number),
            };
            let mut addresses = lane_addresses(frame, inst);
            let target = resolve(inst.space, &mut addresses, mask);
            let mut parts = Parts {
                memory: &mut *self.memory,
                shared: &*self.shared,
                has_neighbors: self.seat.is_some_and(|seat| seat.blocks > 1),
                checker: &mut checker,
                block,
                hint: &mut self.hints[inst.site as usize],
                verdicts: &mut verdicts,
            };
            parts.look(&step, target, &addresses, mask);
        }
        self.memory.put_checker(checker);
        verdicts
    }

    /// Reports the stores of `verdicts` that changed what was there.
    pub(crate) fn judge(&mut self, verdicts: &Verdicts, instruction: u32) {
        for verdict in &verdicts.0 {
            let bytes = verdict.before.len();
            let now = match verdict.target {
                Target::Shared => {
                    let start = verdict.address as usize;
                    self.shared.get(start..start + bytes)
                }
                _ => self.memory.bytes(verdict.address, bytes as u64).ok(),
            };
            if now == Some(&verdict.before[..]) {
                continue;
            }
            if let (Some(block), Some(checker)) = (self.check.as_deref(), &mut self.memory.checker)
            {
                let place = Place {
                    block: block.index,
                    thread: block.warp * LANES as u32 + verdict.lane as u32,
                    instruction,
                };
                let at = (verdict.address, verdict.target == Target::Shared);
                checker.note_race(place, AccessKind::Store, at, verdict.conflict);
            }
        }
    }

    /// Looks at a load of a row of a matrix in shared memory by one lane.
    pub(crate) fn check_row(
        &mut self,
        lane: usize,
        (offset, bytes): (u64, usize),
        instruction: u32,
    ) {
        if self.seat.is_some_and(|seat| seat.blocks > 1) {
            return;
        }
        let (Some(block), Some(checker)) = (self.check.as_deref_mut(), &mut self.memory.checker)
        else {
            return;
        };
        let line = checker.site(instruction).map_or(0, |site| site.line_number);
        let place = Place {
            block: block.index,
            thread: block.warp * LANES as u32 + lane as u32,
            instruction,
        };
        let range = (offset as usize, bytes);
        if block.flying.touches(range.0, range.1) {
            checker.note_early(place, offset, bytes);
        }
        if !block.valid.all(range.0, range.1) {
            checker.note_unset(place, AccessKind::Load, (offset, true), bytes);
        }
        let mine = Stamp::new(block.time, place.thread, place.thread, line, false);
        let floor = Stamp::floor(block.floor);
        let found = block.cells.touch(range, mine, floor, false, &block.rules);
        if let Some(conflict) = found {
            checker.note_race(place, AccessKind::Load, (offset, true), conflict);
        }
    }
}

/// All that a look at an access needs.
pub(super) struct Parts<'a> {
    memory: &'a mut DeviceMemory,
    shared: &'a [u8],
    /// Whether other blocks reach the shared memory: what they do there is not known.
    has_neighbors: bool,
    pub(super) checker: &'a mut Checker,
    pub(super) block: &'a mut BlockCheck,
    hint: &'a mut u32,
    verdicts: &'a mut Verdicts,
}

/// Lanes that access global memory.
struct Global<'p, 'a, 's>(&'p mut Parts<'a>, &'p Step<'s>, &'p Line<u64>, u32);

impl Wide for Global<'_, '_, '_> {
    #[inline(always)]
    fn work(self) {
        self.0.look_at_global(self.1, self.2, self.3);
    }
}

/// Lanes that access shared memory.
struct Shared<'p, 'a, 's>(&'p mut Parts<'a>, &'p Step<'s>, &'p Line<u64>, u32);

impl Wide for Shared<'_, '_, '_> {
    #[inline(always)]
    fn work(self) {
        self.0.look_at_shared(self.1, self.2, self.3);
    }
}

impl Parts<'_> {
    fn look(&mut self, step: &Step<'_>, target: Target, addresses: &Line<u64>, mask: u32) {
        match target {
            Target::Memory => {
                if step.is_strong && !step.is_of_block {
                    self.meet_in_global(step, addresses, mask);
                }
                widest(Global(self, step, addresses, mask));
            }
            Target::Shared if self.has_neighbors => {}
            Target::Shared => {
                if step.is_strong {
                    self.meet_in_shared(step, addresses, mask);
                }
                widest(Shared(self, step, addresses, mask));
            }
            Target::Mixed => {
                for lane in lanes_of(mask) {
                    let mut single = Line::splat(addresses[lane]);
                    let bit = LANE_BITS[lane];
                    let target = resolve(step.inst.space, &mut single, bit);
                    if target != Target::Mixed {
                        self.look(step, target, &single, bit);
                    }
                }
            }
            Target::Local | Target::Param => {}
        }
    }

    #[inline(always)]
    fn look_at_shared(&mut self, step: &Step<'_>, addresses: &Line<u64>, mask: u32) {
        let bytes = step.inst.lane_bytes() as usize;
        let room = self.shared.len() as u64;
        let is_inside =
            room >= bytes as u64 && mask & !inside(addresses, 0, room - bytes as u64) == 0;
        if !is_inside {
            // The access itself fails.
            return;
        }
        let mut rows = Rows::of(addresses, mask, bytes);
        let written = rows;
        while let Some((first, last)) = rows.next_repeated(addresses) {
            let at = addresses[first.lane] as usize;
            if first.is_same && !step.writes() {
                // One reader.
                let another = self.block.warp * LANES as u32 + first.last() as u32;
                self.lane_in_shared(step, first.lane, at, in_warp(another, step.line));
            } else if last.last() == first.lane || !self.row_in_shared(step, (&first, &last), at) {
                for lane in lanes_of(mask).filter(|&lane| lane >= first.lane && lane <= last.last())
                {
                    let thread = self.block.warp * LANES as u32 + lane as u32;
                    self.lane_in_shared(step, lane, addresses[lane] as usize, thread);
                }
            }
        }
        if step.writes() {
            for row in written {
                let at = addresses[row.lane] as usize;
                self.block.valid.set(at, row.bytes(bytes), true);
            }
        }
    }

    /// All lanes of a row, and of rows of the same addresses behind it; false, with nothing noted, if there may be a mistake.
    #[inline(always)]
    fn row_in_shared(&mut self, step: &Step<'_>, (row, last): (&Row, &Row), offset: usize) -> bool {
        let lane_bytes = step.inst.lane_bytes() as usize;
        let block = &mut *self.block;
        let is_repeated = row != last;
        if row.is_same
            || step.is_copy
            || step.reads() && !block.flying.is_empty()
            || step.is_strong
            || step.writes() && is_repeated
            || step.reads() && !block.valid.all(offset, row.bytes(lane_bytes))
        {
            return false;
        }
        let first = block.warp * LANES as u32;
        let thread = first + last.lane as u32;
        let actor = match is_repeated {
            true => in_warp(first + row.lane as u32, step.line),
            false => thread,
        };
        let touch = RowTouch {
            offset,
            lanes: row.lanes,
            lane_bytes,
            mine: Stamp::new(block.time, actor, thread, step.line, false),
            step: Stamp::NEXT_THREAD | Stamp::NEXT_ACTOR,
            is_write: step.writes(),
        };
        let floor = Stamp::floor(block.floor);
        block.cells.touch_row(&touch, floor, &block.rules)
    }

    /// One lane, or several that read the same.
    fn lane_in_shared(&mut self, step: &Step<'_>, lane: usize, offset: usize, actor: u32) {
        let bytes = step.inst.lane_bytes() as usize;
        if step.reads() && self.block.flying.touches(offset, bytes) {
            let place = step.place(self.block, lane);
            self.checker.note_early(place, offset as u64, bytes);
        }
        if step.is_copy && step.writes() {
            let thread = self.block.warp * LANES as u32 + lane as u32;
            let room = self.shared.len();
            self.block.flying.start(thread, (offset, bytes), room);
        }
        if step.is_unset(&self.block.valid, offset) {
            let place = step.place(self.block, lane);
            let at = (offset as u64, true);
            self.checker.note_unset(place, step.inst.kind, at, bytes);
        }
        let BlockCheck {
            cells,
            rules,
            warp,
            time,
            floor,
            ..
        } = &mut *self.block;
        let thread = *warp * LANES as u32 + lane as u32;
        let mine = Stamp::new(*time, actor, thread, step.line, step.is_strong);
        let floor = Stamp::floor(*floor);
        let found = cells.touch((offset, bytes), mine, floor, step.writes(), rules);
        if let Some(conflict) = found {
            self.race(step, Target::Shared, lane, offset as u64, conflict);
        }
    }

    #[inline(always)]
    fn look_at_global(&mut self, step: &Step<'_>, addresses: &Line<u64>, mask: u32) {
        let bytes = step.inst.lane_bytes() as usize;
        let mut rest = mask;
        while rest != 0 {
            let first = rest.trailing_zeros() as usize & (LANES - 1);
            let Some(at) = self.memory.index_with_hint(addresses[first], self.hint) else {
                return;
            };
            let (base, size) = self.memory.extent(at);
            let here = rest & inside(addresses, base, (size as u64).saturating_sub(bytes as u64));
            if here & LANE_BITS[first] == 0 || size < bytes {
                return;
            }
            rest &= !here;
            if self.memory.is_read_only(at) {
                continue;
            }
            let mut shadow = self.memory.take_shadow(at);
            let cells = shadow
                .cells
                .get_or_insert_with(|| Cells::new(size, base.is_multiple_of(4)));
            let rows = Rows::of(addresses, here, bytes);
            for row in rows {
                let offset = (addresses[row.lane] - base) as usize;
                let end = offset + row.bytes(bytes);
                shadow.seen.widen(self.checker.began, offset, end);
                if !self.row_in_global(step, &row, cells, offset) {
                    for lane in row.lanes() {
                        self.lane_in_global(step, lane, cells, addresses, base);
                    }
                }
            }
            match self.memory.is_heap(at) {
                true => self.look_at_heap(step, &mut shadow, base, addresses, here),
                false => self.look_at_values(step, &mut shadow, base, addresses, rows),
            }
            self.memory.put_shadow(at, shadow);
        }
    }

    /// The stamp of a thread's access to global memory.
    #[inline(always)]
    fn global_stamp(&self, step: &Step<'_>, lane: usize) -> Stamp {
        let actor = (self.block.index % u64::from(SEVERAL)) as u32;
        let thread = self.block.warp * LANES as u32 + lane as u32;
        let is_strong = step.is_strong && !step.is_of_block;
        Stamp::new(self.checker.time, actor, thread, step.line, is_strong)
    }

    /// All lanes of a row; false, with nothing noted, if they may race.
    #[inline(always)]
    fn row_in_global(&self, step: &Step<'_>, row: &Row, cells: &mut Cells, offset: usize) -> bool {
        if row.is_same && step.writes() {
            return false;
        }
        // Lanes that read the same are one reader, and the last of them is known for it.
        let (lane, lanes) = match row.is_same {
            true => (row.last(), 1),
            false => (row.lane, row.lanes),
        };
        let touch = RowTouch {
            offset,
            lanes,
            lane_bytes: step.inst.lane_bytes() as usize,
            mine: self.global_stamp(step, lane),
            step: Stamp::NEXT_THREAD,
            is_write: step.writes(),
        };
        let rules = BlockRules(&self.checker.order);
        cells.touch_row(&touch, Stamp::floor(self.checker.floor), &rules)
    }

    fn lane_in_global(
        &mut self,
        step: &Step<'_>,
        lane: usize,
        cells: &mut Cells,
        addresses: &Line<u64>,
        base: u64,
    ) {
        let mine = self.global_stamp(step, lane);
        let floor = Stamp::floor(self.checker.floor);
        let bytes = step.inst.lane_bytes() as usize;
        let range = ((addresses[lane] - base) as usize, bytes);
        let rules = BlockRules(&self.checker.order);
        let found = cells.touch(range, mine, floor, step.writes(), &rules);
        if let Some(conflict) = found {
            self.race(step, Target::Memory, lane, addresses[lane], conflict);
        }
    }

    /// What is read has a value, and what is written has one from now on.
    #[inline(always)]
    fn look_at_values(
        &mut self,
        step: &Step<'_>,
        shadow: &mut Shadow,
        base: u64,
        addresses: &Line<u64>,
        rows: Rows,
    ) {
        let Some(valid) = &mut shadow.valid else {
            return;
        };
        let bytes = step.inst.lane_bytes() as usize;
        let offset = |lane: usize| (addresses[lane] - base) as usize;
        for row in rows.filter(|_| step.reads()) {
            if valid.all(offset(row.lane), row.bytes(bytes)) {
                continue;
            }
            for lane in row
                .lanes()
                .filter(|&lane| step.is_unset(valid, offset(lane)))
            {
                let place = step.place(self.block, lane);
                let target = (addresses[lane], false);
                self.checker
                    .note_unset(place, step.inst.kind, target, bytes);
            }
        }
        for row in rows.filter(|_| step.writes()) {
            valid.set(offset(row.lane), row.bytes(bytes), true);
        }
    }

    /// The same on the heap of `malloc` in kernels, of which only some is handed out.
    fn look_at_heap(
        &mut self,
        step: &Step<'_>,
        shadow: &mut Shadow,
        base: u64,
        addresses: &Line<u64>,
        here: u32,
    ) {
        let bytes = step.inst.lane_bytes() as usize;
        for lane in lanes_of(here) {
            let place = step.place(self.block, lane);
            let target = (addresses[lane], false);
            let offset = (addresses[lane] - base) as usize;
            if !self.memory.is_taken(addresses[lane]) {
                self.checker.note_free(place, step.inst.kind, target, bytes);
            } else if let Some(valid) = &shadow.valid
                && step.is_unset(valid, offset)
            {
                self.checker
                    .note_unset(place, step.inst.kind, target, bytes);
            }
        }
        if let (true, Some(valid)) = (step.writes(), &mut shadow.valid) {
            for lane in lanes_of(here) {
                valid.set((addresses[lane] - base) as usize, bytes, true);
            }
        }
    }

    fn race(
        &mut self,
        step: &Step<'_>,
        target: Target,
        lane: usize,
        address: u64,
        conflict: Conflict,
    ) {
        let bytes = step.inst.lane_bytes() as usize;
        let place = step.place(self.block, lane);
        if step.inst.kind != AccessKind::Store {
            let at = (address, target == Target::Shared);
            self.checker.note_race(place, step.inst.kind, at, conflict);
            return;
        }
        let is_own = target == Target::Shared && conflict.after_write;
        if is_own && step.stores_same(lane, conflict.other, self.block.warp) {
            return;
        }
        // It is a mistake only if it changes something: several threads may set the same flag.
        let start = address as usize;
        let before = match target {
            Target::Shared => self.shared.get(start..start + bytes),
            _ => self.memory.bytes(address, bytes as u64).ok(),
        };
        self.verdicts.0.push(Verdict {
            target,
            lane,
            address,
            before: before.unwrap_or_default().to_vec(),
            conflict,
        });
    }
}

/// Whether two values are the same, or floating-point numbers that differ in the last bit; `exponent` has the bits of theirs. Small
/// integers are no such numbers.
fn is_rounded_alike(one: u64, other: u64, exponent: u64) -> bool {
    let is_normal = |value: u64| ![0, exponent].contains(&(value & exponent));
    one == other || one.abs_diff(other) == 1 && is_normal(one) && is_normal(other)
}

/// A bit for each lane that is at most `room` bytes from `base` on.
#[inline(always)]
fn inside(addresses: &Line<u64>, base: u64, room: u64) -> u32 {
    let mut bits = 0;
    for lane in 0..LANES {
        bits |= u32::from(addresses[lane].wrapping_sub(base) <= room) << lane;
    }
    bits
}
