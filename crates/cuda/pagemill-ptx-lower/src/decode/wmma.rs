//! `wmma`: loads, products and stores of larger matrices, made of loads, stores and [`Op::Matrix`] products.
//!
//! A fragment holds the elements as the operands of `mma` do, tile after tile: 16 rows are one operand A, 8 columns are one
//! operand B. Where the matrix has only 8 rows and 32 columns, the product is that of the transposed matrices.

use super::context::Decoder;
use super::matrix::{element, joins_by_exclusive_or, matrix_value, parts, register_type};
use super::memory::{Place, memory_aux, place, space_of};
use super::modifiers::Modifiers;
use crate::fail::Fail;
use crate::flow::program::{Aux, Class, Value};
use pagemill_ptx_ir::ast::{Operand, Space, Type};
use pagemill_ptx_ir::code::{AccessKind, CacheHint, Element, Preset, ProductForm};
use pagemill_ptx_ir::op::Op;

/// Rows, columns and depth of the product.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Shape {
    rows: usize,
    columns: usize,
    depth: usize,
}

fn shape(part: &str) -> Option<Shape> {
    let [rows, columns, depth] = match part {
        "m16n16k16" => [16, 16, 16],
        "m8n32k16" => [8, 32, 16],
        "m32n8k16" => [32, 8, 16],
        "m16n16k8" => [16, 16, 8],
        "m8n8k4" => [8, 8, 4],
        "m8n8k32" => [8, 8, 32],
        "m8n8k128" => [8, 8, 128],
        _ => return None,
    };
    Some(Shape {
        rows,
        columns,
        depth,
    })
}

/// Which operand of `mma` a fragment is made of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Rows,
    Columns,
    Sums,
}

impl Shape {
    /// Whether the product is that of the transposed matrices.
    fn is_swapped(self) -> bool {
        self.rows == 8 && self.columns == 32
    }

    fn tile_rows(self) -> usize {
        if self.rows == 8 && !self.is_swapped() {
            8
        } else {
            16
        }
    }

    fn role(self, fragment: char) -> Role {
        match (fragment, self.is_swapped()) {
            ('a', false) | ('b', true) => Role::Rows,
            ('a', true) | ('b', false) => Role::Columns,
            _ => Role::Sums,
        }
    }

    /// Tiles of an operand.
    fn tiles(self, role: Role) -> usize {
        let (long, wide) = match self.is_swapped() {
            true => (self.columns, self.rows),
            false => (self.rows, self.columns),
        };
        match role {
            Role::Rows => long / self.tile_rows(),
            Role::Columns => wide / 8,
            Role::Sums => (long / self.tile_rows()) * (wide / 8),
        }
    }

    /// Registers of one tile.
    fn tile_registers(self, role: Role, element: Element) -> usize {
        let cells = match role {
            Role::Rows => self.tile_rows() * self.depth,
            Role::Columns => 8 * self.depth,
            Role::Sums => self.tile_rows() * 8,
        };
        cells / 32 / element.per_register()
    }

    /// Registers of a fragment; those of f16 factors always have eight, some unused.
    fn registers(self, role: Role, element: Element) -> usize {
        match (role, element) {
            (Role::Rows | Role::Columns, Element::F16) => 8,
            _ => self.tiles(role) * self.tile_registers(role, element),
        }
    }

    /// Height and width of the matrix that a fragment is.
    fn extent(self, fragment: char) -> (usize, usize) {
        match fragment {
            'a' => (self.rows, self.depth),
            'b' => (self.depth, self.columns),
            _ => (self.rows, self.columns),
        }
    }
}

/// A place in the matrix, as far as it is known now: it also depends on the lane.
/// Lane `4 g + t` adds `g` to one coordinate, and `t` times a factor to the other.
#[derive(Clone, Copy)]
struct Cell {
    row: usize,
    column: usize,
    /// Whether `g` counts rows.
    g_is_row: bool,
    t_factor: usize,
}

