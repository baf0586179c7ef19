//! Products, loads and stores of matrices, and their transposition.
//!
//! `movmatrix` and `stmatrix` are made of exchanges between lanes and of stores. Of a matrix of 8 by 8 elements of 16 bits, lane
//! 4 r + c holds the elements 2 c and 2 c + 1 of row r.

use super::context::Decoder;
use super::memory::{Place, memory_aux, place, space_of};
use super::modifiers::Modifiers;
use super::warp::shuffle;
use crate::fail::Fail;
use crate::flow::program::{Aux, Class, VReg, Value};
use pagemill_ptx_ir::ast::{Operand, Space, Type};
use pagemill_ptx_ir::code::warp_group::GroupMeeting;
use pagemill_ptx_ir::code::{
    AccessKind, BarrierScope, CacheHint, Element, Preset, ProductForm, TileShape,
};
use pagemill_ptx_ir::op::Op;

pub(super) fn mma(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    let form = product_form(modifiers).ok_or_else(|| decoder.bad_form())?;
    // A warp holds each matrix once, an equal part of it in each of 32 lanes.
    let cells = |rows: usize, columns: usize, element: Element| {
        rows * columns / 32 / element.per_register()
    };
    let (rows, columns, depth) = (form.rows, form.columns, form.depth);
    let mut dsts = Vec::new();
    for operand in parts(decoder.operand(0)?) {
        dsts.push(decoder.destination_of(operand, register_type(form.d))?);
    }
    let mut srcs = Vec::new();
    for (index, element, wanted) in [
        (1, form.a, cells(rows, depth, form.a)),
        (2, form.b, cells(depth, columns, form.b)),
        (3, form.c, cells(rows, columns, form.c)),
    ] {
        let parts = parts(decoder.operand(index)?);
        if parts.len() != wanted {
            let found = parts.len();
            return Err(decoder.fail(format!(
                "operand {} has {found} registers, this form takes {wanted}",
                index + 1
            )));
        }
        for operand in parts {
            srcs.push(matrix_value(decoder, operand, element)?);
        }
    }
    if dsts.len() != cells(rows, columns, form.d) {
        return Err(decoder.bad_form());
    }
    decoder.push(Op::Matrix, &dsts, &srcs, Aux::Product(form));
    Ok(())
}

/// `wgmma`: the four warps of a group meet, then each multiplies 16 rows, in pieces of 8 columns, at once. What is fenced and
/// committed is there already. They meet again where the product is waited for: behind it, operands have been read for all four,
/// and any of them may write there.
pub(super) fn wgmma(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    match modifiers.take_one(&["mma_async", "fence", "commit_group", "wait_group"]) {
        Some("mma_async") => group_product(decoder, modifiers),
        Some(kind) if modifiers.take("sync") && modifiers.take("aligned") => {
            decoder.optional(0);
            match kind {
                "wait_group" => meet_group(decoder, GroupMeeting::Wait),
                _ => Ok(()),
            }
        }
        _ => Err(decoder.bad_form()),
    }
}

fn meet_group(decoder: &mut Decoder<'_>, meeting: GroupMeeting) -> Result<(), Fail> {
    let zero = decoder.bits(Class::Narrow, 0)?;
    let aux = Aux::ScopedBarrier {
        scope: BarrierScope::WarpGroup(meeting),
        waits: true,
    };
    decoder.push(Op::Barrier, &[], &[zero], aux);
    Ok(())
}

