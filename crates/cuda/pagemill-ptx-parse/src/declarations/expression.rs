//! Constant expressions: integers of 64 bits with C's operators and precedence, or a single float literal.

use crate::tokens::error::Parse;
use crate::tokens::parser::Parser;
use crate::tokens::token::Token;

/// A folded constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Constant {
    /// Two's complement; `unsigned` selects the kind of division, shift and comparison.
    Integer {
        value: u64,
        unsigned: bool,
    },
    Float32(u32),
    Float64(u64),
}

impl Constant {
    fn signed(value: i64) -> Self {
        Self::Integer {
            value: value as u64,
            unsigned: false,
        }
    }
}

/// Binding strength of the ternary operator's branches: everything.
const LOOSEST: u8 = 0;
/// Binding strength just above `+` and `-`: what an address offset is summed of.
const TERM: u8 = 10;

impl<'t> Parser<'t> {
    /// A whole constant expression.
    pub(crate) fn constant(&mut self) -> Parse<Constant> {
        self.nested(|parser| {
            let condition = parser.binary(LOOSEST)?;
            if !parser.take(b'?')? {
                return Ok(condition);
            }
            let condition = parser.integer_of(condition)?.0;
            let yes = parser.constant()?;
            parser.expect(b':')?;
            let no = parser.constant()?;
            Ok(if condition != 0 { yes } else { no })
        })
    }

    /// A constant expression that must be an integer.
    pub(crate) fn integer_constant(&mut self) -> Parse<u64> {
        let constant = self.constant()?;
        Ok(self.integer_of(constant)?.0)
    }

    /// Any number of `+ term` and `- term`, summed up; zero of them give 0.
    pub(crate) fn addend(&mut self) -> Parse<i64> {
        let mut sum = 0i64;
        loop {
            let negative = match self.token {
                Token::Punct(b'+') => false,
                Token::Punct(b'-') => true,
                _ => return Ok(sum),
            };
            self.advance()?;
            let term = self.binary(TERM)?;
            let term = self.integer_of(term)?.0 as i64;
            sum = if negative {
                sum.wrapping_sub(term)
            } else {
                sum.wrapping_add(term)
            };
        }
    }