/// Element `index` of register `register`, of tile `tile`.
fn cell(
    shape: Shape,
    role: Role,
    element: Element,
    tile: usize,
    register: usize,
    index: usize,
) -> Cell {
    let per_register = element.per_register();
    // Along the operand's own long side and across it; `g` counts along.
    let (along, across, t_factor) = match role {
        Role::Rows => {
            let (below, step) = match shape.tile_rows() {
                16 => (8 * (register & 1), register >> 1),
                _ => (0, register),
            };
            (
                shape.tile_rows() * tile + below,
                4 * per_register * step + index,
                per_register,
            )
        }
        Role::Columns => (8 * tile, 4 * per_register * register + index, per_register),
        Role::Sums => {
            let number = register * per_register + index;
            let (mut along, mut across) = (8 * (number / 2), number % 2);
            match shape.tiles(Role::Rows) {
                1 => across += 8 * tile,
                _ => along += shape.tile_rows() * tile,
            }
            (along, across, 2)
        }
    };
    // Of B, the long side are the columns; of a transposed product, rows and columns change places.
    let g_is_row = (role != Role::Columns) != shape.is_swapped();
    let (row, column) = match g_is_row {
        true => (along, across),
        false => (across, along),
    };
    Cell {
        row,
        column,
        g_is_row,
        t_factor,
    }
}

/// A load or store of a fragment.
struct Transfer {
    fragment: char,
    shape: Shape,
    element: Element,
    is_row_major: bool,
    space: Space,
}

impl Transfer {
    /// Element `index` of register `register` of the whole operand.
    fn cell_of(&self, register: usize, index: usize) -> Cell {
        let (shape, role, element) = (self.shape, self.role(), self.element);
        let per_tile = shape.tile_registers(role, element);
        let (tile, register) = (register / per_tile, register % per_tile);
        cell(shape, role, element, tile, register, index)
    }

    fn take(
        decoder: &Decoder<'_>,
        modifiers: &mut Modifiers<'_>,
        fragments: &[&'static str],
    ) -> Result<Self, Fail> {
        let mut read = || {
            let fragment = modifiers.take_one(fragments)?.chars().next()?;
            modifiers.take("sync").then_some(())?;
            modifiers.take("aligned");
            let is_row_major = modifiers.take_one(&["row", "col"])? == "row";
            let shape = modifiers.take_map(shape)?;
            let space = modifiers.take_map(space_of).unwrap_or(Space::Generic);
            let element = modifiers.take_map(element)?;
            Some(Self {
                fragment,
                shape,
                element,
                is_row_major,
                space,
            })
        };
        let transfer = read().filter(Self::is_possible);
        transfer.ok_or_else(|| decoder.bad_form())
    }

    fn is_possible(&self) -> bool {
        use Element::{B1, Bf16, F16, F32, F64, S4, S8, S32, Tf32, U4, U8};
        let factor = matches!(self.fragment, 'a' | 'b');
        let Shape { rows, depth, .. } = self.shape;
        let is_square = rows == self.shape.columns;
        match (self.element, depth) {
            (F16 | Bf16 | S8 | U8, 16) => factor || self.element == F16,
            (Tf32, 8) | (S4 | U4, 32) | (B1, 128) => factor && is_square,
            (F64, 4) => true,
            (F32, 16 | 8) => !factor,
            (S32, 16 | 32 | 128) => !factor,
            _ => false,
        }
    }

    fn role(&self) -> Role {
        self.shape.role(self.fragment)
    }

    /// Bits of an element in memory.
    fn bits(&self) -> usize {
        match self.element {
            Element::F64 => 64,
            element => 32 / element.per_register(),
        }
    }

    /// Whether the elements of a register lie next to each other.
    fn is_contiguous(&self) -> bool {
        let steps_along_row = match self.role() {
            Role::Rows | Role::Sums => !self.shape.is_swapped(),
            Role::Columns => self.shape.is_swapped(),
        };
        self.element.per_register() == 1 || steps_along_row == self.is_row_major
    }

    /// Where elements lie, in the units of memory: which line of it (a row, or a column), and which place in that.
    fn line_and_place(&self, cell: Cell) -> (usize, usize) {
        match self.is_row_major {
            true => (cell.row, cell.column),
            false => (cell.column, cell.row),
        }
    }
}

/// Addresses of a fragment's elements.
struct Addresses {
    space: Space,
    offset: i64,
    /// By line: the address of what the lane's own part of it begins with.
    lines: Vec<(usize, Value)>,
    base: Value,
    stride_bytes: Value,
}

impl Addresses {
    /// `operands` are the address and the stride in elements, which may be left out.
    fn new<'a>(
        decoder: &mut Decoder<'a>,
        transfer: &Transfer,
        address: &'a Operand,
        stride: Option<&'a Operand>,
    ) -> Result<Self, Fail> {
        let found = place(decoder, address, transfer.space)?;
        let Place::Memory {
            base,
            offset,
            space,
        } = found
        else {
            return Err(decoder.fail("a matrix lies in global or shared memory"));
        };
        let base = match base {
            Value::Reg(register) if decoder.program.class(register) == Class::Narrow => {
                decoder.fresh(Op::ZeroExtend32, Class::Wide, &[base])
            }
            Value::Narrow(_) => decoder.fresh(Op::ZeroExtend32, Class::Wide, &[base]),
            _ => base,
        };
        let (height, width) = transfer.shape.extent(transfer.fragment);
        let line = if transfer.is_row_major { width } else { height };
        let stride = match stride {
            Some(operand) => decoder.value(operand, Type::B32)?,
            None => decoder.bits(Class::Narrow, line as u64)?,
        };
        let bits = decoder.bits(Class::Narrow, transfer.bits() as u64)?;
        let eight = decoder.bits(Class::Narrow, 3)?;
        // By bits: elements of 4 bits and of one are less than a byte.
        let stride_bits = decoder.fresh(Op::MulWideU32, Class::Wide, &[stride, bits]);
        let stride_bytes = decoder.fresh(Op::ShiftRightU64, Class::Wide, &[stride_bits, eight]);
        // What the lane adds to the place in the matrix.
        let lane = Value::Reg(decoder.program.preset(Preset::Lane));
        let two = decoder.bits(Class::Narrow, 2)?;
        let three = decoder.bits(Class::Narrow, 3)?;
        let g = decoder.fresh(Op::ShiftRightU32, Class::Narrow, &[lane, two]);
        let t = decoder.fresh(Op::And32, Class::Narrow, &[lane, three]);
        let first = cell(transfer.shape, transfer.role(), transfer.element, 0, 0, 0);
        let factor = decoder.bits(Class::Narrow, first.t_factor as u64)?;
        let t = decoder.fresh(Op::Mul32, Class::Narrow, &[t, factor]);
        let (line, place) = match first.g_is_row == transfer.is_row_major {
            true => (g, t),
            false => (t, g),
        };
        let place_bits = decoder.fresh(Op::Mul32, Class::Narrow, &[place, bits]);
        let place_bytes = decoder.fresh(Op::ShiftRightU32, Class::Narrow, &[place_bits, eight]);
        let line = decoder.fresh(Op::ZeroExtend32, Class::Wide, &[line]);
        let place = decoder.fresh(Op::ZeroExtend32, Class::Wide, &[place_bytes]);
        let base = decoder.fresh(Op::Add64, Class::Wide, &[base, place]);
        let base = decoder.fresh(Op::Mad64, Class::Wide, &[line, stride_bytes, base]);
        Ok(Self {
            space,
            offset,
            lines: Vec::new(),
            base,
            stride_bytes,
        })
    }