fn group_product(decoder: &mut Decoder<'_>, modifiers: &mut Modifiers<'_>) -> Result<(), Fail> {
    if modifiers.take("sp") {
        return Err(decoder.fail("wgmma of sparse matrices is not supported"));
    }
    let (form, columns) = group_form(modifiers).ok_or_else(|| decoder.bad_form())?;
    let choices = group_choices(decoder, &form)?;
    meet_group(decoder, GroupMeeting::Product)?;
    let mut a = match parts(decoder.operand(1)?) {
        // One operand is the descriptor of a matrix in shared memory; four are its registers.
        [descriptor] => {
            let descriptor = decoder.value(descriptor, Type::B64)?;
            let first = row_of_warp(decoder)?;
            tile(
                decoder,
                form,
                (true, choices.a_is_across),
                (descriptor, first),
            )
        }
        registers => {
            let mut values = Vec::new();
            for operand in registers {
                values.push(matrix_value(decoder, operand, form.a)?);
            }
            values
        }
    };
    if a.len() != 4 {
        return Err(decoder.bad_form());
    }
    if choices.is_negative {
        a = negated(decoder, form.a, &a)?;
    }
    let b_descriptor = decoder.source(2, Type::B64)?;
    let (adds, is_inverted) = decoder.predicate(3)?;
    let sums = parts(decoder.operand(0)?);
    let per_piece = 4 / form.d.per_register();
    if sums.len() != columns / 8 * per_piece {
        return Err(decoder.bad_form());
    }
    let zero = decoder.bits(Class::Narrow, 0)?;
    for (piece, sums) in (0..).zip(sums.chunks(per_piece)) {
        let first = decoder.bits(Class::Narrow, 8 * piece)?;
        let b = tile(
            decoder,
            form,
            (false, choices.b_is_across),
            (b_descriptor, first),
        );
        let mut srcs = [a.clone(), b].concat();
        let mut dsts = Vec::new();
        for operand in sums {
            let old = matrix_value(decoder, operand, form.d)?;
            // Without the predicate, what the sums were does not count.
            let (if_set, if_not) = if is_inverted {
                (zero, old)
            } else {
                (old, zero)
            };
            let choice = [if_set, if_not, Value::Reg(adds)];
            srcs.push(decoder.fresh(Op::Select32, Class::Narrow, &choice));
            dsts.push(decoder.destination_of(operand, register_type(form.d))?);
        }
        decoder.push(Op::Matrix, &dsts, &srcs, Aux::Product(form));
    }
    Ok(())
}

/// What the numbers behind the operands say: scales of floats, and whether matrices of 16 bits in shared memory lie across.
struct GroupChoices {
    is_negative: bool,
    a_is_across: bool,
    b_is_across: bool,
}

fn group_choices(decoder: &Decoder<'_>, form: &ProductForm) -> Result<GroupChoices, Fail> {
    let a_is_shared = parts(decoder.operand(1)?).len() == 1;
    let scales = if form.d == Element::S32 { 0 } else { 2 };
    let transpositions = match (form.a, a_is_shared) {
        (Element::F16 | Element::Bf16, true) => 2,
        (Element::F16 | Element::Bf16, false) => 1,
        _ => 0,
    };
    if decoder.operand_count() != 4 + scales + transpositions {
        return Err(decoder.bad_form());
    }
    let mut numbers = Vec::new();
    for index in 4..decoder.operand_count() {
        match decoder.operand(index)? {
            Operand::Integer(number) => numbers.push(*number),
            _ => return Err(decoder.fail("scales and transpositions of wgmma are numbers")),
        }
    }
    let (scales, across) = numbers.split_at(scales);
    if !scales.iter().all(|scale| matches!(*scale, 1 | u64::MAX)) {
        return Err(decoder.fail("wgmma scales by 1 or -1"));
    }
    Ok(GroupChoices {
        // Signs of both factors cancel each other.
        is_negative: scales.first() != scales.last(),
        a_is_across: a_is_shared && across.first() == Some(&1),
        b_is_across: across.last() == Some(&1),
    })
}

/// 16 rows for each warp of its group.
fn row_of_warp(decoder: &mut Decoder<'_>) -> Result<Value, Fail> {
    let warp = Value::Reg(decoder.program.preset(Preset::Warp));
    let (three, rows) = (
        decoder.bits(Class::Narrow, 3)?,
        decoder.bits(Class::Narrow, 16)?,
    );
    let number = decoder.fresh(Op::And32, Class::Narrow, &[warp, three]);
    Ok(decoder.fresh(Op::Mul32, Class::Narrow, &[number, rows]))
}

