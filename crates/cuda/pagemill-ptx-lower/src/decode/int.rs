//! The types of integer instructions, and the operations that their sizes choose.

use super::context::Decoder;
use crate::fail::Fail;
use crate::flow::program::{Class, Value};
use pagemill_ptx_ir::ast::Type;
use pagemill_ptx_ir::op::Op;

/// What a type name means to an integer instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Int {
    pub ty: Type,
    pub signed: bool,
    pub bytes: u64,
}

impl Int {
    pub(super) fn of(ty: Type) -> Option<Self> {
        let signed = match ty {
            Type::S8 | Type::S16 | Type::S32 | Type::S64 => true,
            Type::U8
            | Type::U16
            | Type::U32
            | Type::U64
            | Type::B8
            | Type::B16
            | Type::B32
            | Type::B64 => false,
            _ => return None,
        };
        Some(Self {
            ty,
            signed,
            bytes: ty.bytes(),
        })
    }

    pub(super) fn class(self) -> Class {
        if self.bytes == 8 {
            Class::Wide
        } else {
            Class::Narrow
        }
    }
}

/// The narrow or the wide operation, by the operand size.
pub(super) fn by_size(int: Int, narrow: Op, wide: Op) -> Op {
    if int.bytes == 8 { wide } else { narrow }
}

/// The upper half of a product, in a register of the operands' size.
pub(super) fn high_product(
    decoder: &mut Decoder<'_>,
    int: Int,
    a: Value,
    b: Value,
) -> Result<Value, Fail> {
    Ok(match (int.bytes, int.signed) {
        (2, _) => {
            let whole = decoder.fresh(Op::Mul32, Class::Narrow, &[a, b]);
            let sixteen = decoder.bits(Class::Narrow, 16)?;
            decoder.fresh(Op::ShiftRightU32, Class::Narrow, &[whole, sixteen])
        }
        (8, true) => decoder.fresh(Op::MulHighS64, Class::Wide, &[a, b]),
        (8, false) => decoder.fresh(Op::MulHighU64, Class::Wide, &[a, b]),
        (_, true) => decoder.fresh(Op::MulHighS32, Class::Narrow, &[a, b]),
        (_, false) => decoder.fresh(Op::MulHighU32, Class::Narrow, &[a, b]),
    })
}
