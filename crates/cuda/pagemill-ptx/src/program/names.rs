//! Names of kernels and lists of numbers as people write them.

/// The name as it is in the source, without parameters; C names stay as they are.
pub fn readable_name(mangled: &str) -> String {
    let options = cpp_demangle::DemangleOptions::new()
        .no_params()
        .no_return_type();
    cpp_demangle::Symbol::new(mangled)
        .ok()
        .and_then(|symbol| symbol.demangle_with_options(&options).ok())
        .unwrap_or_else(|| mangled.to_owned())
}

/// `text` with the mangled names in it made readable.
pub fn readable_text(text: &str) -> String {
    let is_word = |character: char| character.is_ascii_alphanumeric() || "_$.".contains(character);
    let mut out = String::with_capacity(text.len());
    for piece in text.split_inclusive(|character| !is_word(character)) {
        let word = piece.trim_end_matches(|character| !is_word(character));
        // A full stop may end the sentence rather than the name.
        let name = word.trim_end_matches('.');
        if name.starts_with("_Z") {
            out += &readable_name(name);
        } else {
            out += name;
        }
        out += &piece[name.len()..];
    }
    out
}

/// Sizes or places in each dimension, as people write them: `(1, 2, 3)`.
pub fn readable_list<T: ToString>(numbers: &[T]) -> String {
    let words: Vec<String> = numbers.iter().map(T::to_string).collect();
    format!("({})", words.join(", "))
}

#[cfg(test)]
mod tests;
