//! Numeric literals: `123`, `0x7fU`, `017`, `0b11`, `1.5e3`, `0f3F800000`, `0d3FF0000000000000`.

use crate::tokens::token::Token;

/// Reads the literal at the start of `text`, which begins with a digit: the token and its length in bytes.
pub(crate) fn scan(text: &str) -> Result<(Token<'_>, usize), String> {
    let bytes = text.as_bytes();
    match (bytes[0], bytes.get(1)) {
        (b'0', Some(b'f' | b'F')) => {
            bit_pattern(text, 8).map(|bits| (Token::Float32(bits as u32), 10))
        }
        (b'0', Some(b'd' | b'D')) => bit_pattern(text, 16).map(|bits| (Token::Float64(bits), 18)),
        (b'0', Some(b'x' | b'X')) => integer(text, 2, 16),
        (b'0', Some(b'b' | b'B')) => integer(text, 2, 2),
        _ if is_decimal_float(bytes) => decimal_float(text),
        (b'0', Some(b'0'..=b'9')) => integer(text, 1, 8),
        _ => integer(text, 0, 10),
    }
}

fn bit_pattern(text: &str, digits: usize) -> Result<u64, String> {
    let end = 2 + text[2..]
        .bytes()
        .take_while(u8::is_ascii_alphanumeric)
        .count();
    let digits_text = &text[2..end];
    let bits = u64::from_str_radix(digits_text, 16).ok();
    bits.filter(|_| digits_text.len() == digits).ok_or_else(|| {
        format!(
            "float literal `{}` needs exactly {digits} hexadecimal digits",
            shorten(&text[..end])
        )
    })
}

fn integer(text: &str, prefix: usize, radix: u32) -> Result<(Token<'_>, usize), String> {
    let end = prefix
        + text[prefix..]
            .bytes()
            .take_while(u8::is_ascii_alphanumeric)
            .count();
    let digits = text[prefix..end].trim_end_matches(['u', 'U']);
    let suffix = end - prefix - digits.len();
    match u64::from_str_radix(digits, radix) {
        Ok(value) if suffix <= 1 => Ok((Token::Integer(value), end)),
        _ => Err(format!(
            "`{}` is no integer literal of at most 64 bits",
            shorten(&text[..end])
        )),
    }
}

fn is_decimal_float(bytes: &[u8]) -> bool {
    let digits = bytes.iter().take_while(|b| b.is_ascii_digit()).count();
    match bytes.get(digits) {
        Some(b'.') => bytes
            .get(digits + 1)
            .is_none_or(|b| !b.is_ascii_alphabetic() || matches!(b, b'e' | b'E')),
        Some(b'e' | b'E') => true,
        _ => false,
    }
}

fn decimal_float(text: &str) -> Result<(Token<'_>, usize), String> {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        bytes[from..]
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .count()
    };
    let mut end = digits(0);
    if bytes.get(end) == Some(&b'.') {
        end += 1;
        end += digits(end);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        end += 1;
        if matches!(bytes.get(end), Some(b'+' | b'-')) {
            end += 1;
        }
        end += digits(end);
    }
    match text[..end].parse::<f64>() {
        Ok(value) => Ok((Token::Float64(value.to_bits()), end)),
        Err(_) => Err(format!("`{}` is no decimal float", shorten(&text[..end]))),
    }
}

fn shorten(text: &str) -> &str {
    &text[..text.len().min(40)]
}

#[cfg(test)]
mod tests;