/// The registers of an operand that lies in shared memory.
fn tile(
    decoder: &mut Decoder<'_>,
    form: ProductForm,
    (is_a, is_across): (bool, bool),
    (descriptor, first): (Value, Value),
) -> Vec<Value> {
    let count = if is_a { 4 } else { 2 };
    let dsts: Vec<VReg> = (0..count)
        .map(|_| decoder.temporary(Class::Narrow))
        .collect();
    let shape = TileShape {
        form,
        is_a,
        is_across,
    };
    let aux = Aux::MatrixTile(shape);
    decoder.push(Op::Matrix, &dsts, &[descriptor, first], aux);
    dsts.into_iter().map(Value::Reg).collect()
}

/// The operand with its signs changed.
fn negated(
    decoder: &mut Decoder<'_>,
    element: Element,
    values: &[Value],
) -> Result<Vec<Value>, Fail> {
    let signs = match element.per_register() {
        1 => 0x8000_0000,
        2 => 0x8000_8000,
        _ => 0x8080_8080,
    };
    let signs = decoder.bits(Class::Narrow, signs)?;
    let values = values.iter();
    Ok(values
        .map(|value| decoder.fresh(Op::Xor32, Class::Narrow, &[*value, signs]))
        .collect())
}

/// The product of a warp for 8 columns, and how many columns there are.
fn group_form(modifiers: &mut Modifiers<'_>) -> Option<(ProductForm, usize)> {
    (modifiers.take("sync") && modifiers.take("aligned")).then_some(())?;
    let (columns, depth) = modifiers.take_map(|part| {
        let (columns, depth) = part.strip_prefix("m64n")?.split_once('k')?;
        Some((columns.parse::<usize>().ok()?, depth.parse::<usize>().ok()?))
    })?;
    let saturates = modifiers.take("satfinite");
    let mut element = || modifiers.take_map(element);
    let (d, a, b) = (element()?, element()?, element()?);
    let mut form = ProductForm {
        rows: 16,
        columns: 8,
        depth,
        d,
        a,
        b,
        c: d,
        saturates,
        is_exclusive: false,
    };
    if a == Element::B1 {
        form.is_exclusive = joins_by_exclusive_or(modifiers)?;
    }
    let bits = 32 / a.per_register();
    let is_integer = d == Element::S32;
    let is_size = columns % 8 == 0
        && (8..=256).contains(&columns)
        && (!is_integer || columns <= 32 || columns % 16 == 0);
    // A step is 32 bytes deep, whatever the elements.
    let is_depth = depth * bits == 256;
    let is_known = !matches!(a, Element::F64 | Element::S4 | Element::U4) && !form.is_exclusive;
    (is_size && is_depth && is_known && is_possible(&form)).then_some((form, columns))
}

/// Registers of floats may be declared as floats or as bits.
pub(super) fn matrix_value<'a>(
    decoder: &mut Decoder<'a>,
    operand: &'a Operand,
    element: Element,
) -> Result<Value, Fail> {
    decoder.value(operand, register_type(element))
}

pub(super) fn register_type(element: Element) -> Type {
    match element {
        Element::F64 => Type::F64,
        _ => Type::B32,
    }
}

pub(super) fn parts(operand: &Operand) -> &[Operand] {
    match operand {
        Operand::Vector(parts) => parts,
        single => std::slice::from_ref(single),
    }
}

