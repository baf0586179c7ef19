//! Binary numbers without limits, and the one place where they are rounded.

use std::cmp::Ordering;

use num_bigint::BigUint;

/// A number as formats have it: `digits * 2^exponent`, an infinity, or none.
#[derive(Clone, Debug)]
pub enum Number {
    Nan,
    Infinite {
        negative: bool,
    },
    Finite {
        negative: bool,
        digits: BigUint,
        exponent: i64,
    },
}

/// An interchange format: stored fraction bits and exponent bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    pub fraction: u32,
    pub exponent: u32,
}

pub const F16: Format = Format {
    fraction: 10,
    exponent: 5,
};
pub const BF16: Format = Format {
    fraction: 7,
    exponent: 8,
};
pub const F32: Format = Format {
    fraction: 23,
    exponent: 8,
};
pub const F64: Format = Format {
    fraction: 52,
    exponent: 11,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    Nearest,
    Zero,
    Down,
    Up,
}

pub const ROUNDINGS: [(&str, Rounding); 4] = [
    ("rn", Rounding::Nearest),
    ("rz", Rounding::Zero),
    ("rm", Rounding::Down),
    ("rp", Rounding::Up),
];

impl Format {
    pub fn bits(self) -> u32 {
        1 + self.exponent + self.fraction
    }

    fn bias(self) -> i64 {
        (1 << (self.exponent - 1)) - 1
    }

    pub fn sign(self, bits: u64) -> bool {
        bits >> (self.bits() - 1) & 1 != 0
    }

    fn exponent_field(self, bits: u64) -> u64 {
        bits >> self.fraction & ((1 << self.exponent) - 1)
    }

    pub fn is_nan(self, bits: u64) -> bool {
        matches!(self.read(bits), Number::Nan)
    }

    /// The value of `bits`.
    pub fn read(self, bits: u64) -> Number {
        let negative = self.sign(bits);
        let fraction = bits & ((1 << self.fraction) - 1);
        let field = self.exponent_field(bits);
        if field == (1 << self.exponent) - 1 {
            return match fraction {
                0 => Number::Infinite { negative },
                _ => Number::Nan,
            };
        }
        let hidden = u64::from(field != 0) << self.fraction;
        Number::Finite {
            negative,
            digits: BigUint::from(fraction | hidden),
            exponent: (field.max(1) as i64) - self.bias() - i64::from(self.fraction),
        }
    }

    /// Subnormal to zero, sign kept.
    pub fn flush(self, bits: u64) -> u64 {
        match self.exponent_field(bits) {
            0 => bits & 1 << (self.bits() - 1),
            _ => bits,
        }
    }

    /// `.sat`: into 0 to 1, NaN to 0.
    pub fn saturate(self, bits: u64) -> u64 {
        let one = (self.bias() as u64) << self.fraction;
        match self.is_nan(bits) || self.sign(bits) {
            true => 0,
            false => bits.min(one),
        }
    }

    /// `.relu`: negatives to 0.
    pub fn rectify(self, bits: u64) -> u64 {
        match !self.is_nan(bits) && self.sign(bits) {
            true => 0,
            false => bits,
        }
    }

    pub fn infinity(self) -> u64 {
        ((1 << self.exponent) - 1) << self.fraction
    }

    /// The bits of `number`, rounded.
    pub fn round(self, number: &Number, rounding: Rounding) -> u64 {
        let sign = |negative: bool| u64::from(negative) << (self.bits() - 1);
        let (negative, digits, exponent) = match number {
            Number::Nan => return self.infinity() | 1 << (self.fraction - 1),
            Number::Infinite { negative } => return sign(*negative) | self.infinity(),
            Number::Finite {
                negative,
                digits,
                exponent,
            } => (*negative, digits, *exponent),
        };
        // The exponent of the last place: that of the leading digit, but not below the subnormals'.
        let least = 1 - self.bias() - i64::from(self.fraction);
        let leading = exponent + digits.bits() as i64 - 1;
        let last = (leading - i64::from(self.fraction)).max(least);
        let whole = rounded(digits, exponent - last, rounding, negative);
        let whole = u64::try_from(whole).expect("it has a few digits");
        // Carries go into the exponent by themselves; a subnormal has the exponent of the least normal, less one.
        let field = if whole >> self.fraction == 0 {
            0
        } else {
            (last - least) as u64
        };
        let bits = (field << self.fraction) + whole;
        if bits < self.infinity() {
            return sign(negative) | bits;
        }
        let to_infinity = match rounding {
            Rounding::Nearest => true,
            Rounding::Zero => false,
            Rounding::Down => negative,
            Rounding::Up => !negative,
        };
        sign(negative) | (self.infinity() - u64::from(!to_infinity))
    }
}

/// `digits * 2^shift` as an integer, of a number with that sign.
pub fn rounded(digits: &BigUint, shift: i64, rounding: Rounding, negative: bool) -> BigUint {
    if shift >= 0 {
        return digits << shift as u64;
    }
    let away = -shift as u64;
    let kept = digits >> away;
    let rest = digits - (&kept << away);
    let half = BigUint::from(1u32) << (away - 1);
    let up = match rounding {
        Rounding::Nearest => rest > half || rest == half && kept.bit(0),
        Rounding::Zero => false,
        Rounding::Down => negative && rest > BigUint::ZERO,
        Rounding::Up => !negative && rest > BigUint::ZERO,
    };
    kept + u32::from(up)
}