    /// The address of the lane's part of line `line`.
    fn line(&mut self, decoder: &mut Decoder<'_>, line: usize) -> Result<Value, Fail> {
        if line == 0 {
            return Ok(self.base);
        }
        if let Some((_, address)) = self.lines.iter().find(|(known, _)| *known == line) {
            return Ok(*address);
        }
        let number = decoder.bits(Class::Wide, line as u64)?;
        let operands = [number, self.stride_bytes, self.base];
        let address = decoder.fresh(Op::Mad64, Class::Wide, &operands);
        self.lines.push((line, address));
        Ok(address)
    }

    /// The access of `ty` at a cell: what it says of memory, and its base address.
    fn access(
        &mut self,
        decoder: &mut Decoder<'_>,
        transfer: &Transfer,
        kind: AccessKind,
        at: Cell,
        ty: Type,
    ) -> Result<(Aux, Value), Fail> {
        let (line, place) = transfer.line_and_place(at);
        let base = self.line(decoder, line)?;
        let offset = self.offset + (place * transfer.bits() / 8) as i64;
        let class = if ty.bytes() == 8 {
            Class::Wide
        } else {
            Class::Narrow
        };
        let hint = CacheHint::Default;
        let aux = memory_aux(decoder, kind, self.space, offset, ty, class, 1, hint)?;
        Ok((Aux::Memory(aux), base))
    }
}

/// The type of a whole register, and of one element in memory.
fn types(transfer: &Transfer) -> (Type, Type) {
    match transfer.bits() {
        64 => (Type::B64, Type::B64),
        16 => (Type::B32, Type::B16),
        8 => (Type::B32, Type::B8),
        _ => (Type::B32, Type::B32),
    }
}