    fn binary(&mut self, weakest: u8) -> Parse<Constant> {
        let mut left = self.unary()?;
        while let Some((operator, strength)) = binary_operator(&self.token) {
            if strength < weakest {
                break;
            }
            self.advance()?;
            let right = self.nested(|parser| parser.binary(strength + 1))?;
            let (left_value, left_unsigned) = self.integer_of(left)?;
            let (right_value, right_unsigned) = self.integer_of(right)?;
            let unsigned = left_unsigned || right_unsigned;
            let Some(value) = apply(operator, left_value, right_value, unsigned) else {
                return self.fail("division by zero in a constant expression");
            };
            left = Constant::Integer {
                value,
                unsigned: unsigned && strength >= 8,
            };
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parse<Constant> {
        match self.token {
            Token::Punct(operator @ (b'-' | b'+' | b'!' | b'~')) => {
                self.advance()?;
                let operand = self.nested(Self::unary)?;
                self.apply_unary(operator, operand)
            }
            Token::Punct(b'(') => {
                self.advance()?;
                if let Token::Dot(cast @ ("s64" | "u64")) = self.token {
                    self.advance()?;
                    self.expect(b')')?;
                    let operand = self.nested(Self::unary)?;
                    let (value, _) = self.integer_of(operand)?;
                    return Ok(Constant::Integer {
                        value,
                        unsigned: cast == "u64",
                    });
                }
                let inner = self.constant()?;
                self.expect(b')')?;
                Ok(inner)
            }
            Token::Integer(value) => {
                self.advance()?;
                Ok(Constant::Integer {
                    value,
                    unsigned: value > i64::MAX as u64,
                })
            }
            Token::Float32(bits) => {
                self.advance()?;
                Ok(Constant::Float32(bits))
            }
            Token::Float64(bits) => {
                self.advance()?;
                Ok(Constant::Float64(bits))
            }
            Token::Ident("WARP_SZ") => {
                self.advance()?;
                Ok(Constant::signed(32))
            }
            _ => self.unexpected("a number"),
        }
    }

    fn apply_unary(&self, operator: u8, operand: Constant) -> Parse<Constant> {
        Ok(match (operator, operand) {
            (b'+', operand) => operand,
            (b'-', Constant::Float32(bits)) => Constant::Float32(bits ^ 1 << 31),
            (b'-', Constant::Float64(bits)) => Constant::Float64(bits ^ 1 << 63),
            (b'-', Constant::Integer { value, unsigned }) => Constant::Integer {
                value: value.wrapping_neg(),
                unsigned: unsigned && value != 1 << 63,
            },
            (b'~', Constant::Integer { value, unsigned }) => Constant::Integer {
                value: !value,
                unsigned,
            },
            (b'!', Constant::Integer { value, .. }) => Constant::signed((value == 0).into()),
            _ => return self.fail("this operator takes an integer"),
        })
    }

    fn integer_of(&self, constant: Constant) -> Parse<(u64, bool)> {
        match constant {
            Constant::Integer { value, unsigned } => Ok((value, unsigned)),
            _ => self.fail("an integer is needed, but this is a float"),
        }
    }
}

/// The operator a token stands for and how strongly it binds.
fn binary_operator(token: &Token<'_>) -> Option<(&'static str, u8)> {
    Some(match token {
        Token::Operator("||") => ("||", 1),
        Token::Operator("&&") => ("&&", 2),
        Token::Punct(b'|') => ("|", 3),
        Token::Punct(b'^') => ("^", 4),
        Token::Punct(b'&') => ("&", 5),
        Token::Operator(operator @ ("==" | "!=")) => (*operator, 6),
        Token::Operator(operator @ ("<=" | ">=")) => (*operator, 7),
        Token::Punct(b'<') => ("<", 7),
        Token::Punct(b'>') => (">", 7),
        Token::Operator(operator @ ("<<" | ">>")) => (*operator, 8),
        Token::Punct(b'+') => ("+", 9),
        Token::Punct(b'-') => ("-", 9),
        Token::Punct(b'*') => ("*", 10),
        Token::Punct(b'/') => ("/", 10),
        Token::Punct(b'%') => ("%", 10),
        _ => return None,
    })
}

fn apply(operator: &str, left: u64, right: u64, unsigned: bool) -> Option<u64> {
    let (signed_left, signed_right) = (left as i64, right as i64);
    let less = if unsigned {
        left < right
    } else {
        signed_left < signed_right
    };
    Some(match operator {
        "||" => (left != 0 || right != 0).into(),
        "&&" => (left != 0 && right != 0).into(),
        "|" => left | right,
        "^" => left ^ right,
        "&" => left & right,
        "==" => (left == right).into(),
        "!=" => (left != right).into(),
        "<" => less.into(),
        ">=" => (!less).into(),
        ">" => (!less && left != right).into(),
        "<=" => (less || left == right).into(),
        "<<" => left
            .checked_shl(right.try_into().unwrap_or(64))
            .unwrap_or(0),
        ">>" if unsigned => left
            .checked_shr(right.try_into().unwrap_or(64))
            .unwrap_or(0),
        ">>" => (signed_left >> right.min(63)) as u64,
        "+" => left.wrapping_add(right),
        "-" => left.wrapping_sub(right),
        "*" => left.wrapping_mul(right),
        "/" | "%" if right == 0 => return None,
        "/" if unsigned => left / right,
        "%" if unsigned => left % right,
        "/" => signed_left.wrapping_div(signed_right) as u64,
        _ => signed_left.wrapping_rem(signed_right) as u64,
    })
}

#[cfg(test)]
mod tests;
