//! Several PTX texts as one: the newest header once, the bodies behind it.
//!
//! What a text keeps to itself gets a name of its own where another text has the same; of a weak definition one stays; a
//! declaration of what another text defines goes.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// What every text begins with.
const HEADERS: [&str; 3] = [".version", ".target", ".address_size"];

/// Links `sources` into one text. A single source stays as it is.
pub fn link(sources: &[String]) -> String {
    if let [only] = sources {
        return only.clone();
    }
    let texts: Vec<String> = sources.iter().map(|source| plain(source)).collect();
    let units: Vec<Vec<Statement<'_>>> = texts.iter().map(|text| statements(text)).collect();
    let mut linked = header(&texts);
    let chosen = chosen_definitions(&units);
    let shared: BTreeSet<&str> = chosen.keys().copied().collect();
    let mut own_names: BTreeSet<&str> = shared.clone();
    for (number, unit) in units.iter().enumerate() {
        let locals = unit.iter().filter(|statement| statement.is_local());
        let locals: BTreeSet<&str> = locals.filter_map(|statement| statement.name).collect();
        let taken = locals.iter().filter(|name| own_names.contains(*name));
        let renamed: BTreeMap<&str, String> = taken
            .map(|&name| (name, format!("{name}$unit{number}")))
            .collect();
        own_names.extend(&locals);
        for (place, statement) in unit.iter().enumerate() {
            if statement.stays((number, place), &chosen) {
                linked += &rename(statement.text, &renamed);
            }
        }
        linked.push('\n');
    }
    linked
}

/// The header of the newest text.
fn header(texts: &[String]) -> String {
    let newest = texts.iter().max_by_key(|text| version(text));
    let lines = newest.iter().flat_map(|text| text.lines());
    let header = lines.filter(|line| {
        let begins = |header: &str| line.trim_start().starts_with(header);
        HEADERS.iter().any(|header| begins(header))
    });
    header.flat_map(|line| [line, "\n"]).collect()
}

/// Major and minor version of the instruction set.
fn version(text: &str) -> (u32, u32) {
    let mut lines = text.lines();
    let line = lines.find_map(|line| line.trim_start().strip_prefix(".version"));
    let number = line
        .and_then(|line| line.split_whitespace().next())
        .unwrap_or("0.0");
    let (major, minor) = number.split_once('.').unwrap_or((number, "0"));
    (major.parse().unwrap_or(0), minor.parse().unwrap_or(0))
}

/// The text without comments, whose braces and semicolons mean nothing.
fn plain(source: &str) -> String {
    let mut plain = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(at) = rest.find(['"', '/']) {
        let (before, behind) = rest.split_at(at);
        plain.push_str(before);
        let whole = match behind.as_bytes() {
            [b'"', ..] => behind[1..].find('"').map_or(behind.len(), |end| end + 2),
            [b'/', b'/', ..] => behind.find('\n').unwrap_or(behind.len()),
            [b'/', b'*', ..] => behind.find("*/").map_or(behind.len(), |end| end + 2),
            _ => 1,
        };
        let is_comment = behind.starts_with("//") || behind.starts_with("/*");
        match is_comment {
            true => plain.push(' '),
            false => plain.push_str(&behind[..whole]),
        }
        rest = &behind[whole..];
    }
    plain + rest
}

/// Who may use a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Linkage {
    Local,
    Extern,
    /// One of several definitions is enough.
    Weak,
    Visible,
}

/// A declaration or definition at the outermost level.
struct Statement<'t> {
    text: &'t str,
    linkage: Linkage,
    /// Of a function or variable.
    name: Option<&'t str>,
    is_function: bool,
    /// Whether it ends with the body of a function.
    has_body: bool,
}

impl<'t> Statement<'t> {
    fn new(text: &'t str) -> Self {
        let mut statement = Self {
            text,
            linkage: Linkage::Local,
            name: None,
            is_function: false,
            has_body: text.ends_with('}'),
        };
        let mut rest = text.trim_start();
        while let Some((directive, behind)) = directive(rest) {
            match directive {
                "extern" => statement.linkage = Linkage::Extern,
                "visible" => statement.linkage = Linkage::Visible,
                "weak" | "common" => statement.linkage = Linkage::Weak,
                "func" | "entry" => {
                    statement.is_function = true;
                    statement.name = words(without_group(behind)).next();
                    return statement;
                }
                "global" | "const" | "shared" => {
                    let end = behind.find(['=', ';', '[']).unwrap_or(behind.len());
                    statement.name = variable_name(&behind[..end]);
                    return statement;
                }
                _ => return statement,
            }
            rest = behind.trim_start();
        }
        statement
    }