fn product_form(modifiers: &mut Modifiers<'_>) -> Option<ProductForm> {
    if !modifiers.take("sync") {
        return None;
    }
    modifiers.take("aligned");
    modifiers.take("kind::f8f6f4");
    let [rows, columns, depth] = modifiers.take_map(|part| match part {
        "m16n8k4" => Some([16, 8, 4]),
        "m16n8k8" => Some([16, 8, 8]),
        "m16n8k16" => Some([16, 8, 16]),
        "m16n8k32" => Some([16, 8, 32]),
        "m16n8k64" => Some([16, 8, 64]),
        "m16n8k128" => Some([16, 8, 128]),
        "m16n8k256" => Some([16, 8, 256]),
        "m8n8k128" => Some([8, 8, 128]),
        "m8n8k4" => Some([8, 8, 4]),
        "m8n8k16" => Some([8, 8, 16]),
        "m8n8k32" => Some([8, 8, 32]),
        _ => None,
    })?;
    (modifiers.take("row") && modifiers.take("col")).then_some(())?;
    let saturates = modifiers.take("satfinite");
    let mut element = || modifiers.take_map(element);
    let mut form = ProductForm {
        rows,
        columns,
        depth,
        d: element()?,
        a: element()?,
        b: element()?,
        c: element()?,
        saturates,
        is_exclusive: false,
    };
    if form.a == Element::B1 {
        form.is_exclusive = joins_by_exclusive_or(modifiers)?;
    }
    is_possible(&form).then_some(form)
}

/// How a product of bits joins them: `.and.popc` or `.xor.popc`.
pub(super) fn joins_by_exclusive_or(modifiers: &mut Modifiers<'_>) -> Option<bool> {
    let joins = modifiers.take_one(&["and", "xor"])?;
    modifiers.take("popc").then_some(joins == "xor")
}

pub(super) fn element(part: &str) -> Option<Element> {
    Some(match part {
        "f16" => Element::F16,
        "bf16" => Element::Bf16,
        "tf32" => Element::Tf32,
        "f32" => Element::F32,
        "f64" => Element::F64,
        "e4m3" => Element::E4m3,
        "e5m2" => Element::E5m2,
        "s8" => Element::S8,
        "u8" => Element::U8,
        "s4" => Element::S4,
        "u4" => Element::U4,
        "s32" => Element::S32,
        "b1" => Element::B1,
        _ => return None,
    })
}

/// The forms of the PTX manual, but for those of one architecture only.
fn is_possible(form: &ProductForm) -> bool {
    use Element::{B1, Bf16, E4m3, E5m2, F16, F32, F64, S4, S8, S32, Tf32, U4, U8};
    let (size, sums) = ((form.rows, form.depth), (form.c, form.d));
    let factors = (form.a, form.b);
    let is_float_sum = matches!(sums, (F16 | F32, F16 | F32));
    if form.saturates && form.d != S32 {
        return false;
    }
    match factors {
        (F16, F16) => matches!(size, (16, 8 | 16)) && is_float_sum,
        (Bf16, Bf16) => matches!(size, (16, 8 | 16)) && sums == (F32, F32),
        (Tf32, Tf32) => matches!(size, (16, 4 | 8)) && sums == (F32, F32),
        (F64, F64) => matches!(size, (8, 4) | (16, 4 | 8 | 16)) && sums == (F64, F64),
        (E4m3 | E5m2, E4m3 | E5m2) => matches!(size, (16, 16 | 32)) && is_float_sum,
        (S8 | U8, S8 | U8) => matches!(size, (8, 16) | (16, 16 | 32)) && sums == (S32, S32),
        (B1, B1) => {
            let is_known = matches!(size, (8, 128) | (16, 128 | 256));
            is_known && sums == (S32, S32) && !form.saturates
        }
        (S4 | U4, S4 | U4) => matches!(size, (8, 32) | (16, 32 | 64)) && sums == (S32, S32),
        _ => false,
    }
}

/// How many matrices move: `x1`, `x2` or `x4`.
fn matrix_count(modifiers: &mut Modifiers<'_>) -> Option<usize> {
    modifiers.take_map(|part| match part {
        "x1" => Some(1),
        "x2" => Some(2),
        "x4" => Some(4),
        _ => None,
    })
}