fn load(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let transfer = Transfer::take(decoder, modifiers, &["a", "b", "c"])?;
    let (shape, role, element) = (transfer.shape, transfer.role(), transfer.element);
    let operands = parts(decoder.operand(0)?);
    if operands.len() != shape.registers(role, element) {
        return Err(decoder.bad_form());
    }
    let stride = decoder.optional(2);
    let address = decoder.operand(1)?;
    let mut addresses = Addresses::new(decoder, &transfer, address, stride)?;
    let (whole, single) = types(&transfer);
    let per_tile = shape.tile_registers(role, element);
    let used = shape.tiles(role) * per_tile;
    // All of it is loaded before a register of the address may be overwritten.
    let mut values = Vec::new();
    for register in 0..used {
        let at = |index| transfer.cell_of(register, index);
        if transfer.is_contiguous() || element.per_register() >= 8 {
            let access = AccessKind::Load;
            let (aux, base) = addresses.access(decoder, &transfer, access, at(0), whole)?;
            let dst = decoder.temporary(super::context::class_of(whole));
            decoder.push(Op::Load, &[dst], &[base], aux);
            values.push(Value::Reg(dst));
            continue;
        }
        let mut word = decoder.bits(Class::Narrow, 0)?;
        for index in 0..element.per_register() {
            let access = AccessKind::Load;
            let (aux, base) = addresses.access(decoder, &transfer, access, at(index), single)?;
            let dst = decoder.temporary(Class::Narrow);
            decoder.push(Op::Load, &[dst], &[base], aux);
            let shift = decoder.bits(Class::Narrow, (transfer.bits() * index) as u64)?;
            let part = decoder.fresh(Op::ShiftLeft32, Class::Narrow, &[Value::Reg(dst), shift]);
            word = decoder.fresh(Op::Or32, Class::Narrow, &[word, part]);
        }
        values.push(word);
    }
    let zero = decoder.bits(Class::Narrow, 0)?;
    values.resize(operands.len(), zero);
    for (operand, value) in operands.iter().zip(values) {
        let dst = decoder.destination_of(operand, register_type(element))?;
        decoder.copy(dst, value);
    }
    Ok(())
}

fn store(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let transfer = Transfer::take(decoder, modifiers, &["d"])?;
    let (shape, role, element) = (transfer.shape, transfer.role(), transfer.element);
    let operands = parts(decoder.operand(1)?);
    if operands.len() != shape.registers(role, element) {
        return Err(decoder.bad_form());
    }
    let stride = decoder.optional(2);
    let address = decoder.operand(0)?;
    let mut addresses = Addresses::new(decoder, &transfer, address, stride)?;
    let (whole, single) = types(&transfer);
    for (register, operand) in operands.iter().enumerate() {
        let value = matrix_value(decoder, operand, element)?;
        let at = |index| transfer.cell_of(register, index);
        if transfer.is_contiguous() {
            let access = AccessKind::Store;
            let (aux, base) = addresses.access(decoder, &transfer, access, at(0), whole)?;
            decoder.push(Op::Store, &[], &[base, value], aux);
            continue;
        }
        for index in 0..element.per_register() {
            let access = AccessKind::Store;
            let (aux, base) = addresses.access(decoder, &transfer, access, at(index), single)?;
            let shift = decoder.bits(Class::Narrow, (transfer.bits() * index) as u64)?;
            let part = decoder.fresh(Op::ShiftRightU32, Class::Narrow, &[value, shift]);
            decoder.push(Op::Store, &[], &[base, part], aux);
        }
    }
    Ok(())
}

/// The elements of a product: what its name says of D, A, B and C.
fn elements(modifiers: &mut Modifiers<'_>, shape: Shape) -> Option<[Element; 4]> {
    let mut found = Vec::new();
    while let Some(element) = modifiers.take_map(element) {
        found.push(element);
    }
    let (d, a, b, c) = match found[..] {
        // The oldest forms name the sums alone: their factors are f16.
        [d, c] => (d, Element::F16, Element::F16, c),
        [d, a, b, c] => (d, a, b, c),
        _ => return None,
    };
    let is_possible = |fragment: char, element: Element| {
        let transfer = Transfer {
            fragment,
            shape,
            element,
            is_row_major: true,
            space: Space::Generic,
        };
        transfer.is_possible()
    };
    let is_integer = |element| matches!(element, Element::S32);
    let is_factor_integer = matches!(
        a,
        Element::S8 | Element::U8 | Element::S4 | Element::U4 | Element::B1
    );
    let fits = is_possible('a', a)
        && is_possible('b', b)
        && is_possible('c', c)
        && is_possible('d', d)
        && a == b
        && is_integer(c) == is_integer(d)
        && is_integer(d) == is_factor_integer
        && (a == Element::F16 || d != Element::F16 && c != Element::F16);
    fits.then_some([d, a, b, c])
}

