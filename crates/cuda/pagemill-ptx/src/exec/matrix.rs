//! Products of small matrices whose elements lie spread over the lanes of a warp.
//!
//! Where an element lies follows one rule. A 32-bit register holds `e` elements: two halves, four bytes, eight nibbles, or one;
//! of single bits it holds one word, which is one cell of 32 terms.
//! Lane 4 g + t has, in element j of register r,
//! * of A the row g (+ 8 in odd registers, where there are 16 rows), and from column `4 e r' + e t + j` on, where r' counts the
//!   registers of a row,
//! * of B the row `4 e r + e t + j` and the column g,
//! * of C and D the row g (+ 8 in the second half of the registers) and the columns 2 t and 2 t + 1.
//!
//! # Sums
//! Products of floating-point elements are exact in double precision. A sum begins with the element of C, adds the products in
//! the order of k in double precision, and is rounded once, to the nearest of D's type. In `f64` each step is a fused
//! multiply-add. Hardware adds several products at a time with fewer bits; its results lie around these, within the error
//! that its vendor states. Integer sums are exact, and wrap around or stop at the ends of their range.

use super::access::{Stores, Target, resolve};
use super::width::{Wide, widest};
use crate::exec::trap::{Fault, TrapKind};
use pagemill_ptx_ir::code::{
    AddressOperand, Element, MatrixInst, MatrixLoad, MatrixProduct, MatrixTile, ProductForm,
    TileShape,
};
use pagemill_ptx_ir::line::{FULL, Frame, LANES, Line};

#[inline(never)]
pub(super) fn execute(
    inst: &MatrixInst,
    frame: &mut Frame<'_>,
    stores: &mut Stores<'_>,
    mask: u32,
    instruction: u32,
) -> Result<(), Box<Fault>> {
    if mask != FULL {
        let members = FULL;
        let active = mask;
        return Err(Fault::of_warp(TrapKind::AbsentLanes { members, active }));
    }
    match inst {
        MatrixInst::Multiply(product) if product.form.d == Element::S32 => {
            multiply_integers(product, frame);
            Ok(())
        }
        MatrixInst::Multiply(product) => {
            widest(Floats { product, frame });
            Ok(())
        }
        MatrixInst::Load(load) => load_matrices(load, frame, stores, instruction),
        MatrixInst::Tile(tile) => load_tile(tile, frame, stores, instruction),
    }
}

/// Row and column of element `index` in register `register` of `lane`, of matrix A.
fn place_in_a(form: &ProductForm, lane: usize, register: usize, index: usize) -> (usize, usize) {
    let per_register = form.a.cells();
    let (below, along) = match form.rows {
        16 => (8 * (register & 1), register >> 1),
        _ => (0, register),
    };
    let column = 4 * per_register * along + per_register * (lane % 4) + index;
    (lane / 4 + below, column)
}

fn place_in_b(form: &ProductForm, lane: usize, register: usize, index: usize) -> (usize, usize) {
    let per_register = form.b.cells();
    let row = 4 * per_register * register + per_register * (lane % 4) + index;
    (row, lane / 4)
}

/// The same of C and D, whose elements are of type `element`.
fn place_in_c(element: Element, lane: usize, register: usize, index: usize) -> (usize, usize) {
    let number = register * element.per_register() + index;
    (lane / 4 + 8 * (number / 2), 2 * (lane % 4) + number % 2)
}

const ROWS_MAX: usize = 16;
const COLUMNS: usize = 8;
const DEPTH_MAX: usize = 64;

type Cells = Vec<[i64; DEPTH_MAX]>;

/// A matrix out of the registers of all lanes: `put` is called with the place of each element and its register's bits.
#[inline(always)]
fn gather(
    frame: &Frame<'_>,
    element: Element,
    registers: &[u16],
    mut put: impl FnMut(usize, usize, usize, u64),
) {
    for (number, &register) in registers.iter().enumerate() {
        for lane in 0..LANES {
            let bits = match element {
                Element::F64 => frame.wide(register)[lane],
                _ => frame.narrow(register)[lane].into(),
            };
            for index in 0..element.cells() {
                put(lane, number, index, bits);
            }
        }
    }
}

