//! Bytes of x86-64 instructions: the few forms that compiled kernels are made of.
//!
//! Vector instructions are EVEX-encoded (Intel SDM volume 2, section 2.7), mask instructions VEX-encoded. Displacements
//! always take four bytes, so no compressed form is needed.

/// A general register by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gpr(pub u8);

pub(crate) const RAX: Gpr = Gpr(0);
pub(crate) const RCX: Gpr = Gpr(1);
pub(crate) const RDX: Gpr = Gpr(2);
pub(crate) const RBX: Gpr = Gpr(3);
pub(crate) const RBP: Gpr = Gpr(5);
pub(crate) const RSI: Gpr = Gpr(6);
pub(crate) const RDI: Gpr = Gpr(7);
pub(crate) const R8: Gpr = Gpr(8);
pub(crate) const R9: Gpr = Gpr(9);
pub(crate) const R10: Gpr = Gpr(10);
pub(crate) const R11: Gpr = Gpr(11);
pub(crate) const R12: Gpr = Gpr(12);
pub(crate) const R13: Gpr = Gpr(13);
pub(crate) const R14: Gpr = Gpr(14);
pub(crate) const R15: Gpr = Gpr(15);

/// A vector register by its number, 0 to 31.
pub(crate) type Zmm = u8;

/// A mask register by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mask(pub u8);

/// Bytes at a register plus a displacement, and perhaps at an index for each lane of a vector.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mem {
    pub base: Gpr,
    pub index: Option<u8>,
    /// Logarithm of the index' scale.
    pub scale: u8,
    pub disp: i32,
}

/// The bytes at `base + disp`.
pub(crate) fn at(base: Gpr, disp: i32) -> Mem {
    Mem {
        base,
        index: None,
        scale: 0,
        disp,
    }
}

/// The last operand of a vector instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Operand {
    Register(u8),
    Memory(Mem),
    /// One element, for all lanes.
    Broadcast(Mem),
}

/// A vector instruction: opcode map, prefix, width bit, opcode.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vector {
    map: u8,
    prefix: u8,
    wide: bool,
    opcode: u8,
}

/// Prefix bits of VEX and EVEX.
pub(crate) mod prefix {
    pub const NONE: u8 = 0;
    pub const P66: u8 = 1;
    pub const PF3: u8 = 2;
    pub const PF2: u8 = 3;
}

impl Vector {
    pub(crate) const fn new(map: u8, prefix: u8, wide: bool, opcode: u8) -> Self {
        Self {
            map,
            prefix,
            wide,
            opcode,
        }
    }
}

/// What becomes of the lanes that a mask leaves out.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Masking {
    None,
    /// They stay as they were.
    Merge(Mask),
    Zero(Mask),
}

/// How one instruction rounds: the bits of EVEX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Rounded {
    Nearest = 0,
    Down = 1,
    Up = 2,
    Zero = 3,
}

impl Rounded {
    /// By the numbers of [`pagemill_ptx_ir::functions::rounding::Rounding`].
    pub(crate) fn of_ptx(number: u32) -> Self {
        match number {
            0 => Self::Nearest,
            1 => Self::Zero,
            2 => Self::Down,
            _ => Self::Up,
        }
    }
}

/// A place in the code that may not be known yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label(usize);

impl Label {
    /// No place.
    pub(crate) const NONE: Self = Self(usize::MAX);
}

/// Condition codes of `jcc`.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub(crate) enum Condition {
    AboveEqual = 3,
    Equal = 4,
    NotEqual = 5,
    LessEqual = 14,
}

/// Arithmetic of general registers: the opcode of the `register, r/m` form, and its number in the group of immediates.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arithmetic(u8, u8);

pub(crate) const ADD: Arithmetic = Arithmetic(0x03, 0);
pub(crate) const OR: Arithmetic = Arithmetic(0x0b, 1);
pub(crate) const AND: Arithmetic = Arithmetic(0x23, 4);
pub(crate) const SUB: Arithmetic = Arithmetic(0x2b, 5);
pub(crate) const CMP: Arithmetic = Arithmetic(0x3b, 7);

/// Width of an operation on general registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    W32,
    W64,
}

/// Code under construction.
#[derive(Debug, Default)]
pub(crate) struct Assembler {
    pub code: Vec<u8>,
    labels: Vec<Option<usize>>,
    /// Places of 32-bit distances, and what they lead to.
    fixups: Vec<(usize, Label)>,
}