pub(super) fn ldmatrix(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
) -> Result<(), Fail> {
    if !modifiers.take("sync") {
        return Err(decoder.bad_form());
    }
    modifiers.take("aligned");
    let count = matrix_count(modifiers);
    let transposes = modifiers.take("trans");
    let space = modifiers.take_map(space_of).unwrap_or(Space::Generic);
    let is_known = modifiers.take("m8n8")
        && modifiers.take("b16")
        && matches!(space, Space::Shared | Space::Generic);
    let (Some(count), true) = (count, is_known) else {
        return Err(decoder.bad_form());
    };
    let operands = parts(decoder.operand(0)?);
    let mut dsts: Vec<VReg> = Vec::new();
    for operand in operands {
        dsts.push(decoder.destination_of(operand, Type::B32)?);
    }
    if dsts.len() != count {
        return Err(decoder.bad_form());
    }
    let Place::Memory { base, offset, .. } = place(decoder, decoder.operand(1)?, space)? else {
        return Err(decoder.fail("a matrix is loaded from shared memory"));
    };
    let aux = Aux::MatrixLoad {
        space,
        offset,
        transposes,
    };
    decoder.push(Op::Matrix, &dsts, &[base], aux);
    Ok(())
}

pub(super) fn movmatrix(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
) -> Result<(), Fail> {
    modifiers.take("aligned");
    let is_known = ["sync", "m8n8", "trans", "b16"]
        .iter()
        .all(|part| modifiers.take(part));
    if !is_known {
        return Err(decoder.bad_form());
    }
    let word = decoder.source(1, Type::B32)?;
    let dst = decoder.destination(0, Type::B32)?;
    let word = transposed(decoder, word)?;
    decoder.copy(dst, word);
    Ok(())
}

/// Lanes 8 i to 8 i + 7 have the addresses of the rows of matrix i. Each lane stores its own word of each.
pub(super) fn stmatrix(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
) -> Result<(), Fail> {
    modifiers.take("aligned");
    let count = matrix_count(modifiers);
    let transposes = modifiers.take("trans");
    let space = modifiers.take_map(space_of).unwrap_or(Space::Generic);
    let is_known = ["sync", "m8n8", "b16"]
        .iter()
        .all(|part| modifiers.take(part));
    let words = parts(decoder.operand(1)?);
    if !is_known || Some(words.len()) != count || !matches!(space, Space::Shared | Space::Generic) {
        return Err(decoder.bad_form());
    }
    let Place::Memory { base, offset, .. } = place(decoder, decoder.operand(0)?, space)? else {
        return Err(decoder.fail("a matrix is stored to shared memory"));
    };
    let row = lane_bits(decoder, 2, 7)?;
    let place = lane_bits(decoder, 0, 3)?;
    let four = decoder.bits(Class::Narrow, 4)?;
    let place = decoder.fresh(Op::Mul32, Class::Narrow, &[place, four]);
    for (matrix, word) in (0..).zip(words) {
        let mut word = decoder.value(word, Type::B32)?;
        if transposes {
            word = transposed(decoder, word)?;
        }
        let first = decoder.bits(Class::Narrow, 8 * matrix)?;
        let holder = decoder.fresh(Op::Add32, Class::Narrow, &[row, first]);
        let address = address_behind(decoder, (base, offset), holder, place)?;
        let (kind, class, hint) = (AccessKind::Store, Class::Narrow, CacheHint::Default);
        let aux = memory_aux(decoder, kind, space, offset, Type::B32, class, 1, hint)?;
        decoder.push(Op::Store, &[], &[address, word], Aux::Memory(aux));
    }
    Ok(())
}

