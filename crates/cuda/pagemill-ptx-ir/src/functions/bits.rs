//! Bit fields, counts, permutations, dot products.

/// The operand has 64 bits.
pub const WIDE: u32 = 1 << 16;
/// The operand is signed.
pub const SIGNED: u32 = 1 << 17;
/// The second operand is signed.
pub const SIGNED_B: u32 = 1 << 18;
/// `bfind.shiftamt`.
pub const SHIFT: u32 = 1 << 19;
/// `.wrap` rather than `.clamp`.
pub const WRAP: u32 = 1 << 20;
/// The upper half of a product, or of an operand.
pub const HIGH: u32 = 1 << 21;

fn top_bit(flags: u32) -> u32 {
    if flags & WIDE != 0 { 63 } else { 31 }
}

/// All ones below bit `len`.
fn ones(len: u32) -> u64 {
    if len >= 64 { u64::MAX } else { (1 << len) - 1 }
}

/// `bfe`: `len` bits from `pos`, sign-extended from the field's last bit that exists.
pub fn extract(a: u64, pos: u64, len: u64, flags: u32) -> u64 {
    let (pos, len, top) = ((pos & 0xff) as u32, (len & 0xff) as u32, top_bit(flags));
    let shifted = if pos > top { 0 } else { a >> pos };
    let present = len.min((top + 1).saturating_sub(pos));
    let sign_at = (pos + len).saturating_sub(1).min(top);
    let negative = flags & SIGNED != 0 && len != 0 && a >> sign_at & 1 != 0;
    let fill = if negative {
        ones(top + 1) & !ones(present)
    } else {
        0
    };
    (shifted & ones(present)) | fill
}

/// The bits that `bfi` replaces.
pub fn field_mask(pos: u64, len: u64, _: u64, flags: u32) -> u64 {
    let (pos, len, top) = ((pos & 0xff) as u32, (len & 0xff) as u32, top_bit(flags));
    if pos > top {
        0
    } else {
        ones(len) << pos & ones(top + 1)
    }
}

pub fn find_leading(a: u64, _: u64, _: u64, flags: u32) -> u64 {
    let top = top_bit(flags);
    let all = ones(top + 1);
    let negative = flags & SIGNED != 0 && a >> top & 1 != 0;
    let value = if negative { !a & all } else { a & all };
    match value {
        0 => u64::from(u32::MAX),
        value if flags & SHIFT != 0 => u64::from(top - value.ilog2()),
        value => u64::from(value.ilog2()),
    }
}

pub fn leading_zeros(a: u64, _: u64, _: u64, flags: u32) -> u64 {
    u64::from(if flags & WIDE != 0 {
        a.leading_zeros()
    } else {
        (a as u32).leading_zeros()
    })
}

pub fn population(a: u64, _: u64, _: u64, _: u32) -> u64 {
    u64::from(a.count_ones())
}

pub fn reverse(a: u64, _: u64, _: u64, flags: u32) -> u64 {
    if flags & WIDE != 0 {
        a.reverse_bits()
    } else {
        u64::from((a as u32).reverse_bits())
    }
}

/// `fns`: the `offset`-th set bit from `base` on, downwards when negative.
pub fn find_nth_set(mask: u64, base: u64, offset: u64, _: u32) -> u64 {
    let (mask, base, offset) = (mask as u32, base as u32, offset as i32);
    let is_set = |at: &i64| mask >> at & 1 != 0;
    let base = i64::from(base.min(32));
    let found = match offset {
        0 => (base..base + 1).filter(|at| *at < 32).find(is_set),
        1.. => (base..32).filter(is_set).nth(offset as usize - 1),
        _ => (0..=base.min(31))
            .rev()
            .filter(is_set)
            .nth(offset.unsigned_abs() as usize - 1),
    };
    found.map_or(u64::from(u32::MAX), |at| at as u64)
}

pub fn make_mask(start: u64, width: u64, _: u64, flags: u32) -> u64 {
    let (start, width) = (start as u32, width as u32);
    let clamp = flags & WRAP == 0;
    let from = start & 31;
    let to = from + (width & 31);
    let low = if clamp && start >= 32 {
        0
    } else {
        u32::MAX << from
    };
    let open = to >= 32 || clamp && (start >= 32 || width >= 32);
    let above = if open { 0 } else { u32::MAX << to };
    u64::from(low & !above)
}