fn multiply(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let read = |modifiers: &mut Modifiers<'_>| {
        let is_exclusive = joins_by_exclusive_or(modifiers);
        modifiers.take("sync").then_some(())?;
        modifiers.take("aligned");
        // How the factors lay in memory makes no difference to their fragments.
        modifiers.take_one(&["row", "col"])?;
        modifiers.take_one(&["row", "col"])?;
        let shape = modifiers.take_map(shape)?;
        modifiers.take("rn");
        let saturates = modifiers.take("satfinite");
        let elements = elements(modifiers, shape)?;
        if (elements[1] == Element::B1) != is_exclusive.is_some() {
            return None;
        }
        let saturates = saturates || modifiers.take("satfinite");
        Some((shape, elements, saturates, is_exclusive == Some(true)))
    };
    let (shape, [d, a, b, c], saturates, is_exclusive) =
        read(modifiers).ok_or_else(|| decoder.bad_form())?;
    let [a_values, b_values, c_values] =
        [('a', 1, a), ('b', 2, b), ('c', 3, c)].map(|(fragment, index, element)| {
            fragment_values(decoder, shape, fragment, index, element)
        });
    let (mut a_values, mut b_values, c_values) = (a_values?, b_values?, c_values?);
    if shape.is_swapped() {
        // The transposed product is that of the transposed factors, in the other order.
        std::mem::swap(&mut a_values, &mut b_values);
    }
    let results = parts(decoder.operand(0)?);
    if results.len() != shape.registers(Role::Sums, d) {
        return Err(decoder.bad_form());
    }
    let form = ProductForm {
        rows: shape.tile_rows(),
        columns: 8,
        depth: shape.depth,
        a,
        b,
        c,
        d,
        saturates: saturates && d == Element::S32,
        is_exclusive,
    };
    let mut sums = Vec::new();
    for tile in 0..shape.tiles(Role::Sums) {
        let part = |values: &[Value], role: Role, element: Element| {
            let count = shape.tile_registers(role, element);
            // One factor has several tiles and the other one, which is in each product.
            let tile = tile % shape.tiles(role);
            values[tile * count..(tile + 1) * count].to_vec()
        };
        let srcs = [
            part(&a_values, Role::Rows, a),
            part(&b_values, Role::Columns, b),
            part(&c_values, Role::Sums, c),
        ]
        .concat();
        let class = super::context::class_of(register_type(d));
        let count = shape.tile_registers(Role::Sums, d);
        let dsts: Vec<_> = (0..count).map(|_| decoder.temporary(class)).collect();
        decoder.push(Op::Matrix, &dsts, &srcs, Aux::Product(form));
        sums.extend(dsts);
    }
    for (operand, sum) in results.iter().zip(sums) {
        let dst = decoder.destination_of(operand, register_type(d))?;
        decoder.copy(dst, Value::Reg(sum));
    }
    Ok(())
}

fn fragment_values(
    decoder: &mut Decoder<'_>,
    shape: Shape,
    fragment: char,
    index: usize,
    element: Element,
) -> Result<Vec<Value>, Fail> {
    let operands = parts(decoder.operand(index)?);
    if operands.len() != shape.registers(shape.role(fragment), element) {
        let found = operands.len();
        return Err(decoder.fail(format!(
            "operand {} has {found} registers, this form takes {}",
            index + 1,
            shape.registers(shape.role(fragment), element)
        )));
    }
    let values = operands.iter();
    values
        .map(|operand| matrix_value(decoder, operand, element))
        .collect()
}

pub(super) fn wmma(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    match modifiers.take_one(&["load", "mma", "store"]) {
        Some("load") => load(decoder, modifiers),
        Some("mma") => multiply(decoder, modifiers),
        Some(_) => store(decoder, modifiers),
        None => Err(decoder.bad_form()),
    }
}
