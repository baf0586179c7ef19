//! Copies and reductions of boxes of a tensor, which a tensor map describes: see [`walk`].
//!
//! Here they are a loop over rows of the box, and one over 16 bytes, or fewer where the tensor ends, or over elements of a
//! reduction. In simulated time they are what copies in bulk are: see [`bulk`].

use super::blocks::Blocks;
use super::bulk::{self, RANKS, Side, Step, advance, class_of};
use super::context::Decoder;
use super::memory::{memory_aux, space_of};
use super::modifiers::Modifiers;
use crate::fail::Fail;
use crate::flow::program::{Aux, Class, Label, MemoryAux, ServiceAux, VReg, Value};
use pagemill_ptx_ir::ast::{Operand, Space, Type};
use pagemill_ptx_ir::code::{AccessKind, Atomic, CacheHint, ScalarFn};
use pagemill_ptx_ir::op::Op;
use pagemill_ptx_ir::tensor::{ADDRESS, DIMENSIONS, STRIDES, WORDS, walk};

/// What a copy takes at once: bytes, and the values that they are.
const UNITS: [(u64, Type, usize); 4] = [
    (16, Type::B64, 2),
    (4, Type::B32, 1),
    (2, Type::B16, 1),
    (1, Type::B8, 1),
];

/// What a reduction takes at once.
const ELEMENTS: [(u64, Type, usize); 3] = [(8, Type::B64, 1), (4, Type::B32, 1), (2, Type::B16, 1)];

const NO_MAP: &str = "the address holds no tensor map of so many dimensions that tiles can be copied of; cuTensorMapEncodeTiled makes one";
const NO_TILE: &str = "a tile of a tensor begins at no multiple of 128 bytes of shared memory";
const NO_OPERATION: &str = "the elements of the tensor do not have this reduction";

/// A tensor map in registers, and the coordinates of one of its boxes.
struct TensorBox {
    form: Value,
    address: Value,
    /// The first dimension, and the coordinate there.
    first: (Value, Value),
    /// The others, with their strides and coordinates.
    others: Vec<(Value, Value, Value)>,
}

/// What is done with a box.
#[derive(Clone, Copy)]
enum Action {
    Load,
    Store,
    /// Operation of that number.
    Reduce(usize),
}

/// Where the loops are.
struct Walk {
    /// Bytes of the box so far.
    done: VReg,
    /// Bytes of the row so far, and all of them.
    in_row: VReg,
    row_bytes: Value,
    /// Bytes into the tensor's row.
    offset: VReg,
    /// The tensor's row: address and bytes.
    row: Value,
    inside: Value,
}

/// `cp.async.bulk.tensor` and `cp.reduce.async.bulk.tensor`, behind these words.
pub(super) fn copy(
    decoder: &mut Decoder<'_>,
    modifiers: &mut Modifiers<'_>,
    reduces: bool,
) -> Result<(), Fail> {
    let rank = modifiers.take_one(&RANKS);
    let rank = RANKS.iter().position(|name| Some(*name) == rank);
    let rank = rank.ok_or_else(|| decoder.bad_form())? + 1;
    let spaces = (modifiers.take_map(space_of), modifiers.take_map(space_of));
    let operation = match reduces {
        true => modifiers.take_one(&walk::OPERATIONS),
        false => None,
    };
    let number = walk::OPERATIONS
        .iter()
        .position(|name| Some(*name) == operation);
    let action = match (spaces, number) {
        ((Some(Space::Shared), Some(Space::Global)), None) if !reduces => Action::Load,
        ((Some(Space::Global), Some(Space::Shared)), None) if !reduces => Action::Store,
        ((Some(Space::Global), Some(Space::Shared)), Some(number)) => Action::Reduce(number),
        _ => return Err(decoder.bad_form()),
    };
    let is_load = matches!(action, Action::Load);
    let completion = match is_load {
        true => "mbarrier::complete_tx::bytes",
        false => "bulk_group",
    };
    // As the PTX manual has it: loads count at an mbarrier object, stores and reductions belong to a group.
    if !modifiers.take(completion) {
        return Err(decoder.bad_form());
    }
    modifiers.take("tile");
    modifiers.take("L2::cache_hint");
    let to_several = is_load && modifiers.take("multicast::cluster");
    let skip = decoder.new_label();
    decoder.skip_unless_guarded(skip);
    let tensor = tensor(decoder, usize::from(is_load), rank, action)?;
    let blocks = Blocks::begin(decoder, to_several.then_some(3))?;
    let tile = bulk::side(decoder, usize::from(!is_load), Space::Shared)?;
    blocks.turn(decoder, tile.at);
    require(
        decoder,
        walk::is_tile_address,
        0,
        Value::Reg(tile.at),
        NO_TILE,
    );
    let done = every_row(decoder, &tensor, &tile, action, &blocks)?;
    if is_load {
        let bytes = decoder.fresh(Op::ZeroExtend32, Class::Wide, &[Value::Reg(done)]);
        bulk::arrive(decoder, (2, Space::Shared), &blocks, bytes)?;
    }
    blocks.end(decoder)?;
    decoder.set_label(skip);
    Ok(())
}