    fn is_local(&self) -> bool {
        self.linkage == Linkage::Local
    }

    fn is_definition(&self) -> bool {
        self.linkage >= Linkage::Weak && (self.has_body || !self.is_function)
    }

    /// Whether it is part of the linked text, as statement `place`: text and number in it.
    fn stays(&self, place: (usize, usize), chosen: &BTreeMap<&str, (Linkage, Place)>) -> bool {
        let Some(&(_, definition)) = self.name.and_then(|name| chosen.get(name)) else {
            return true;
        };
        match self.linkage {
            Linkage::Extern => false,
            // Of two strong definitions both stay: the program is wrong, and loading it says so.
            Linkage::Weak if self.is_definition() => definition == place,
            _ => true,
        }
    }
}

/// Text and number in it.
type Place = (usize, usize);

/// Which definition of each name counts: a strong one before a weak one, then the first.
fn chosen_definitions<'t>(units: &[Vec<Statement<'t>>]) -> BTreeMap<&'t str, (Linkage, Place)> {
    let mut chosen: BTreeMap<&str, (Linkage, Place)> = BTreeMap::new();
    for (number, unit) in units.iter().enumerate() {
        for (place, statement) in unit.iter().enumerate() {
            let Some(name) = statement.name.filter(|_| statement.is_definition()) else {
                continue;
            };
            let found = (statement.linkage, (number, place));
            let known = chosen.entry(name).or_insert(found);
            if known.0 < statement.linkage {
                *known = found;
            }
        }
    }
    chosen
}

/// The directive that `text` begins with, and what is behind it.
fn directive(text: &str) -> Option<(&str, &str)> {
    let behind = text.strip_prefix('.')?;
    let end = behind
        .find(|character| !is_word(character))
        .unwrap_or(behind.len());
    Some(behind.split_at(end))
}

/// What is behind `(...)`, if `text` begins with that: the results of a function.
fn without_group(text: &str) -> &str {
    let text = text.trim_start();
    match text.strip_prefix('(') {
        Some(inside) => inside.split_once(')').map_or("", |(_, behind)| behind),
        None => text,
    }
}

/// The name in `.attribute(.managed) .align 4 .b8 name`.
fn variable_name(head: &str) -> Option<&str> {
    let last = words(head).last()?;
    let is_directive = head[..head.rfind(last)?].ends_with('.');
    (!is_directive).then_some(last)
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || "_$%".contains(character)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character| !is_word(character))
        .filter(|word| !word.is_empty())
}

/// The text without its header, in pieces: declarations that end with a semicolon, bodies of functions in braces.
fn statements(text: &str) -> Vec<Statement<'_>> {
    let mut rest = text;
    if let Some(at) = text.find(".address_size") {
        rest = text[at..].split_once('\n').map_or("", |(_, behind)| behind);
    }
    let mut pieces = Vec::new();
    let (mut depth, mut start, mut in_text) = (0u32, 0, false);
    for (at, character) in rest.char_indices() {
        match character {
            '"' => in_text = !in_text,
            _ if in_text => {}
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        // Behind the braces of an initial value comes a semicolon.
        let ends = match character {
            ';' => true,
            '}' => !rest[at + 1..].trim_start().starts_with([';', ',']),
            _ => false,
        };
        if depth == 0 && ends && !in_text {
            pieces.push(Statement::new(&rest[start..=at]));
            start = at + 1;
        }
    }
    pieces.push(Statement::new(&rest[start..]));
    pieces
}

/// `text` with other names for some words.
fn rename<'t>(text: &'t str, renamed: &BTreeMap<&str, String>) -> Cow<'t, str> {
    if renamed.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_word) {
        let (before, behind) = rest.split_at(start);
        let end = behind.find(|character| !is_word(character));
        let (word, after) = behind.split_at(end.unwrap_or(behind.len()));
        out += before;
        let is_directive = before.ends_with('.');
        match renamed.get(word).filter(|_| !is_directive) {
            Some(name) => out += name,
            None => out += word,
        }
        rest = after;
    }
    Cow::Owned(out + rest)
}

#[cfg(test)]
mod tests;