impl Assembler {
    pub(crate) fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Places `label` here.
    pub(crate) fn bind(&mut self, label: Label) {
        self.labels[label.0] = Some(self.code.len());
    }

    /// Where `label` was placed.
    pub(crate) fn offset_of(&self, label: Label) -> Option<usize> {
        self.labels[label.0]
    }

    /// Fills in all distances. False when a label was never placed, or is too far away.
    pub(crate) fn link(&mut self) -> bool {
        for &(place, label) in &self.fixups {
            let Some(target) = self.labels[label.0] else {
                return false;
            };
            let distance = target as i64 - (place as i64 + 4);
            let Ok(distance) = i32::try_from(distance) else {
                return false;
            };
            self.code[place..place + 4].copy_from_slice(&distance.to_le_bytes());
        }
        true
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.code.extend_from_slice(bytes);
    }

    // Vectors.

    /// `dst = op(a, b)` on 512 bits.
    pub(crate) fn vector(&mut self, op: Vector, dst: Zmm, a: Zmm, b: Operand, masking: Masking) {
        self.evex(op, 2, dst, a, b, masking);
    }

    /// The same with an immediate byte.
    pub(crate) fn vector_imm(
        &mut self,
        op: Vector,
        dst: Zmm,
        (a, b): (Zmm, Operand),
        imm: u8,
        masking: Masking,
    ) {
        self.evex(op, 2, dst, a, b, masking);
        self.code.push(imm);
    }

    /// `dst = op(a, b)` on 512 bits, rounded as `mode` says: the bits of the length hold it, and that of broadcasts is set for it.
    pub(crate) fn vector_rounded(&mut self, op: Vector, dst: Zmm, a: Zmm, b: Zmm, mode: Rounded) {
        let start = self.code.len();
        self.evex(op, mode as u8, dst, a, Operand::Register(b), Masking::None);
        self.code[start + 3] |= 1 << 4;
    }

    /// An instruction on the lower 128 bits.
    pub(crate) fn vector_low(&mut self, op: Vector, dst: u8, b: Operand) {
        self.evex(op, 0, dst, 0, b, Masking::None);
    }

    fn evex(
        &mut self,
        op: Vector,
        length: u8,
        reg: u8,
        first: u8,
        operand: Operand,
        masking: Masking,
    ) {
        let (mask, zero) = match masking {
            Masking::None => (0, 0),
            Masking::Merge(mask) => (mask.0, 0),
            Masking::Zero(mask) => (mask.0, 1),
        };
        let broadcast = u8::from(matches!(operand, Operand::Broadcast(_)));
        // The high bits of the last operand's numbers; that of a vector index takes the place of the first operand's.
        let (x, b, first_high) = match operand {
            Operand::Register(rm) => (rm >> 4 & 1, rm >> 3 & 1, first >> 4 & 1),
            Operand::Memory(mem) | Operand::Broadcast(mem) => {
                let index = mem.index.unwrap_or(0);
                let high = if mem.index.is_some() {
                    index >> 4
                } else {
                    first >> 4
                };
                (index >> 3 & 1, mem.base.0 >> 3 & 1, high & 1)
            }
        };
        let inverted = |bit: u8, place: u8| (bit & 1 ^ 1) << place;
        self.bytes(&[
            0x62,
            inverted(reg >> 3, 7)
                | inverted(x, 6)
                | inverted(b, 5)
                | inverted(reg >> 4, 4)
                | op.map,
            u8::from(op.wide) << 7 | (!first & 15) << 3 | 1 << 2 | op.prefix,
            zero << 7 | length << 5 | broadcast << 4 | inverted(first_high, 3) | mask,
            op.opcode,
        ]);
        match operand {
            Operand::Register(rm) => self.code.push(0xc0 | (reg & 7) << 3 | rm & 7),
            Operand::Memory(mem) | Operand::Broadcast(mem) => self.address(reg, mem),
        }
    }

    /// ModRM, SIB and displacement of a memory operand.
    fn address(&mut self, reg: u8, mem: Mem) {
        let base = mem.base.0 & 7;
        let reg = (reg & 7) << 3;
        match mem.index {
            None if base != 4 => self.code.push(0x80 | reg | base),
            index => self.bytes(&[
                0x84 | reg,
                mem.scale << 6 | index.map_or(4, |index| index & 7) << 3 | base,
            ]),
        }
        self.bytes(&mem.disp.to_le_bytes());
    }

    // Masks.

