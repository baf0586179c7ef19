//! The words of PTX.

/// A word of PTX.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Token<'t> {
    /// `add`, `%r1`, `$L__BB0_1`, `_`
    Ident(&'t str),
    /// A part behind a dot, without the dot: `global`, `x`, `shared::cta`
    Dot(&'t str),
    /// An integer literal.
    Integer(u64),
    /// `0f...`, as bits.
    Float32(u32),
    /// `0d...` or a decimal float, as bits.
    Float64(u64),
    /// A quoted string, without the quotes.
    Text(&'t str),
    /// One character.
    Punct(u8),
    /// A two-character operator of constant expressions.
    Operator(&'static str),
    /// End of the text.
    End,
}

impl Token<'_> {
    /// How the token is shown in messages.
    pub(crate) fn describe(&self) -> String {
        match self {
            Token::Ident(name) => format!("`{}`", shorten(name)),
            Token::Dot(name) => format!("`.{}`", shorten(name)),
            Token::Integer(value) => format!("`{value}`"),
            Token::Float32(bits) => format!("`0f{bits:08X}`"),
            Token::Float64(bits) => format!("`{}`", f64::from_bits(*bits)),
            Token::Text(_) => "a string".to_owned(),
            Token::Punct(byte) => format!("`{}`", char::from(*byte)),
            Token::Operator(operator) => format!("`{operator}`"),
            Token::End => "the end of the text".to_owned(),
        }
    }
}

/// `name`, cut to a length fit for a message.
pub(crate) fn shorten(name: &str) -> &str {
    name.get(..80).unwrap_or(name)
}
