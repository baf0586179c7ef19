//! The formatting of device-side `printf`.

/// Formats `format`, taking arguments of 4 or 8 bytes with `take` and strings with `string`.
/// Answers the text and how many arguments were used.
pub(super) fn format(
    format: &[u8],
    take: &mut dyn FnMut(u64) -> Option<u64>,
    string: &dyn Fn(u64) -> Option<Vec<u8>>,
) -> (Vec<u8>, i32) {
    let mut text = Vec::new();
    let mut count = 0;
    let mut rest = format;
    while let Some((&byte, tail)) = rest.split_first() {
        rest = tail;
        if byte != b'%' {
            text.push(byte);
        } else if let Some(tail) = rest.strip_prefix(b"%") {
            text.push(b'%');
            rest = tail;
        } else {
            let (spec, tail) = Spec::parse(rest, &mut |bytes| {
                count += 1;
                take(bytes)
            });
            rest = tail;
            count += spec.write(&mut text, take, string);
        }
    }
    (text, count)
}

/// Widths and precisions beyond this are cut: they only fill memory.
const WIDTH_MAX: usize = 4096;

#[derive(Debug, Default)]
struct Spec {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    /// Size in bytes of an integer argument.
    bytes: u64,
    /// Bits of it that count, for `%hd` and `%hhd`.
    bits: u32,
    conversion: u8,
}

impl Spec {
    fn parse<'f>(mut rest: &'f [u8], star: &mut dyn FnMut(u64) -> Option<u64>) -> (Self, &'f [u8]) {
        let mut spec = Self {
            bytes: 4,
            bits: 32,
            ..Self::default()
        };
        while let Some((&flag, tail)) = rest.split_first() {
            match flag {
                b'-' => spec.left = true,
                b'+' => spec.plus = true,
                b' ' => spec.space = true,
                b'#' => spec.alternate = true,
                b'0' => spec.zero = true,
                _ => break,
            }
            rest = tail;
        }
        let (width, tail) = number(rest, star);
        rest = tail;
        let width = width.unwrap_or(0);
        spec.left |= width < 0;
        spec.width = (width.unsigned_abs() as usize).min(WIDTH_MAX);
        if let Some(tail) = rest.strip_prefix(b".") {
            let (precision, tail) = number(tail, star);
            rest = tail;
            spec.precision = usize::try_from(precision.unwrap_or(0))
                .ok()
                .map(|value| value.min(WIDTH_MAX));
        }
        rest = spec.length(rest);
        if let Some((&conversion, tail)) = rest.split_first() {
            spec.conversion = conversion;
            rest = tail;
        }
        (spec, rest)
    }

    fn length<'f>(&mut self, mut rest: &'f [u8]) -> &'f [u8] {
        while let Some((&modifier, tail)) = rest.split_first() {
            match modifier {
                b'h' => self.bits = if self.bits == 16 { 8 } else { 16 },
                b'l' | b'j' | b'z' | b't' => (self.bytes, self.bits) = (8, 64),
                b'L' => {}
                _ => break,
            }
            rest = tail;
        }
        rest
    }

    /// Writes one conversion; 1 if it used an argument.
    fn write(
        &self,
        text: &mut Vec<u8>,
        take: &mut dyn FnMut(u64) -> Option<u64>,
        string: &dyn Fn(u64) -> Option<Vec<u8>>,
    ) -> i32 {
        let body = match self.conversion {
            b'd' | b'i' => take(self.bytes).map(|value| self.signed(value)),
            b'u' | b'x' | b'X' | b'o' => take(self.bytes).map(|value| self.unsigned(value)),
            b'c' => take(4).map(|value| (String::new(), vec![value as u8])),
            b'p' => take(8).map(|value| ("0x".to_owned(), format!("{value:x}").into_bytes())),
            b's' => take(8).map(|address| {
                let mut bytes = string(address).unwrap_or_else(|| b"(null)".to_vec());
                bytes.truncate(self.precision.unwrap_or(usize::MAX));
                (String::new(), bytes)
            }),
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
                take(8).map(|bits| self.float(f64::from_bits(bits)))
            }
            other => {
                text.push(b'%');
                text.extend((other != 0).then_some(other));
                return 0;
            }
        };
        if let Some((prefix, digits)) = body {
            self.pad(text, &prefix, &digits);
        }
        1
    }

    fn pad(&self, text: &mut Vec<u8>, prefix: &str, digits: &[u8]) {
        let fill = self.width.saturating_sub(prefix.len() + digits.len());
        let is_integer = matches!(self.conversion, b'd' | b'i' | b'u' | b'x' | b'X' | b'o');
        let numeric = is_integer && self.precision.is_none()
            || matches!(
                self.conversion,
                b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A'
            ) && digits.first().is_some_and(u8::is_ascii_digit);
        let zeros = self.zero && !self.left && numeric;
        if !self.left && !zeros {
            text.resize(text.len() + fill, b' ');
        }
        text.extend_from_slice(prefix.as_bytes());
        if zeros {
            text.resize(text.len() + fill, b'0');
        }
        text.extend_from_slice(digits);
        if self.left {
            text.resize(text.len() + fill, b' ');
        }
    }

    fn sign(&self, negative: bool) -> String {
        let sign = match () {
            () if negative => "-",
            () if self.plus => "+",
            () if self.space => " ",
            () => "",
        };
        sign.to_owned()
    }

    fn signed(&self, value: u64) -> (String, Vec<u8>) {
        let spare = 64 - self.bits;
        let value = (value << spare) as i64 >> spare;
        (
            self.sign(value < 0),
            self.digits(value.unsigned_abs().to_string()),
        )
    }

    fn unsigned(&self, value: u64) -> (String, Vec<u8>) {
        let spare = 64 - self.bits;
        let value = value << spare >> spare;
        let (prefix, digits) = match self.conversion {
            b'x' => ("0x", format!("{value:x}")),
            b'X' => ("0X", format!("{value:X}")),
            b'o' => ("0", format!("{value:o}")),
            _ => ("", value.to_string()),
        };
        let prefix = if self.alternate && value != 0 {
            prefix
        } else {
            ""
        };
        (prefix.to_owned(), self.digits(digits))
    }

    fn digits(&self, digits: String) -> Vec<u8> {
        match self.precision {
            Some(0) if digits == "0" => Vec::new(),
            Some(precision) => format!("{digits:0>precision$}").into_bytes(),
            None => digits.into_bytes(),
        }
    }

    fn float(&self, value: f64) -> (String, Vec<u8>) {
        let sign = self.sign(value.is_sign_negative());
        let magnitude = value.abs();
        let precision = self.precision.unwrap_or(6);
        let digits = match self.conversion.to_ascii_lowercase() {
            _ if magnitude.is_nan() => "nan".to_owned(),
            _ if magnitude.is_infinite() => "inf".to_owned(),
            b'f' => format!("{magnitude:.precision$}"),
            b'e' => exponential(magnitude, precision),
            b'g' => general(magnitude, precision.max(1), self.alternate),
            _ => hexadecimal(magnitude),
        };
        let digits = if self.conversion.is_ascii_uppercase() {
            digits.to_uppercase()
        } else {
            digits
        };
        (sign, digits.into_bytes())
    }
}