/// The row's address in lane `holder`, and `place` behind it. A row that does not begin at 16 bytes gives an odd address, which
/// stops the kernel.
fn address_behind(
    decoder: &mut Decoder<'_>,
    (base, offset): (Value, i64),
    holder: Value,
    place: Value,
) -> Result<Value, Fail> {
    let is_narrow = match base {
        Value::Reg(register) => decoder.program.class(register) == Class::Narrow,
        Value::Narrow(_) => true,
        Value::Wide(_) => false,
    };
    let low = match is_narrow {
        true => base,
        false => decoder.fresh(Op::Truncate64, Class::Narrow, &[base]),
    };
    let low = shuffle(decoder, low, holder)?;
    let offset = decoder.bits(Class::Narrow, u64::from(offset as u32))?;
    let start = decoder.fresh(Op::Add32, Class::Narrow, &[low, offset]);
    let bit = |decoder: &mut Decoder<'_>, number| {
        let (number, one) = (
            decoder.bits(Class::Narrow, number)?,
            decoder.bits(Class::Narrow, 1)?,
        );
        let shifted = decoder.fresh(Op::ShiftRightU32, Class::Narrow, &[start, number]);
        Ok::<_, Fail>(decoder.fresh(Op::And32, Class::Narrow, &[shifted, one]))
    };
    let off_row = [bit(decoder, 2)?, bit(decoder, 3)?];
    let off_row = decoder.fresh(Op::Or32, Class::Narrow, &off_row);
    let place = decoder.fresh(Op::Add32, Class::Narrow, &[place, off_row]);
    if is_narrow {
        return Ok(decoder.fresh(Op::Add32, Class::Narrow, &[low, place]));
    }
    let high = decoder.fresh(Op::HighHalf64, Class::Narrow, &[base]);
    let high = shuffle(decoder, high, holder)?;
    let base = decoder.fresh(Op::Join64, Class::Wide, &[low, high]);
    let place = decoder.fresh(Op::ZeroExtend32, Class::Wide, &[place]);
    Ok(decoder.fresh(Op::Add64, Class::Wide, &[base, place]))
}

/// The lane's word of the transposed matrix: element l / 4 of row 2 (l % 4), and of the next. Row r lies in lanes 4 r to 4 r + 3.
fn transposed(decoder: &mut Decoder<'_>, word: Value) -> Result<Value, Fail> {
    let row = lane_bits(decoder, 0, 3)?;
    let pair = lane_bits(decoder, 3, 3)?;
    let half = lane_bits(decoder, 2, 1)?;
    let eight = decoder.bits(Class::Narrow, 8)?;
    let four = decoder.bits(Class::Narrow, 4)?;
    let rows = decoder.fresh(Op::Mul32, Class::Narrow, &[row, eight]);
    let first = decoder.fresh(Op::Add32, Class::Narrow, &[rows, pair]);
    let next = decoder.fresh(Op::Add32, Class::Narrow, &[first, four]);
    let (first, next) = (
        shuffle(decoder, word, first)?,
        shuffle(decoder, word, next)?,
    );
    // The lower halves of both, or the upper ones.
    let (lower, step) = (0x5410, 0x2222);
    let step = decoder.bits(Class::Narrow, step)?;
    let lower = decoder.bits(Class::Narrow, lower)?;
    let step = decoder.fresh(Op::Mul32, Class::Narrow, &[half, step]);
    let selector = decoder.fresh(Op::Add32, Class::Narrow, &[lower, step]);
    Ok(decoder.fresh(Op::PermuteBytes, Class::Narrow, &[first, next, selector]))
}

/// The bits of `mask` of the lane's number, `shift` bits from its right.
fn lane_bits(decoder: &mut Decoder<'_>, shift: u64, mask: u64) -> Result<Value, Fail> {
    let lane = Value::Reg(decoder.program.preset(Preset::Lane));
    let shift = decoder.bits(Class::Narrow, shift)?;
    let mask = decoder.bits(Class::Narrow, mask)?;
    let shifted = decoder.fresh(Op::ShiftRightU32, Class::Narrow, &[lane, shift]);
    Ok(decoder.fresh(Op::And32, Class::Narrow, &[shifted, mask]))
}