/// Stops the kernel unless `condition` holds of `value`.
fn require(
    decoder: &mut Decoder<'_>,
    condition: ScalarFn,
    immediate: u32,
    value: Value,
    reason: &'static str,
) {
    let holds = decoder.temporary(Class::Predicate);
    decoder.scalar(condition, immediate, holds, &[value]);
    let fails = decoder.temporary(Class::Predicate);
    decoder.logic(fails, (holds, true), (holds, true), 0b1000);
    let aux = Aux::Service(ServiceAux::Misuse(reason));
    decoder.push_if(fails, Op::Service, &[], &[], aux);
}

/// The tensor map and the coordinates that operand `index` names.
fn tensor(
    decoder: &mut Decoder<'_>,
    index: usize,
    rank: usize,
    action: Action,
) -> Result<TensorBox, Fail> {
    let Operand::Address(place) = decoder.operand(index)? else {
        return Err(decoder.fail("the tensor map and its coordinates must stand in brackets"));
    };
    let [Operand::Vector(given)] = &place.coordinates[..] else {
        return Err(decoder.fail("the coordinates of a box must stand in braces"));
    };
    if given.len() != rank {
        let message = format!("{} coordinates of {rank} dimensions", given.len());
        return Err(decoder.fail(message));
    }
    let map = decoder.value(&place.base, Type::B64)?;
    let words = words(decoder, map, place.offset)?;
    let form = words[0];
    require(decoder, walk::is_map, rank as u32, form, NO_MAP);
    if let Action::Reduce(number) = action {
        require(
            decoder,
            walk::has_operation,
            number as u32,
            form,
            NO_OPERATION,
        );
    }
    let mut coordinates = Vec::new();
    for coordinate in given {
        coordinates.push(decoder.value(coordinate, Type::B32)?);
    }
    let others = (1..rank).map(|at| {
        (
            words[DIMENSIONS + at],
            words[STRIDES + at - 1],
            coordinates[at],
        )
    });
    Ok(TensorBox {
        form,
        address: words[ADDRESS],
        first: (words[DIMENSIONS], coordinates[0]),
        others: others.collect(),
    })
}

/// The words of the map at `map`. Hardware has them in a cache of its own: they cost no time.
fn words(decoder: &mut Decoder<'_>, map: Value, offset: i64) -> Result<Vec<Value>, Fail> {
    let mut words = Vec::new();
    // Four words of 64 bits: the most that one access moves.
    for first in (0..WORDS as i64).step_by(4) {
        let (kind, class, hint) = (AccessKind::Load, Class::Wide, CacheHint::Default);
        let offset = offset.wrapping_add(8 * first);
        let aux = MemoryAux {
            untimed: true,
            ..memory_aux(
                decoder,
                kind,
                Space::Generic,
                offset,
                Type::B64,
                class,
                4,
                hint,
            )?
        };
        let loaded: Vec<VReg> = (0..4).map(|_| decoder.temporary(class)).collect();
        decoder.push(Op::Load, &loaded, &[map], Aux::Memory(aux));
        words.extend(loaded.into_iter().map(Value::Reg));
    }
    Ok(words)
}

