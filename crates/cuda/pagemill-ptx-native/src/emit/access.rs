//! Loads and stores. The code distinguishes three patterns as it runs, as the interpreter does:
//! all lanes one behind the other, all at one place, each at its own. What is not inside the bytes that the instruction
//! touched last time ([`crate::run::context::Window`]), or is not aligned, is left to the interpreter.

use crate::assembler::encode::{
    ADD, CMP, Condition, Label, Masking, Mem, Operand, R13, R14, R15, RAX, RBX, RCX, SUB, Vector,
    Width, Zmm, at,
};
use crate::assembler::table::Table;
use crate::emit::cache::Name;
use crate::emit::emitter::{Emitter, K5, Stub};
use crate::emit::paths::ACTIVE;
use crate::emit::vectors::*;
use crate::run::context::fields;
use crate::run::purpose::Purpose;
use pagemill_ptx_ir::ast::Space;
use pagemill_ptx_ir::code::{AccessKind, AddressOperand, Bank, MemoryInst, SINK};
use pagemill_ptx_ir::op::Inst;

/// Truth table of "the first, or the others differ".
const OR_DIFFERS: u8 = 0xf6;

/// What the code for one access works with.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    site: i32,
    pub(crate) offset: i32,
    pub(crate) element_bytes: u8,
    is_signed: bool,
    pub(crate) is_load: bool,
    /// Whether what it stores is marked.
    is_marked: bool,
    /// Whether what was loaded is then extended to 64 bits.
    widens: bool,
    /// Addresses before the offset is added: four registers of 64 bits or two of 32 bits a lane.
    pub(crate) address: Name,
    pub(crate) addresses: Vec<Zmm>,
    /// Destinations or sources, register by register.
    pub(crate) data: Vec<Vec<Zmm>>,
    pub(crate) bank: Bank,
    pub(crate) temporaries: [Zmm; 6],
    pub(crate) is_masked: bool,
    /// Where to go when the interpreter must do it.
    pub(crate) slow: Label,
    pub(crate) done: Label,
}

impl Access {
    pub(crate) fn has_wide_addresses(&self) -> bool {
        self.address.bank == Bank::Wide
    }

    pub(crate) fn width(&self) -> Width {
        match self.has_wide_addresses() {
            true => Width::W64,
            false => Width::W32,
        }
    }

    /// Bytes of all registers of a lane.
    pub(crate) fn lane_bytes(&self) -> u8 {
        self.element_bytes * self.data.len() as u8
    }

    pub(crate) fn window(&self, field: i32) -> Mem {
        at(R13, fields::WINDOW_BYTES * self.site + field)
    }

    /// What moves a part of the lanes that lie one behind the other.
    pub(crate) fn row_instruction(&self) -> Vector {
        match (self.element_bytes, self.is_load, self.is_signed) {
            (1, true, false) => VPMOVZXBD,
            (1, true, true) => VPMOVSXBD,
            (2, true, false) => VPMOVZXWD,
            (2, true, true) => VPMOVSXWD,
            (4, true, _) => VMOVDQU32_LOAD,
            (_, true, _) => VMOVDQU64_LOAD,
            (1, false, _) => VPMOVDB,
            (2, false, _) => VPMOVDW,
            (4, false, _) => VMOVDQU32_STORE,
            (_, false, _) => VMOVDQU64_STORE,
        }
    }

    /// How part `part` of the addresses takes part.
    fn address_masking(&self, part: usize) -> Masking {
        match (self.is_masked, self.addresses.len()) {
            (false, _) => Masking::None,
            (true, 4) => Masking::Merge(ACTIVE[part]),
            (true, _) => Masking::Merge(ACTIVE[2 * part]),
        }
    }

    pub(crate) fn data_masking(&self, part: usize) -> Masking {
        match (self.is_masked, self.bank) {
            (false, _) => Masking::None,
            (true, Bank::Wide) => Masking::Merge(ACTIVE[part]),
            (true, _) => Masking::Merge(ACTIVE[2 * part]),
        }
    }
}