    fn vex(&mut self, (map, prefix, wide, long): (u8, u8, bool, bool), reg: u8, first: u8, rm: u8) {
        self.bytes(&[
            0xc4,
            (reg >> 3 & 1 ^ 1) << 7 | 1 << 6 | (rm >> 3 & 1 ^ 1) << 5 | map,
            u8::from(wide) << 7 | (!first & 15) << 3 | u8::from(long) << 2 | prefix,
        ]);
    }

    /// 32 bits of a general register to a mask.
    pub(crate) fn mask_from(&mut self, dst: Mask, src: Gpr) {
        self.vex((1, prefix::PF2, false, false), dst.0, 0, src.0);
        self.bytes(&[0x92, 0xc0 | dst.0 << 3 | src.0 & 7]);
    }

    /// 32 bits of a mask to a general register.
    pub(crate) fn mask_to(&mut self, dst: Gpr, src: Mask) {
        self.vex((1, prefix::PF2, false, false), dst.0, 0, src.0);
        self.bytes(&[0x93, 0xc0 | (dst.0 & 7) << 3 | src.0]);
    }

    /// `dst = src >> count`, on 32 bits.
    pub(crate) fn mask_shift_right(&mut self, dst: Mask, src: Mask, count: u8) {
        self.vex((3, prefix::P66, false, false), dst.0, 0, src.0);
        self.bytes(&[0x31, 0xc0 | dst.0 << 3 | src.0, count]);
    }

    /// `dst = high << 16 | low`, of masks of 16 bits.
    pub(crate) fn mask_join16(&mut self, dst: Mask, high: Mask, low: Mask) {
        self.vex((1, prefix::NONE, false, true), dst.0, high.0, low.0);
        self.bytes(&[0x4b, 0xc0 | dst.0 << 3 | low.0]);
    }

    /// `dst = high << 8 | low`, of masks of 8 bits.
    pub(crate) fn mask_join8(&mut self, dst: Mask, high: Mask, low: Mask) {
        self.vex((1, prefix::P66, false, true), dst.0, high.0, low.0);
        self.bytes(&[0x4b, 0xc0 | dst.0 << 3 | low.0]);
    }

    /// Sets the zero flag if the 16 bits of a mask are zero.
    pub(crate) fn mask_test(&mut self, mask: Mask) {
        self.vex((1, prefix::NONE, false, false), mask.0, 0, mask.0);
        self.bytes(&[0x98, 0xc0 | mask.0 << 3 | mask.0]);
    }

    // General registers.

    fn rex(&mut self, width: Width, reg: u8, index: u8, rm: u8) {
        let wide = u8::from(width == Width::W64);
        self.code
            .push(0x40 | wide << 3 | (reg >> 3) << 2 | (index >> 3) << 1 | rm >> 3);
    }

    fn with_memory(&mut self, width: Width, opcode: u8, reg: u8, mem: Mem) {
        self.rex(width, reg, mem.index.unwrap_or(0), mem.base.0);
        self.code.push(opcode);
        self.address(reg, mem);
    }

    fn with_register(&mut self, width: Width, opcode: u8, reg: u8, rm: Gpr) {
        self.rex(width, reg, 0, rm.0);
        self.bytes(&[opcode, 0xc0 | (reg & 7) << 3 | rm.0 & 7]);
    }

    pub(crate) fn load(&mut self, width: Width, dst: Gpr, mem: Mem) {
        self.with_memory(width, 0x8b, dst.0, mem);
    }

    /// One or two bytes, extended to 32 bits.
    pub(crate) fn load_short(&mut self, bytes: u8, is_signed: bool, dst: Gpr, mem: Mem) {
        let opcode = 0xb6 | u8::from(bytes == 2) | u8::from(is_signed) << 3;
        self.rex(Width::W32, dst.0, 0, mem.base.0);
        self.bytes(&[0x0f, opcode]);
        self.address(dst.0, mem);
    }

    pub(crate) fn store(&mut self, width: Width, mem: Mem, src: Gpr) {
        self.with_memory(width, 0x89, src.0, mem);
    }

    /// The lowest byte or two bytes of a register.
    pub(crate) fn store_short(&mut self, bytes: u8, mem: Mem, src: Gpr) {
        if bytes == 2 {
            self.code.push(0x66);
        }
        self.with_memory(Width::W32, 0x88 | u8::from(bytes == 2), src.0, mem);
    }

    /// The address of `label`.
    pub(crate) fn lea_label(&mut self, dst: Gpr, label: Label) {
        self.rex(Width::W64, dst.0, 0, 0);
        self.bytes(&[0x8d, (dst.0 & 7) << 3 | 5]);
        self.distance(label);
    }