//   for each row of the box              as many as the product of its extents behind the first
//     address of the tensor's row, and how many bytes of it there are: none outside of the tensor
//     for each unit of the row           16, 4, 2 or 1 bytes: all inside, or all outside
//       load: tile = memory, or what the map fills with
//       store, reduction: memory = tile, where inside
/// The loop over the rows of a box; the register that counts bytes.
fn every_row(
    decoder: &mut Decoder<'_>,
    tensor: &TensorBox,
    tile: &Side,
    action: Action,
    blocks: &Blocks,
) -> Result<VReg, Fail> {
    let none = decoder.bits(Class::Narrow, 0)?;
    let (row, done) = (
        decoder.temporary(Class::Narrow),
        decoder.temporary(Class::Narrow),
    );
    decoder.copy(row, none);
    decoder.copy(done, none);
    let mut rows = decoder.bits(Class::Narrow, 1)?;
    for &(dimension, ..) in &tensor.others {
        rows = decoder.scalar_fresh(walk::more_rows, 0, Class::Narrow, &[dimension, rows]);
    }
    let (first, coordinate) = tensor.first;
    let form = tensor.form;
    let row_bytes = decoder.scalar_fresh(walk::row_bytes, 0, Class::Narrow, &[first, form]);
    let begin = decoder.scalar_fresh(walk::row_offset, 0, Class::Wide, &[form, coordinate]);
    let (in_row, offset) = (
        decoder.temporary(Class::Narrow),
        decoder.temporary(Class::Wide),
    );
    let (again, behind) = (decoder.new_label(), decoder.new_label());
    decoder.set_label(again);
    leave_unless_less(decoder, row, rows, behind);
    let (address, is_outside) = find_row(decoder, tensor, row)?;
    let inside = [first, form, is_outside];
    let inside = decoder.scalar_fresh(walk::bytes_inside, 0, Class::Wide, &inside);
    decoder.copy(in_row, none);
    decoder.copy(offset, begin);
    let walk = Walk {
        done,
        in_row,
        row_bytes,
        offset,
        row: address,
        inside,
    };
    every_unit(decoder, tensor, (tile, &walk), action, blocks)?;
    advance(decoder, row, 1)?;
    decoder.push(Op::Branch, &[], &[], Aux::Target(again));
    decoder.set_label(behind);
    Ok(done)
}

/// Goes on at `label` unless `register` is less than `end`.
fn leave_unless_less(decoder: &mut Decoder<'_>, register: VReg, end: Value, label: Label) {
    let goes_on = decoder.temporary(Class::Predicate);
    decoder.op(Op::LessU32, goes_on, &[Value::Reg(register), end]);
    decoder.push_guarded(Op::Branch, Aux::Target(label), Some((goes_on, true)));
}

/// The address at which row `row` of the box has its element 0 of the first dimension, and whether it is outside.
fn find_row(
    decoder: &mut Decoder<'_>,
    tensor: &TensorBox,
    row: VReg,
) -> Result<(Value, Value), Fail> {
    // The row's number in mixed radix: the extents of the box behind the first are its digits.
    let mut rest = Value::Reg(row);
    let mut address = tensor.address;
    let mut is_outside = decoder.bits(Class::Narrow, 0)?;
    for &(dimension, stride, coordinate) in &tensor.others {
        let place = [dimension, rest, coordinate];
        let position = decoder.scalar_fresh(walk::position, 0, Class::Wide, &place);
        rest = decoder.scalar_fresh(walk::next_rest, 0, Class::Narrow, &[dimension, rest]);
        let place = [dimension, position, is_outside];
        is_outside = decoder.scalar_fresh(walk::is_outside, 0, Class::Narrow, &place);
        address = decoder.fresh(Op::Mad64, Class::Wide, &[position, stride, address]);
    }
    Ok((address, is_outside))
}

/// The loop over a row.
fn every_unit(
    decoder: &mut Decoder<'_>,
    tensor: &TensorBox,
    (tile, walk): (&Side, &Walk),
    action: Action,
    blocks: &Blocks,
) -> Result<(), Fail> {
    let (again, behind, joined) = (
        decoder.new_label(),
        decoder.new_label(),
        decoder.new_label(),
    );
    decoder.set_label(again);
    leave_unless_less(decoder, walk.in_row, walk.row_bytes, behind);
    let (choose, third, units): (ScalarFn, _, _) = match action {
        Action::Reduce(_) => (walk::choose_element, tensor.form, &ELEMENTS[..]),
        _ => (walk::choose, Value::Reg(walk.in_row), &UNITS[..]),
    };
    let place = [Value::Reg(walk.offset), walk.inside, third];
    let choice = decoder.scalar_fresh(choose, 0, Class::Narrow, &place);
    let most = decoder.bits(Class::Narrow, u64::from(walk::INSIDE) - 1)?;
    let unit = decoder.fresh(Op::And32, Class::Narrow, &[choice, most]);
    let is_inside = decoder.temporary(Class::Predicate);
    decoder.op(Op::LessU32, is_inside, &[most, choice]);
    // What lies outside of the tensor is filled by loads, and left alone by stores and reductions.
    if !matches!(action, Action::Load) {
        decoder.push_guarded(Op::Branch, Aux::Target(joined), Some((is_inside, true)));
    }
    let moves = Moves {
        global: at(decoder, Op::Add64, &[walk.row, Value::Reg(walk.offset)]),
        shared: in_tile(decoder, tensor.form, tile, walk.done),
        choice,
        is_inside,
        repeats: blocks.repeats,
    };
    // How much is moved at once depends on where the tensor ends, known at run time only: a branch for each size.
    for (number, &(bytes, ty, count)) in units.iter().enumerate() {
        let next = decoder.new_label();
        if number + 1 < units.len() {
            let differs = decoder.temporary(Class::Predicate);
            let bytes = decoder.bits(Class::Narrow, bytes)?;
            decoder.op(Op::NotEqual32, differs, &[unit, bytes]);
            decoder.push_guarded(Op::Branch, Aux::Target(next), Some((differs, false)));
        }
        moves.emit(decoder, tensor, walk, action, (ty, count))?;
        decoder.push(Op::Branch, &[], &[], Aux::Target(joined));
        decoder.set_label(next);
    }
    decoder.set_label(joined);
    for register in [walk.done, walk.in_row] {
        decoder.op(Op::Add32, register, &[Value::Reg(register), unit]);
    }
    let unit = decoder.fresh(Op::ZeroExtend32, Class::Wide, &[unit]);
    decoder.op(Op::Add64, walk.offset, &[Value::Reg(walk.offset), unit]);
    decoder.push(Op::Branch, &[], &[], Aux::Target(again));
    decoder.set_label(behind);
    Ok(())
}