/// Rows of A, and columns of B.
fn factors(product: &MatrixProduct, frame: &Frame<'_>) -> (Cells, Cells) {
    let form = &product.form;
    let mut a = vec![[0; DEPTH_MAX]; ROWS_MAX];
    let mut b = vec![[0; DEPTH_MAX]; COLUMNS];
    gather(frame, form.a, &product.a, |lane, register, index, bits| {
        let (row, column) = place_in_a(form, lane, register, index);
        a[row][column] = form.a.integer(bits, index);
    });
    gather(frame, form.b, &product.b, |lane, register, index, bits| {
        let (row, column) = place_in_b(form, lane, register, index);
        b[column][row] = form.b.integer(bits, index);
    });
    (a, b)
}

/// Writes D: `result` gives the bits of the element at a place, shifted to its index in the register.
#[inline(always)]
fn scatter(
    product: &MatrixProduct,
    frame: &mut Frame<'_>,
    result: impl Fn(usize, usize, usize) -> u64,
) {
    let element = product.form.d;
    for (number, &register) in product.d.iter().enumerate() {
        let word = |lane: usize| {
            (0..element.per_register()).fold(0, |word, index| {
                let (row, column) = place_in_c(element, lane, number, index);
                word | result(row, column, index)
            })
        };
        match element {
            Element::F64 => frame.set_wide(register, FULL, std::array::from_fn(word)),
            _ => {
                let narrow = std::array::from_fn(|lane| word(lane) as u32);
                frame.set_narrow(register, FULL, narrow);
            }
        }
    }
}

struct Floats<'a, 'b> {
    product: &'a MatrixProduct,
    frame: &'a mut Frame<'b>,
}

impl Wide for Floats<'_, '_> {
    #[inline(always)]
    fn work(self) {
        let Self { product, frame } = self;
        let form = &product.form;
        let mut a = [[0.0f64; DEPTH_MAX]; ROWS_MAX];
        // By rows: what is added to a row of sums at a time lies together.
        let mut b = [[0.0f64; COLUMNS]; DEPTH_MAX];
        let mut sums = [[0.0f64; COLUMNS]; ROWS_MAX];
        gather(frame, form.a, &product.a, |lane, register, index, bits| {
            let (row, column) = place_in_a(form, lane, register, index);
            a[row][column] = form.a.float(bits, index);
        });
        gather(frame, form.b, &product.b, |lane, register, index, bits| {
            let (row, column) = place_in_b(form, lane, register, index);
            b[row][column] = form.b.float(bits, index);
        });
        gather(frame, form.c, &product.c, |lane, register, index, bits| {
            let (row, column) = place_in_c(form.c, lane, register, index);
            sums[row][column] = form.c.float(bits, index);
        });
        for (row, sums) in a.iter().zip(&mut sums).take(form.rows) {
            for (x, ys) in row.iter().zip(&b).take(form.depth) {
                for (sum, y) in sums.iter_mut().zip(ys) {
                    // The same where the product is exact.
                    *sum = x.mul_add(*y, *sum);
                }
            }
        }
        scatter(product, frame, |row, column, index| {
            form.d.encode(sums[row][column], index)
        });
    }
}