    pub(crate) fn mov(&mut self, width: Width, dst: Gpr, src: Gpr) {
        self.with_register(width, 0x8b, dst.0, src);
    }

    pub(crate) fn mov_imm(&mut self, dst: Gpr, value: u32) {
        self.rex(Width::W32, 0, 0, dst.0);
        self.code.push(0xb8 | dst.0 & 7);
        self.bytes(&value.to_le_bytes());
    }

    pub(crate) fn arithmetic(&mut self, op: Arithmetic, width: Width, dst: Gpr, src: Gpr) {
        self.with_register(width, op.0, dst.0, src);
    }

    pub(crate) fn arithmetic_mem(&mut self, op: Arithmetic, width: Width, dst: Gpr, src: Mem) {
        self.with_memory(width, op.0, dst.0, src);
    }

    pub(crate) fn arithmetic_imm(&mut self, op: Arithmetic, width: Width, dst: Gpr, value: i32) {
        self.with_register(width, 0x81, op.1, dst);
        self.bytes(&value.to_le_bytes());
    }

    /// `dst = dst * src`, on 64 bits.
    pub(crate) fn multiply(&mut self, dst: Gpr, src: Gpr) {
        self.rex(Width::W64, dst.0, 0, src.0);
        self.bytes(&[0x0f, 0xaf, 0xc0 | (dst.0 & 7) << 3 | src.0 & 7]);
    }

    /// Adds a register to 64 bits of memory.
    pub(crate) fn add_to_memory(&mut self, mem: Mem, src: Gpr) {
        self.with_memory(Width::W64, 0x01, src.0, mem);
    }

    pub(crate) fn not(&mut self, dst: Gpr) {
        self.with_register(Width::W32, 0xf7, 2, dst);
    }

    pub(crate) fn test(&mut self, a: Gpr, b: Gpr) {
        self.with_register(Width::W32, 0x85, a.0, b);
    }

    pub(crate) fn test_imm(&mut self, a: Gpr, bits: u32) {
        self.with_register(Width::W32, 0xf7, 0, a);
        self.bytes(&bits.to_le_bytes());
    }

    pub(crate) fn shift_left(&mut self, dst: Gpr, count: u8) {
        self.with_register(Width::W64, 0xc1, 4, dst);
        self.code.push(count);
    }

    pub(crate) fn shift_right(&mut self, dst: Gpr, count: u8) {
        self.with_register(Width::W64, 0xc1, 5, dst);
        self.code.push(count);
    }

    fn counted(&mut self, opcode: u8, dst: Gpr, src: Gpr) {
        self.code.push(0xf3);
        self.rex(Width::W32, dst.0, 0, src.0);
        self.bytes(&[0x0f, opcode, 0xc0 | (dst.0 & 7) << 3 | src.0 & 7]);
    }

    pub(crate) fn count_ones(&mut self, dst: Gpr, src: Gpr) {
        self.counted(0xb8, dst, src);
    }

    pub(crate) fn trailing_zeros(&mut self, dst: Gpr, src: Gpr) {
        self.counted(0xbc, dst, src);
    }

    pub(crate) fn push(&mut self, reg: Gpr) {
        self.rex(Width::W32, 0, 0, reg.0);
        self.code.push(0x50 | reg.0 & 7);
    }

    pub(crate) fn pop(&mut self, reg: Gpr) {
        self.rex(Width::W32, 0, 0, reg.0);
        self.code.push(0x58 | reg.0 & 7);
    }

    /// Empties the upper halves of the vector registers, and returns.
    pub(crate) fn leave(&mut self) {
        self.bytes(&[0xc5, 0xf8, 0x77, 0xc3]);
    }

    pub(crate) fn jump_to(&mut self, target: Gpr) {
        self.with_register(Width::W32, 0xff, 4, target);
    }

    pub(crate) fn jump(&mut self, label: Label) {
        self.code.push(0xe9);
        self.distance(label);
    }

    pub(crate) fn jump_if(&mut self, condition: Condition, label: Label) {
        self.bytes(&[0x0f, 0x80 | condition as u8]);
        self.distance(label);
    }

    fn distance(&mut self, label: Label) {
        self.fixups.push((self.code.len(), label));
        self.bytes(&[0; 4]);
    }

    /// Fills up to a multiple of 64 bytes.
    pub(crate) fn align(&mut self) {
        self.code.resize(self.code.len().next_multiple_of(64), 0xcc);
    }
}