/// `szext`: zero- or sign-extends from bit `width`.
pub fn extend_from(a: u64, width: u64, _: u64, flags: u32) -> u64 {
    let (a, width) = (a as u32, width as u32);
    let bits = width & 31;
    let too_large = flags & WRAP == 0 && width >= 32;
    let mask = if too_large { 0 } else { u32::MAX << bits };
    let negative = bits != 0 && !too_large && flags & SIGNED != 0 && a >> (bits - 1) & 1 != 0;
    u64::from((a & !mask) | if negative { mask } else { 0 })
}

/// `lop3`: bit `4a + 2b + c` of the table, for each bit position.
pub fn logic3(a: u64, b: u64, c: u64, table: u32) -> u64 {
    let (a, b, c) = (a as u32, b as u32, c as u32);
    let pick =
        |bits: u32, index: u32, place: u32| if index >> place & 1 != 0 { bits } else { !bits };
    let terms = (0..8u32).filter(|index| table >> index & 1 != 0);
    u64::from(
        terms
            .map(|index| pick(a, index, 2) & pick(b, index, 1) & pick(c, index, 0))
            .fold(0, |all, term| all | term),
    )
}

/// Byte selectors of the `prmt` modes, lowest byte first, by the control's low two bits.
const MODES: [[[u8; 4]; 4]; 6] = [
    [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5], [3, 4, 5, 6]],
    [[0, 7, 6, 5], [1, 0, 7, 6], [2, 1, 0, 7], [3, 2, 1, 0]],
    [[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3]],
    [[0, 1, 2, 3], [1, 1, 2, 3], [2, 2, 2, 3], [3, 3, 3, 3]],
    [[0, 0, 0, 0], [0, 1, 1, 1], [0, 1, 2, 2], [0, 1, 2, 3]],
    [[0, 1, 0, 1], [2, 3, 2, 3], [0, 1, 0, 1], [2, 3, 2, 3]],
];

/// `prmt` in the modes that have a name, numbered from 1.
pub fn permute(a: u64, b: u64, c: u64, mode: u32) -> u64 {
    let bytes = ((a & 0xffff_ffff) | (b << 32)).to_le_bytes();
    let selectors = MODES[mode as usize - 1][(c & 3) as usize];
    u64::from(u32::from_le_bytes(
        selectors.map(|selector| bytes[usize::from(selector)]),
    ))
}

pub fn absolute_difference(a: u64, b: u64, c: u64, flags: u32) -> u64 {
    let difference = match (flags & WIDE != 0, flags & SIGNED != 0) {
        (true, true) => (a as i64).abs_diff(b as i64),
        (true, false) => a.abs_diff(b),
        (false, true) => u64::from((a as i32).abs_diff(b as i32)),
        (false, false) => u64::from((a as u32).abs_diff(b as u32)),
    };
    c.wrapping_add(difference)
}

pub fn multiply24(a: u64, b: u64, _: u64, flags: u32) -> u64 {
    let field = |value: u64| match flags & SIGNED != 0 {
        true => i64::from((value as i32) << 8 >> 8),
        false => (value & 0xff_ffff) as i64,
    };
    let product = field(a) * field(b);
    (if flags & HIGH != 0 {
        product >> 16
    } else {
        product
    }) as u64
        & 0xffff_ffff
}

fn part(value: u64, at: u32, bits: u32, signed: bool) -> i64 {
    let spare = 64 - bits;
    let raised = value >> at << spare;
    if signed {
        raised as i64 >> spare
    } else {
        (raised >> spare) as i64
    }
}

pub fn dot4(a: u64, b: u64, c: u64, flags: u32) -> u64 {
    let (a_signed, b_signed) = (flags & SIGNED != 0, flags & SIGNED_B != 0);
    let term = |index: u32| part(a, 8 * index, 8, a_signed) * part(b, 8 * index, 8, b_signed);
    c.wrapping_add((0..4).map(term).sum::<i64>() as u64)
}

pub fn dot2(a: u64, b: u64, c: u64, flags: u32) -> u64 {
    let (a_signed, b_signed) = (flags & SIGNED != 0, flags & SIGNED_B != 0);
    let base = if flags & HIGH != 0 { 16 } else { 0 };
    let term =
        |index: u32| part(a, 16 * index, 16, a_signed) * part(b, base + 8 * index, 8, b_signed);
    c.wrapping_add((0..2).map(term).sum::<i64>() as u64)
}

#[cfg(test)]
mod tests;