fn multiply_integers(product: &MatrixProduct, frame: &mut Frame<'_>) {
    let form = &product.form;
    let (a, b) = factors(product, frame);
    let mut sums = [[0i64; COLUMNS]; ROWS_MAX];
    gather(frame, form.c, &product.c, |lane, register, index, bits| {
        let (row, column) = place_in_c(form.c, lane, register, index);
        sums[row][column] = form.c.integer(bits, index);
    });
    for (row, sums) in sums.iter_mut().enumerate() {
        for (column, sum) in sums.iter_mut().enumerate() {
            let depth = form.depth * form.a.cells() / form.a.per_register();
            let terms = a[row].iter().zip(&b[column]).take(depth);
            *sum += match (form.a, form.is_exclusive) {
                (Element::B1, true) => terms
                    .map(|(x, y)| i64::from((x ^ y).count_ones()))
                    .sum::<i64>(),
                (Element::B1, false) => terms.map(|(x, y)| i64::from((x & y).count_ones())).sum(),
                _ => terms.map(|(x, y)| x * y).sum(),
            };
        }
    }
    scatter(product, frame, |row, column, _| {
        let sum = sums[row][column];
        let kept = match form.saturates {
            true => sum.clamp(i32::MIN.into(), i32::MAX.into()) as i32,
            false => sum as i32,
        };
        u64::from(kept as u32)
    });
}

/// Lanes 8 i to 8 i + 7 have the addresses of the rows of matrix i; every lane gets two elements of each matrix.
fn load_matrices(
    load: &MatrixLoad,
    frame: &mut Frame<'_>,
    stores: &mut Stores<'_>,
    instruction: u32,
) -> Result<(), Box<Fault>> {
    const ROW_BYTES: u64 = 16;
    // A result may go where the addresses are, so all of them are read first.
    let mut loaded = [[0; LANES]; 4];
    for (matrix, words) in loaded.iter_mut().take(load.registers.len()).enumerate() {
        let mut rows = [[0u8; ROW_BYTES as usize]; 8];
        for (row, bytes) in rows.iter_mut().enumerate() {
            let lane = 8 * matrix + row;
            let base = match load.address {
                AddressOperand::Wide(operand) => frame.wide(operand)[lane],
                AddressOperand::Narrow(operand) => frame.narrow(operand)[lane].into(),
            };
            let mut address = Line::splat(base.wrapping_add(load.offset as u64));
            let fault = |kind| Fault::at_lane(lane as u32, kind);
            let size = stores.shared.len() as u64;
            let offset = match resolve(load.space, &mut address, 1 << lane) {
                Target::Shared => address[lane],
                _ => u64::MAX - ROW_BYTES,
            };
            if offset % ROW_BYTES != 0 && offset < size {
                return Err(fault(TrapKind::Misaligned {
                    access: "load of a matrix row",
                    address: offset,
                    bytes: ROW_BYTES as u32,
                }));
            }
            let end = offset.checked_add(ROW_BYTES).filter(|&end| end <= size);
            let Some(end) = end else {
                return Err(fault(TrapKind::OutsideWindow {
                    access: "load of a matrix row",
                    space: "shared",
                    offset,
                    bytes: ROW_BYTES as u32,
                    size,
                }));
            };
            stores.check_row(lane, (offset, ROW_BYTES as usize), instruction);
            bytes.copy_from_slice(&stores.shared[offset as usize..end as usize]);
        }
        let element = |row: usize, column: usize| {
            let bytes = [rows[row][2 * column], rows[row][2 * column + 1]];
            u32::from(u16::from_le_bytes(bytes))
        };
        let word = |lane: usize| {
            let (across, along) = (lane / 4, 2 * (lane % 4));
            match load.transposes {
                false => element(across, along) | element(across, along + 1) << 16,
                true => element(along, across) | element(along + 1, across) << 16,
            }
        };
        *words = std::array::from_fn(word);
    }
    for (&register, words) in load.registers.iter().zip(loaded) {
        frame.set_narrow(register, FULL, words);
    }
    Ok(())
}

/// Bytes that lie together however a matrix is laid out.
const UNIT_BYTES: usize = 16;

/// How a descriptor of `wgmma` lays a matrix out in shared memory.
///
/// Eight units of 16 bytes are a core matrix. Along the sum (K), a unit holds terms of one row; across it, terms of one number of
/// several rows. Where rows of `swizzle` units are folded, bits 4 and up of an address are changed by bits 7 and up.
struct Layout {
    start: u64,
    leading_bytes: u64,
    stride_bytes: u64,
    /// Units of a folded row: 1, 2, 4 or 8.
    swizzle: u64,
}

