//! Lanes that lie one behind the other. Of several registers each, whole vectors are moved, and their elements sorted by
//! register. The addresses have been checked; the first is in RCX.

use crate::assembler::encode::{
    ADD, Masking, Operand, R11, R15, RBX, RCX, SUB, Vector, Width, Zmm, at,
};
use crate::assembler::table::{
    EVEN_WIDE, HIGH_HALVES, JOIN_LOWER, JOIN_LOWER_WIDE, JOIN_UPPER, JOIN_UPPER_WIDE, LOW_HALVES,
    ODD_WIDE,
};
use crate::emit::access::Access;
use crate::emit::emitter::Emitter;
use crate::emit::lanes::reg;
use crate::emit::vectors::*;
use crate::run::context::fields;
use pagemill_ptx_ir::code::Bank;
use pagemill_ptx_ir::code::WORD_BYTES;
use pagemill_ptx_ir::line::LANES;

/// Permutations of the elements of two vectors.
struct Sorting {
    permute: Vector,
    even: i32,
    odd: i32,
    join_lower: i32,
    join_upper: i32,
}

const NARROW: Sorting = Sorting {
    permute: VPERMI2D,
    even: LOW_HALVES,
    odd: HIGH_HALVES,
    join_lower: JOIN_LOWER,
    join_upper: JOIN_UPPER,
};
const WIDE: Sorting = Sorting {
    permute: VPERMI2Q,
    even: EVEN_WIDE,
    odd: ODD_WIDE,
    join_lower: JOIN_LOWER_WIDE,
    join_upper: JOIN_UPPER_WIDE,
};

