//! Writes SVG: elements, attributes and text, everything escaped.

use std::fmt::{Display, Write as _};

/// An SVG image being written, for use inside HTML, which knows its namespace.
pub(super) struct Svg {
    out: String,
    open: Vec<&'static str>,
}

/// The attributes of an element.
pub(super) type Attributes<'a> = &'a [(&'a str, &'a dyn Display)];

/// A coordinate with at most two decimals.
pub(super) struct Px(pub f64);

impl Display for Px {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let rounded = (self.0 * 100.0).round() / 100.0;
        // Minus zero would be written as "-0".
        write!(f, "{}", rounded + 0.0)
    }
}

/// Text that cannot end the element or attribute it stands in, without characters XML forbids.
pub(super) struct Escaped<'a>(pub &'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\t' | '\n' | '\r' => f.write_char(' ')?,
                c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                    f.write_char('\u{fffd}')?;
                }
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

impl Svg {
    /// An image of `width` times `height` pixels; `label` is what a screen reader says.
    pub fn new(width: f64, height: f64, label: &str) -> Self {
        let mut svg = Self {
            out: String::new(),
            open: Vec::new(),
        };
        let view_box = format!("0 0 {} {}", Px(width), Px(height));
        svg.open(
            "svg",
            &[
                ("viewBox", &view_box),
                ("width", &Px(width)),
                ("height", &Px(height)),
                ("role", &"img"),
                ("aria-label", &label),
                ("class", &"plot"),
            ],
        );
        svg
    }

    /// Begins an element that holds others.
    pub fn open(&mut self, name: &'static str, attributes: Attributes<'_>) {
        self.tag(name, attributes);
        self.out.push('>');
        self.open.push(name);
    }

    /// Ends the element begun last.
    pub fn close(&mut self) {
        if let Some(name) = self.open.pop() {
            let _ = write!(self.out, "</{name}>");
        }
    }

    /// An element that holds nothing.
    pub fn leaf(&mut self, name: &'static str, attributes: Attributes<'_>) {
        self.tag(name, attributes);
        self.out.push_str("/>");
    }

    /// An element that holds text.
    pub fn text(&mut self, name: &'static str, attributes: Attributes<'_>, text: &str) {
        self.tag(name, attributes);
        let _ = write!(self.out, ">{}</{name}>", Escaped(text));
    }

    /// The finished image.
    pub fn finish(mut self) -> String {
        while !self.open.is_empty() {
            self.close();
        }
        self.out
    }

    fn tag(&mut self, name: &str, attributes: Attributes<'_>) {
        let _ = write!(self.out, "<{name}");
        for (key, value) in attributes {
            let value = value.to_string();
            let _ = write!(self.out, " {key}=\"{}\"", Escaped(&value));
        }
    }
}