fn name_of(bank: Bank, register: u16) -> Name {
    match bank {
        Bank::Wide => Name::wide(register),
        _ => Name::narrow(register),
    }
}

/// An access whose lanes are not one behind the other.
pub(crate) struct Patterns {
    label: Label,
    access: Access,
}

impl Emitter<'_> {
    /// Whether compiled code can name the window and the offset of an access.
    pub(crate) fn is_in_reach(&self, memory: &MemoryInst) -> bool {
        let window = i64::from(memory.site) * i64::from(fields::WINDOW_BYTES);
        window <= i64::from(i32::MAX / 2) && i32::try_from(memory.offset).is_ok()
    }

    /// Whether [`Emitter::access`] can do this one.
    pub(crate) fn can_access(&self, inst: &Inst) -> bool {
        let memory = &self.code.memory[inst.aux as usize];
        let is_plain = matches!(
            (memory.element_bytes, memory.wide, memory.count),
            (1 | 2 | 4, false, 1) | (4, false, 2 | 4) | (8, true, 1 | 2 | 4)
        ) || matches!(
            (memory.element_bytes, memory.wide, memory.count, memory.kind),
            (1 | 2 | 4, true, 1, AccessKind::Load)
        );
        let is_reachable = match memory.address {
            _ if memory.space == Space::Local => memory.element_bytes == 4 && !memory.wide,
            AddressOperand::Wide(_) => {
                matches!(memory.space, Space::Global | Space::Const | Space::Generic)
            }
            AddressOperand::Narrow(_) => memory.space == Space::Shared,
        };
        is_plain
            && is_reachable
            && self.is_in_reach(memory)
            && memory.registers[..usize::from(memory.count)]
                .iter()
                .any(|&register| register != SINK)
            && matches!(memory.kind, AccessKind::Load | AccessKind::Store)
    }

    /// A load or store. The cache does not change between the first way out and the end.
    pub(crate) fn access(&mut self, inst: &Inst) {
        let memory = self.code.memory[inst.aux as usize].clone();
        let is_guarded = inst.guard != Inst::UNGUARDED;
        self.begin(inst);
        let access = self.prepare(&memory);
        if is_guarded {
            self.asm.test(RBX, RBX);
            self.asm.jump_if(Condition::Equal, access.done);
        }
        if memory.space == Space::Local {
            self.in_local(&access);
        } else if access.address.is_constant() {
            self.at_one_place(&access);
        } else {
            self.by_pattern(&access);
        }
        self.finish_access(&memory, &access);
        self.end(inst);
    }

    /// Counts an access, and says where its results are.
    pub(crate) fn finish_access(&mut self, memory: &MemoryInst, access: &Access) {
        self.count_access(access);
        // Lanes that took no part come here without counting.
        self.asm.bind(access.done);
        self.release(&access.temporaries);
        if access.widens {
            self.finish_widened(memory.registers[0], memory.signed, &access.data[0]);
        } else if access.is_load {
            self.finish_load(memory, access);
        }
    }

    /// Brings all operands into registers.
    pub(crate) fn prepare(&mut self, memory: &MemoryInst) -> Access {
        let address = Name::of_address(memory);
        // What is shorter than a wide register is loaded as if it were narrow, and widened then.
        let widens = memory.wide && memory.element_bytes < 8;
        let bank = if memory.wide && !widens {
            Bank::Wide
        } else {
            Bank::Narrow
        };
        let is_load = memory.kind == AccessKind::Load;
        let parts = if bank == Bank::Wide { 4 } else { 2 };
        let line = self.line(address, true);
        let addresses = line[..if address.bank == Bank::Wide { 4 } else { 2 }].to_vec();
        let registers = &memory.registers[..usize::from(memory.count)];
        let data = registers.iter().map(|&register| {
            match is_load && !self.is_masked || widens || register == SINK {
                true => (0..parts).map(|_| self.take()).collect(),
                false => self.line(name_of(bank, register), true)[..parts].to_vec(),
            }
        });
        let data = data.collect();
        let temporaries = self.take_line::<6>();
        if self.is_masked && !address.is_constant() {
            // The first active lane's address is read from memory.
            self.clean(address);
        }
        Access {
            widens,
            addresses,
            data,
            bank,
            temporaries,
            slow: self.exit(),
            ..self.access_at(memory, address)
        }
    }

    /// What is known of an access before it has registers and ways out.
    pub(crate) fn access_at(&mut self, memory: &MemoryInst, address: Name) -> Access {
        Access {
            site: memory.site as i32,
            offset: memory.offset as i32,
            element_bytes: memory.element_bytes,
            is_signed: memory.signed,
            is_load: memory.kind == AccessKind::Load,
            is_marked: self.purpose == Purpose::Apart
                && memory.kind == AccessKind::Store
                && matches!(memory.space, Space::Global | Space::Generic),
            widens: false,
            address,
            addresses: Vec::new(),
            data: Vec::new(),
            bank: Bank::Narrow,
            temporaries: [0; 6],
            is_masked: self.is_masked,
            slow: Label::NONE,
            done: self.asm.label(),
        }
    }

    fn finish_load(&mut self, memory: &MemoryInst, access: &Access) {
        for (&register, data) in memory.registers.iter().zip(&access.data) {
            if register == SINK {
                self.release(data);
                continue;
            }
            let name = name_of(access.bank, register);
            if !access.is_masked {
                let mut all = [0; 4];
                all[..data.len()].copy_from_slice(data);
                self.cache.define(name, all, true, false);
            } else if let Some(entry) = self.cache.find(name) {
                entry.is_dirty = true;
            }
        }
    }

    /// Extends what was loaded to 64 bits.
    fn finish_widened(&mut self, register: u16, is_signed: bool, data: &[Zmm]) {
        let op = if is_signed { VPMOVSXDQ } else { VPMOVZXDQ };
        let eights = self.eights([data[0], data[1]]);
        let out = self.take_line::<4>();
        for (&dst, &src) in out.iter().zip(&eights) {
            self.op1(op, dst, Operand::Register(src));
        }
        self.release_eights(eights);
        self.release(data);
        self.finish(Bank::Wide, register, &out, false);
    }

    fn count_access(&mut self, access: &Access) {
        self.asm.arithmetic_imm(ADD, Width::W64, R14, 1);
        if !access.is_load && !access.is_marked {
            self.asm.arithmetic_imm(ADD, Width::W64, R15, 1);
        }
    }

    /// The address of the first active lane without the offset to RAX, and that lane's number to RCX if masked.
    pub(crate) fn first_address(&mut self, access: &Access) {
        if access.is_masked {
            self.asm.trailing_zeros(RCX, RBX);
            let line = crate::emit::emitter::memory_of(access.address);
            let element = Mem {
                index: Some(RCX.0),
                scale: if access.has_wide_addresses() { 3 } else { 2 },
                ..line
            };
            self.asm.load(access.width(), RAX, element);
            return;
        }
        let op = match access.has_wide_addresses() {
            true => VMOVQ_TO_GPR,
            false => VMOVD_TO_GPR,
        };
        self.asm
            .vector_low(op, access.addresses[0], Operand::Register(RAX.0));
    }

    /// K5: parts of the first temporary that are not zero in a lane that takes part.
    pub(crate) fn differs(&mut self, access: &Access) {
        let sum = access.temporaries[0];
        let test = match access.has_wide_addresses() {
            true => VPTESTMQ,
            false => VPTESTMD,
        };
        self.asm
            .vector(test, K5.0, sum, Operand::Register(sum), Masking::None);
        self.asm.mask_test(K5);
    }

    /// Sums up in the first temporary how the active addresses differ from the second plus `steps`.
    pub(crate) fn compare_addresses(&mut self, access: &Access, has_steps: bool) {
        let [sum, origin, expected, ..] = access.temporaries;
        let is_wide = access.has_wide_addresses();
        let (add, xor, ternary) = match is_wide {
            true => (VPADDQ, VPXORQ, VPTERNLOGQ),
            false => (VPADDD, VPXORD, VPTERNLOGD),
        };
        for (part, &addresses) in access.addresses.iter().enumerate() {
            let mut wanted = origin;
            if has_steps {
                let steps = Table::steps(access.lane_bytes(), is_wide, part);
                self.op2(add, expected, origin, Operand::Memory(steps));
                wanted = expected;
            }
            let wanted = Operand::Register(wanted);
            let masking = access.address_masking(part);
            if part > 0 {
                let sources = (addresses, wanted);
                self.asm
                    .vector_imm(ternary, sum, sources, OR_DIFFERS, masking);
                continue;
            }
            let masking = match masking {
                Masking::Merge(mask) => Masking::Zero(mask),
                other => other,
            };
            self.asm.vector(xor, sum, addresses, wanted, masking);
        }
    }

    /// All lanes one behind the other, or on to the other patterns.
    fn by_pattern(&mut self, access: &Access) {
        let label = self.asm.label();
        let is_marked_wide = access.is_marked && access.bank == Bank::Wide;
        if access.is_masked && (access.data.len() > 1 || is_marked_wide) {
            // Rows of several registers are permuted whole, and marked whole.
            self.asm.jump(label);
        } else {
            self.in_a_row(access, label);
        }
        // The others come back here, to be counted.
        let done = self.asm.label();
        self.asm.bind(done);
        let access = Access {
            done,
            ..access.clone()
        };
        self.stubs.push(Stub::Patterns(Patterns { label, access }));
    }

    /// Goes on with the address of lane 0 in RAX, without its offset, if all lanes lie one behind the other.
    pub(crate) fn expect_row(&mut self, access: &Access, otherwise: Label) {
        self.first_address(access);
        if access.is_masked {
            let shift = access.lane_bytes().trailing_zeros() as u8;
            self.asm.shift_left(RCX, shift);
            self.asm.arithmetic(SUB, access.width(), RAX, RCX);
        }
        self.broadcast(access, access.temporaries[1]);
        self.compare_addresses(access, true);
        self.differs(access);
        self.asm.jump_if(Condition::NotEqual, otherwise);
    }

    /// Goes on with the address in RAX, without its offset, if it is that of all lanes.
    pub(crate) fn expect_one_place(&mut self, access: &Access, otherwise: Label) {
        self.first_address(access);
        self.broadcast(access, access.temporaries[1]);
        self.compare_addresses(access, false);
        self.differs(access);
        self.asm.jump_if(Condition::NotEqual, otherwise);
    }

    fn in_a_row(&mut self, access: &Access, otherwise: Label) {
        self.expect_row(access, otherwise);
        self.locate(access, fields::WINDOW_BLOCK_END);
        self.move_row(access);
        if access.is_marked {
            self.mark_row(access);
        }
    }

    pub(crate) fn broadcast(&mut self, access: &Access, dst: Zmm) {
        let op = match access.has_wide_addresses() {
            true => VPBROADCASTQ_GPR,
            false => VPBROADCASTD_GPR,
        };
        self.op1(op, dst, Operand::Register(RAX.0));
    }

    /// From the address in RAX without its offset to the host's in RCX, if it is aligned and below the window's `end`.
    pub(crate) fn locate(&mut self, access: &Access, end: i32) {
        if access.offset != 0 {
            self.asm
                .arithmetic_imm(ADD, access.width(), RAX, access.offset);
        }
        self.asm.mov(access.width(), RCX, RAX);
        self.asm
            .arithmetic_mem(SUB, Width::W64, RCX, access.window(fields::WINDOW_BASE));
        self.asm
            .arithmetic_mem(CMP, Width::W64, RCX, access.window(end));
        self.asm.jump_if(Condition::AboveEqual, access.slow);
        self.asm.test_imm(RCX, u32::from(access.lane_bytes()) - 1);
        self.asm.jump_if(Condition::NotEqual, access.slow);
        self.asm
            .arithmetic_mem(ADD, Width::W64, RCX, access.window(fields::WINDOW_HOST));
    }

    /// All lanes at the address that is a constant.
    fn at_one_place(&mut self, access: &Access) {
        if !access.is_load {
            self.asm.jump(access.slow);
            return;
        }
        let place = crate::emit::emitter::memory_of(access.address);
        self.asm.load(access.width(), RAX, place);
        self.load_one_place(access);
    }

    pub(crate) fn load_one_place(&mut self, access: &Access) {
        self.locate(access, fields::WINDOW_LANE_END);
        for (number, registers) in access.data.iter().enumerate() {
            let memory = at(RCX, number as i32 * i32::from(access.element_bytes));
            let (op, place) = match access.element_bytes {
                8 => (VPBROADCASTQ, Operand::Memory(memory)),
                4 => (VPBROADCASTD, Operand::Memory(memory)),
                bytes => {
                    self.asm.load_short(bytes, access.is_signed, RAX, memory);
                    (VPBROADCASTD_GPR, Operand::Register(RAX.0))
                }
            };
            for (part, &data) in registers.iter().enumerate() {
                self.asm
                    .vector(op, data, 0, place, access.data_masking(part));
            }
        }
    }

    /// All lanes at one place, or each at its own.
    pub(crate) fn patterns(&mut self, patterns: &Patterns) {
        let access = &patterns.access;
        self.asm.bind(patterns.label);
        let scattered = self.asm.label();
        if access.is_load {
            self.expect_one_place(access, scattered);
            self.load_one_place(access);
            self.asm.jump(access.done);
        }
        // Scatters write in the order of lanes, so of several at one place the last one remains.
        self.asm.bind(scattered);
        if self.purpose == Purpose::Timed || access.is_marked {
            // Banks of shared memory may serve them one after the other, which the interpreter counts; it marks as well.
            self.asm.jump(access.slow);
            return;
        }
        let indices = self.indices(access);
        self.asm
            .load(Width::W64, RCX, access.window(fields::WINDOW_HOST));
        if !access.is_load && access.element_bytes < 4 {
            self.scatter_short(access, &indices);
            self.asm.jump(access.done);
            return;
        }
        for number in 0..access.data.len() {
            match (access.bank, access.has_wide_addresses()) {
                (Bank::Wide, true) => self.move_wide(access, number, &indices),
                (Bank::Wide, false) => self.move_wide_by_narrow(access, number, &indices),
                (_, true) => self.move_narrow_by_wide(access, number, &indices),
                (_, false) => self.move_narrow(access, number, &indices),
            }
        }
        if access.element_bytes < 4 {
            self.cut_gathered(access);
        }
        self.asm.jump(access.done);
    }

    /// Extends the first one or two bytes of the four that were gathered.
    fn cut_gathered(&mut self, access: &Access) {
        let spare_bits = 32 - 8 * access.element_bytes;
        let right = if access.is_signed { 4 } else { 2 };
        for (part, &data) in access.data[0].iter().enumerate() {
            let source = (data, Operand::Register(data));
            let masking = access.data_masking(part);
            for number in [6, right] {
                self.asm
                    .vector_imm(SHIFT_D_IMM, number, source, spare_bits, masking);
            }
        }
    }

    /// Each lane's offset in the window, aligned and inside where it is active.
    fn indices(&mut self, access: &Access) -> Vec<Zmm> {
        let [_, shared, offsets @ ..] = access.temporaries;
        let is_wide = access.has_wide_addresses();
        let (broadcast, broadcast_gpr, subtract, compare, test) = match is_wide {
            true => (VPBROADCASTQ, VPBROADCASTQ_GPR, VPSUBQ, VPCMPUQ, VPTESTMQ),
            false => (VPBROADCASTD, VPBROADCASTD_GPR, VPSUBD, VPCMPUD, VPTESTMD),
        };
        let parts = access.addresses.len();
        self.asm
            .load(Width::W64, RAX, access.window(fields::WINDOW_BASE));
        self.asm.arithmetic_imm(SUB, Width::W64, RAX, access.offset);
        self.op1(broadcast_gpr, shared, Operand::Register(RAX.0));
        for (&offset, &address) in offsets.iter().zip(&access.addresses) {
            self.op2(subtract, offset, address, Operand::Register(shared));
        }
        let end = access.window(fields::WINDOW_LANE_END);
        self.op1(broadcast, shared, Operand::Memory(end));
        let low = match is_wide {
            true => self.table.constant64(u64::from(access.lane_bytes()) - 1),
            false => self.table.constant32(u32::from(access.lane_bytes()) - 1),
        };
        for (part, &offset) in offsets.iter().enumerate().take(parts) {
            let masking = access.address_masking(part);
            let bounds = (offset, Operand::Register(shared));
            self.asm
                .vector_imm(compare, K5.0, bounds, integer::NOT_LESS, masking);
            self.asm.mask_test(K5);
            self.asm.jump_if(Condition::NotEqual, access.slow);
            self.asm
                .vector(test, K5.0, offset, Operand::Broadcast(low), masking);
            self.asm.mask_test(K5);
            self.asm.jump_if(Condition::NotEqual, access.slow);
        }
        offsets[..parts].to_vec()
    }

    /// K5: the lanes of part `part` of `parts` that take part. Gathers and scatters clear it as they go.
    fn part_mask(&mut self, access: &Access, part: usize, parts: usize) {
        if access.is_masked {
            self.asm.mask_shift_right(K5, ACTIVE[4 / parts * part], 0);
        } else {
            self.asm.mov_imm(RAX, u32::MAX);
            self.asm.mask_from(K5, RAX);
        }
    }

    /// Gathers or scatters register `number` of some lanes.
    fn gather(&mut self, op: Vector, (data, number): (Zmm, usize), index: Zmm, access: &Access) {
        let place = Operand::Memory(Mem {
            base: RCX,
            index: Some(index),
            scale: 0,
            disp: number as i32 * i32::from(access.element_bytes),
        });
        self.asm.vector(op, data, 0, place, Masking::Merge(K5));
    }

    fn move_wide(&mut self, access: &Access, number: usize, indices: &[Zmm]) {
        let op = if access.is_load {
            VPGATHERQQ
        } else {
            VPSCATTERQQ
        };
        for (part, (&data, &index)) in access.data[number].iter().zip(indices).enumerate() {
            self.part_mask(access, part, 4);
            self.gather(op, (data, number), index, access);
        }
    }

    fn move_narrow(&mut self, access: &Access, number: usize, indices: &[Zmm]) {
        let op = if access.is_load {
            VPGATHERDD
        } else {
            VPSCATTERDD
        };
        for (part, (&data, &index)) in access.data[number].iter().zip(indices).enumerate() {
            self.part_mask(access, part, 2);
            self.gather(op, (data, number), index, access);
        }
    }

    /// 64-bit elements at 32-bit offsets: each register of offsets serves two of data.
    fn move_wide_by_narrow(&mut self, access: &Access, number: usize, indices: &[Zmm]) {
        let spread = access.temporaries[1];
        let op = if access.is_load {
            VPGATHERQQ
        } else {
            VPSCATTERQQ
        };
        for (part, &data) in access.data[number].iter().enumerate() {
            let index = indices[part / 2];
            if part % 2 == 1 {
                self.extract_upper(spread, index);
                self.op1(VPMOVZXDQ, spread, Operand::Register(spread));
            } else {
                self.op1(VPMOVZXDQ, spread, Operand::Register(index));
            }
            self.part_mask(access, part, 4);
            self.gather(op, (data, number), spread, access);
        }
    }

    /// 32-bit elements at 64-bit offsets: each register of data is moved in two halves.
    fn move_narrow_by_wide(&mut self, access: &Access, number: usize, indices: &[Zmm]) {
        let [low, high, ..] = access.temporaries;
        let op = if access.is_load {
            VPGATHERQD
        } else {
            VPSCATTERQD
        };
        for (half, &data) in access.data[number].iter().enumerate() {
            self.op1(VMOVDQA64_LOAD, low, Operand::Register(data));
            self.extract_upper(high, data);
            for (side, register) in [low, high].into_iter().enumerate() {
                let part = 2 * half + side;
                self.part_mask(access, part, 4);
                self.gather(op, (register, number), indices[part], access);
            }
            if access.is_load {
                self.insert_upper(data, low, high);
            }
        }
    }
}