impl Emitter<'_> {
    /// Marks each word that lanes from RCX on have stored, and counts them as writes. Uses RCX.
    pub(crate) fn mark_row(&mut self, access: &Access) {
        const ALL_ONES: u8 = 0xff;
        let ones = access.temporaries[0];
        let source = (ones, Operand::Register(ones));
        self.asm
            .vector_imm(VPTERNLOGD, ones, source, ALL_ONES, Masking::None);
        self.asm
            .arithmetic_mem(SUB, Width::W64, RCX, access.window(fields::WINDOW_HOST));
        self.asm.shift_right(RCX, WORD_BYTES.trailing_zeros() as u8);
        self.asm
            .arithmetic_mem(ADD, Width::W64, RCX, access.window(fields::WINDOW_MARKS));
        // Each instruction marks the words of one vector.
        for part in 0..usize::from(access.lane_bytes()) / 2 {
            let masking = match access.is_masked {
                true => access.data_masking(part),
                false => Masking::None,
            };
            let place = Operand::Memory(at(RCX, 16 * part as i32));
            self.asm.vector(VPMOVDB, ones, 0, place, masking);
        }
        let lane_words = access.lane_bytes() as i32 / WORD_BYTES as i32;
        if access.is_masked {
            self.asm.count_ones(RCX, RBX);
            self.asm.shift_left(RCX, lane_words.trailing_zeros() as u8);
            self.asm.arithmetic(ADD, Width::W64, R15, RCX);
        } else {
            let words = LANES as i32 * lane_words;
            self.asm.arithmetic_imm(ADD, Width::W64, R15, words);
        }
    }

    /// Moves the lanes that lie one behind the other from RCX on.
    pub(crate) fn move_row(&mut self, access: &Access) {
        let [data] = access.data.as_slice() else {
            return self.row_of_several(access);
        };
        let part_bytes = 32 / data.len() as i32 * i32::from(access.element_bytes);
        let op = access.row_instruction();
        for (part, &data) in data.iter().enumerate() {
            let place = Operand::Memory(at(RCX, part_bytes * part as i32));
            self.asm
                .vector(op, data, 0, place, access.data_masking(part));
        }
    }

    /// Moves two or four registers of all lanes.
    fn row_of_several(&mut self, access: &Access) {
        let sorting = if access.bank == Bank::Wide {
            &WIDE
        } else {
            &NARROW
        };
        for part in 0..access.data[0].len() {
            let data: Vec<Zmm> = access.data.iter().map(|line| line[part]).collect();
            let first = 64 * (part * data.len()) as i32;
            match (access.is_load, data.as_slice()) {
                (true, &[a, b]) => self.load_pair(access, sorting, first, [a, b]),
                (true, &[a, b, c, d]) => self.load_four(access, sorting, first, [a, b, c, d]),
                (false, &[a, b]) => self.store_pair(access, sorting, first, [a, b]),
                (false, &[a, b, c, d]) => self.store_four(access, sorting, first, [a, b, c, d]),
                _ => self.has_failed = true,
            }
        }
    }

    /// `dst` = the elements of `a` and `b` that the indices at `place` name.
    fn sort(&mut self, permute: Vector, place: i32, dst: Zmm, (a, b): (Zmm, Zmm)) {
        self.op1(VMOVDQA64_LOAD, dst, Operand::Memory(at(R11, place)));
        self.op2(permute, dst, a, reg(b));
    }

    fn fetch_row(&mut self, registers: &[Zmm], first: i32) {
        for (number, &register) in registers.iter().enumerate() {
            let place = at(RCX, first + 64 * number as i32);
            self.op1(VMOVDQU64_LOAD, register, Operand::Memory(place));
        }
    }

    fn put_row(&mut self, registers: &[Zmm], first: i32) {
        for (number, &register) in registers.iter().enumerate() {
            let place = at(RCX, first + 64 * number as i32);
            self.op1(VMOVDQU64_STORE, register, Operand::Memory(place));
        }
    }

    fn load_pair(&mut self, access: &Access, sorting: &Sorting, first: i32, [a, b]: [Zmm; 2]) {
        let [_, _, x, y, ..] = access.temporaries;
        self.fetch_row(&[x, y], first);
        self.sort(sorting.permute, sorting.even, a, (x, y));
        self.sort(sorting.permute, sorting.odd, b, (x, y));
    }

    /// Elements 0 and 2 of each lane are the even ones, and among those the even ones are elements 0.
    fn load_four(
        &mut self,
        access: &Access,
        sorting: &Sorting,
        first: i32,
        [a, b, c, d]: [Zmm; 4],
    ) {
        let [_, _, loaded @ ..] = access.temporaries;
        let [w, x, y, z] = loaded;
        self.fetch_row(&loaded, first);
        let &Sorting {
            permute, even, odd, ..
        } = sorting;
        self.sort(permute, even, a, (w, x));
        self.sort(permute, odd, b, (w, x));
        self.sort(permute, even, c, (y, z));
        self.sort(permute, odd, d, (y, z));
        self.sort(permute, even, w, (a, c));
        self.sort(permute, even, x, (b, d));
        self.sort(permute, odd, y, (a, c));
        self.sort(permute, odd, z, (b, d));
        for (dst, src) in [(a, w), (b, x), (c, y), (d, z)] {
            self.op1(VMOVDQA64_LOAD, dst, reg(src));
        }
    }

    fn store_pair(&mut self, access: &Access, sorting: &Sorting, first: i32, [a, b]: [Zmm; 2]) {
        let [x, y, ..] = access.temporaries;
        self.sort(sorting.permute, sorting.join_lower, x, (a, b));
        self.sort(sorting.permute, sorting.join_upper, y, (a, b));
        self.put_row(&[x, y], first);
    }

    fn store_four(
        &mut self,
        access: &Access,
        sorting: &Sorting,
        first: i32,
        [a, b, c, d]: [Zmm; 4],
    ) {
        let [ac_lower, ac_upper, bd_lower, bd_upper, x, y] = access.temporaries;
        let &Sorting {
            permute,
            join_lower,
            join_upper,
            ..
        } = sorting;
        self.sort(permute, join_lower, ac_lower, (a, c));
        self.sort(permute, join_upper, ac_upper, (a, c));
        self.sort(permute, join_lower, bd_lower, (b, d));
        self.sort(permute, join_upper, bd_upper, (b, d));
        for (half, pair) in [(ac_lower, bd_lower), (ac_upper, bd_upper)]
            .into_iter()
            .enumerate()
        {
            self.sort(permute, join_lower, x, pair);
            self.sort(permute, join_upper, y, pair);
            self.put_row(&[x, y], first + 128 * half as i32);
        }
    }
}
