//! Functions of the device runtime that are PTX themselves.

use std::borrow::Cow;

/// Their text.
const GRIDS: &str = include_str!("grids.ptx");

/// What follows the name of a function that programs call.
const SUFFIX: &str = "$built_in";

/// `text` with the functions behind it, if it names one.
pub fn with_built_in(text: &str) -> Cow<'_, str> {
    match text.contains("cudaCG") {
        true => Cow::Owned([text, GRIDS].concat()),
        false => Cow::Borrowed(text),
    }
}

/// The name of the function that takes the place of `name`, if there is one.
pub(crate) fn built_in(name: &str) -> Option<String> {
    let own = format!("{name}{SUFFIX}");
    (name.starts_with("cudaCG") && GRIDS.contains(&format!(" {own}("))).then_some(own)
}

#[cfg(test)]
mod tests;