/// A decimal number or `*`.
fn number<'f>(rest: &'f [u8], star: &mut dyn FnMut(u64) -> Option<u64>) -> (Option<i32>, &'f [u8]) {
    if let Some(tail) = rest.strip_prefix(b"*") {
        return (star(4).map(|value| value as u32 as i32), tail);
    }
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let value = rest[..digits].iter().fold(0i32, |value, digit| {
        value
            .saturating_mul(10)
            .saturating_add(i32::from(digit - b'0'))
    });
    ((digits > 0).then_some(value), &rest[digits..])
}

/// C's `%e`: at least two exponent digits, always a sign.
fn exponential(value: f64, precision: usize) -> String {
    let text = format!("{value:.precision$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent),
    };
    format!("{mantissa}e{sign}{digits:0>2}")
}

/// C's `%g`: the shorter of `%e` and `%f` at `precision` significant digits, trailing zeros dropped.
fn general(value: f64, precision: usize, keep_zeros: bool) -> String {
    let scientific = exponential(value, precision - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "+00"));
    let power: i64 = exponent.parse().unwrap_or(0);
    let trim = |digits: &str| match digits.contains('.') && !keep_zeros {
        true => digits
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned(),
        false => digits.to_owned(),
    };
    if power < -4 || power >= precision as i64 {
        return format!("{}e{exponent}", trim(mantissa));
    }
    let decimals = (precision as i64 - 1 - power).max(0) as usize;
    trim(&format!("{value:.decimals$}"))
}

/// C's `%a` at full precision.
fn hexadecimal(value: f64) -> String {
    let bits = value.to_bits();
    let (exponent, fraction) = ((bits >> 52) as i64, bits & ((1 << 52) - 1));
    let (lead, power) = match exponent {
        0 if fraction == 0 => (0, 0),
        0 => (0, -1022),
        exponent => (1, exponent - 1023),
    };
    let digits = format!("{fraction:013x}");
    let digits = digits.trim_end_matches('0');
    let point = if digits.is_empty() { "" } else { "." };
    format!("0x{lead}{point}{digits}p{power:+}")
}

#[cfg(test)]
mod tests;