/// The place in global memory that `op` computes.
fn at(decoder: &mut Decoder<'_>, op: Op, srcs: &[Value]) -> Side {
    let at = decoder.temporary(Class::Wide);
    decoder.op(op, at, srcs);
    Side {
        at,
        space: Space::Global,
    }
}

/// The place in the tile `done` bytes into the box.
fn in_tile(decoder: &mut Decoder<'_>, form: Value, tile: &Side, done: VReg) -> Side {
    let base = Value::Reg(tile.at);
    let class = decoder.class(base);
    let at = decoder.temporary(class);
    decoder.scalar(walk::swizzle, 0, at, &[form, base, Value::Reg(done)]);
    Side {
        at,
        space: tile.space,
    }
}

/// Where bytes are moved that are all inside, or all outside.
struct Moves {
    global: Side,
    shared: Side,
    choice: Value,
    is_inside: VReg,
    repeats: Value,
}

impl Moves {
    fn emit(
        &self,
        decoder: &mut Decoder<'_>,
        tensor: &TensorBox,
        walk: &Walk,
        action: Action,
        (ty, count): (Type, usize),
    ) -> Result<(), Fail> {
        let step = |done: VReg, only_if| Step {
            done: Value::Reg(done),
            bytes: ty.bytes() * count as u64,
            repeats: self.repeats,
            only_if,
        };
        let (in_global, in_shared) = (step(walk.in_row, None), step(walk.done, None));
        let form = self.form_as(decoder, tensor, ty);
        match action {
            Action::Load => {
                let fill = decoder.scalar_fresh(walk::fill, 0, class_of(ty), &[tensor.form]);
                let in_global = step(walk.in_row, Some(self.is_inside));
                let values =
                    bulk::load(decoder, &self.global, &in_global, (ty, count), Some(fill))?;
                self.convert(decoder, tensor, ty, &values);
                bulk::store(decoder, &self.shared, &in_shared, ty, &values)
            }
            Action::Store => {
                let values = bulk::load(decoder, &self.shared, &in_shared, (ty, count), None)?;
                bulk::store(decoder, &self.global, &in_global, ty, &values)
            }
            Action::Reduce(number) => {
                let values = bulk::load(decoder, &self.shared, &in_shared, (ty, count), None)?;
                let apply = walk::reduction(number);
                let operands = [&values[..], &[form]].concat();
                let change = (ty, Atomic { apply });
                bulk::combine(decoder, &self.global, &in_global, change, &operands)
            }
        }
    }

    /// The form in a register as the values of `ty` are in.
    fn form_as(&self, decoder: &mut Decoder<'_>, tensor: &TensorBox, ty: Type) -> Value {
        match class_of(ty) {
            Class::Wide => tensor.form,
            class => decoder.fresh(Op::Truncate64, class, &[tensor.form]),
        }
    }

    /// Rounds values of elements that are rounded when they are copied.
    fn convert(&self, decoder: &mut Decoder<'_>, tensor: &TensorBox, ty: Type, values: &[Value]) {
        // Elements of four bytes alone are rounded, to tf32; they move one or two at a time.
        if ty.bytes() < 4 {
            return;
        }
        let converts = decoder.temporary(Class::Predicate);
        decoder.scalar(walk::converts, 0, converts, &[tensor.form]);
        let aux = Aux::Scalar {
            function: walk::convert,
            immediate: 0,
        };
        for &value in values {
            if let Value::Reg(register) = value {
                let operands = [value, self.choice];
                decoder.push_if(converts, Op::Scalar, &[register], &operands, aux.clone());
            }
        }
    }
}