pub fn is_zero(number: &Number) -> bool {
    matches!(number, Number::Finite { digits, .. } if *digits == BigUint::ZERO)
}

pub fn negated(number: Number) -> Number {
    match number {
        Number::Nan => Number::Nan,
        Number::Infinite { negative } => Number::Infinite {
            negative: !negative,
        },
        Number::Finite {
            negative,
            digits,
            exponent,
        } => Number::Finite {
            negative: !negative,
            digits,
            exponent,
        },
    }
}

fn is_negative(number: &Number) -> bool {
    match number {
        Number::Nan => false,
        Number::Infinite { negative } | Number::Finite { negative, .. } => *negative,
    }
}

/// The exact sum; a zero sum of unlike signs is negative only when rounding down.
pub fn add(a: &Number, b: &Number, rounding: Rounding) -> Number {
    let (
        Number::Finite {
            negative: a_negative,
            digits: a_digits,
            exponent: a_exponent,
        },
        Number::Finite {
            negative: b_negative,
            digits: b_digits,
            exponent: b_exponent,
        },
    ) = (a, b)
    else {
        return match (a, b) {
            (Number::Nan, _) | (_, Number::Nan) => Number::Nan,
            (Number::Infinite { negative: x }, Number::Infinite { negative: y }) if x != y => {
                Number::Nan
            }
            (Number::Infinite { .. }, _) => a.clone(),
            _ => b.clone(),
        };
    };
    let exponent = *a_exponent.min(b_exponent);
    let a_digits = a_digits << (a_exponent - exponent) as u64;
    let b_digits = b_digits << (b_exponent - exponent) as u64;
    let (negative, digits) = if a_negative == b_negative {
        (*a_negative, a_digits + b_digits)
    } else if a_digits == b_digits {
        (rounding == Rounding::Down, BigUint::ZERO)
    } else if a_digits > b_digits {
        (*a_negative, a_digits - b_digits)
    } else {
        (*b_negative, b_digits - a_digits)
    };
    Number::Finite {
        negative,
        digits,
        exponent,
    }
}

/// The order of two numbers, zeros being equal; none if one of them is NaN.
pub fn compare(a: &Number, b: &Number) -> Option<Ordering> {
    let difference = match (a, b) {
        (Number::Infinite { negative: x }, Number::Infinite { negative: y }) if x == y => {
            return Some(Ordering::Equal);
        }
        _ => add(a, &negated(b.clone()), Rounding::Nearest),
    };
    match difference {
        Number::Nan => None,
        _ if is_zero(&difference) => Some(Ordering::Equal),
        _ if is_negative(&difference) => Some(Ordering::Less),
        _ => Some(Ordering::Greater),
    }
}

pub fn multiply(a: &Number, b: &Number) -> Number {
    let negative = is_negative(a) != is_negative(b);
    match (a, b) {
        (Number::Nan, _) | (_, Number::Nan) => Number::Nan,
        (
            Number::Finite {
                digits: x,
                exponent: i,
                ..
            },
            Number::Finite {
                digits: y,
                exponent: j,
                ..
            },
        ) => Number::Finite {
            negative,
            digits: x * y,
            exponent: i + j,
        },
        _ if is_zero(a) || is_zero(b) => Number::Nan,
        _ => Number::Infinite { negative },
    }
}

/// The quotient with enough digits, the last of which is odd where more would follow.
pub fn divide(a: &Number, b: &Number) -> Number {
    const DIGITS: u64 = 160;
    let negative = is_negative(a) != is_negative(b);
    match (a, b) {
        (Number::Nan, _) | (_, Number::Nan) => Number::Nan,
        (Number::Infinite { .. }, Number::Infinite { .. }) => Number::Nan,
        (Number::Infinite { .. }, _) => Number::Infinite { negative },
        (_, Number::Infinite { .. }) => Number::Finite {
            negative,
            digits: BigUint::ZERO,
            exponent: 0,
        },
        _ if is_zero(b) && is_zero(a) => Number::Nan,
        _ if is_zero(b) => Number::Infinite { negative },
        (
            Number::Finite {
                digits: x,
                exponent: i,
                ..
            },
            Number::Finite {
                digits: y,
                exponent: j,
                ..
            },
        ) => {
            let x = x << DIGITS;
            let quotient = &x / y;
            let more = u32::from(&quotient * y != x);
            Number::Finite {
                negative,
                digits: (quotient << 1u32) + more,
                exponent: i - j - DIGITS as i64 - 1,
            }
        }
    }
}

pub fn square_root(a: &Number) -> Number {
    const DIGITS: i64 = 160;
    match a {
        _ if is_zero(a) => a.clone(),
        Number::Finite {
            negative: false,
            digits,
            exponent,
        } => {
            // An even exponent has a root.
            let shift = DIGITS + (exponent & 1);
            let square = digits << shift as u64;
            let root = square.sqrt();
            let more = u32::from(&root * &root != square);
            Number::Finite {
                negative: false,
                digits: (root << 1u32) + more,
                exponent: (exponent - shift) / 2 - 1,
            }
        }
        Number::Infinite { negative: false } => a.clone(),
        _ => Number::Nan,
    }
}

/// `value` as a number.
pub fn integer(value: i128) -> Number {
    Number::Finite {
        negative: value < 0,
        digits: BigUint::from(value.unsigned_abs()),
        exponent: 0,
    }
}