impl Layout {
    /// `None` if the matrix does not begin where a pattern does.
    fn new(descriptor: u64) -> Option<Self> {
        let field = |shift: u32| (descriptor >> shift & 0x3fff) << 4;
        let base_offset = descriptor >> 49 & 7;
        (base_offset == 0).then_some(Self {
            start: field(0),
            leading_bytes: field(16),
            stride_bytes: field(32),
            swizzle: [1, 8, 4, 2][(descriptor >> 62) as usize],
        })
    }

    /// Where the unit of term `k` of row (or column) `line` lies, and where in it the element.
    fn place(&self, shape: &TileShape, (line, k): (u64, u64), bytes: u64) -> (u64, u64) {
        let (unit, row) = match shape.is_across {
            true => (line * bytes, k),
            false => (k * bytes, line),
        };
        let (unit, within) = (unit / UNIT_BYTES as u64, unit % UNIT_BYTES as u64);
        let (inner, outer) = (row % 8 * UNIT_BYTES as u64 * self.swizzle, row / 8);
        let (folded, beyond) = (unit % self.swizzle * UNIT_BYTES as u64, unit / self.swizzle);
        // Without folding, the two distances change their parts across the sum; along it, a folded row has all terms.
        let (of_outer, of_beyond) = match (shape.is_across, self.swizzle) {
            (true, 1) => (self.leading_bytes, self.stride_bytes),
            _ => (self.stride_bytes, self.leading_bytes),
        };
        let offset = match (shape.is_across, self.swizzle) {
            (false, 2..) => unit * UNIT_BYTES as u64,
            _ => folded + beyond * of_beyond,
        };
        let address = self.start + inner + outer * of_outer + offset;
        (address ^ (address >> 7 & (self.swizzle - 1)) << 4, within)
    }
}

/// Each lane gets its elements of the operand.
fn load_tile(
    tile: &MatrixTile,
    frame: &mut Frame<'_>,
    stores: &mut Stores<'_>,
    instruction: u32,
) -> Result<(), Box<Fault>> {
    let shape = &tile.shape;
    let Some(layout) = Layout::new(frame.wide(tile.descriptor)[0]) else {
        let reason = "wgmma of a matrix whose descriptor has a base offset: align its pattern in shared memory";
        return Err(Fault::of_warp(TrapKind::Misuse { reason }));
    };
    let first = u64::from(frame.narrow(tile.first)[0]);
    let element = if shape.is_a {
        shape.form.a
    } else {
        shape.form.b
    };
    let bytes = 4 / element.cells();
    let size = stores.shared.len() as u64;
    let mut read = |lane: usize, place: (usize, usize)| {
        let (line, k) = match shape.is_a {
            true => place,
            false => (place.1, place.0),
        };
        let at = (first + line as u64, k as u64);
        let (unit, within) = layout.place(shape, at, bytes as u64);
        if unit + UNIT_BYTES as u64 > size {
            let kind = TrapKind::OutsideWindow {
                access: "load of a matrix row",
                space: "shared",
                offset: unit,
                bytes: UNIT_BYTES as u32,
                size,
            };
            return Err(Fault::at_lane(lane as u32, kind));
        }
        if within == 0 {
            stores.check_row(lane, (unit, UNIT_BYTES), instruction);
        }
        let from = (unit + within) as usize;
        let mut word = [0; 4];
        word[..bytes].copy_from_slice(&stores.shared[from..from + bytes]);
        Ok(u32::from_le_bytes(word))
    };
    for (number, &register) in tile.registers.iter().enumerate() {
        let mut words = [0; LANES];
        for (lane, word) in words.iter_mut().enumerate() {
            for index in 0..element.cells() {
                let place = match shape.is_a {
                    true => place_in_a(&shape.form, lane, number, index),
                    false => place_in_b(&shape.form, lane, number, index),
                };
                *word |= read(lane, place)? << (8 * bytes * index);
            }
        }
        frame.set_narrow(register, FULL, words);
    }
    Ok(())
}
