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
mod tests {
    use super::*;

    const CALLER: &str = ".version 7.0\n.target sm_75\n.address_size 64\n\n.extern .func (.param .b32 r) twice\n(\n  .param .b32 a\n)\n;\n.visible .entry main_kernel()\n{\n  ret;\n}\n";
    const CALLEE: &str = ".version 8.3\n.target sm_80\n.address_size 64\n.visible .func (.param .b32 r) twice(.param .b32 a)\n{\n  ret;\n}\n";

    fn source(body: &str) -> String {
        format!(".version 7.0\n.target sm_75\n.address_size 64\n{body}\n")
    }

    #[test]
    fn one_source_stays_as_it_is() {
        assert_eq!(link(&[CALLER.to_owned()]), CALLER);
    }

    #[test]
    fn the_newest_header_stands_once_and_declarations_of_definitions_go() {
        let linked = link(&[CALLER.to_owned(), CALLEE.to_owned()]);
        assert_eq!(linked.matches(".version").count(), 1, "{linked}");
        assert!(
            linked.starts_with(".version 8.3\n.target sm_80\n.address_size 64\n"),
            "{linked}"
        );
        assert!(!linked.contains(".extern"), "{linked}");
        assert!(
            linked.contains("main_kernel()") && linked.contains(".visible .func"),
            "{linked}"
        );
    }

    #[test]
    fn declarations_without_definition_stay() {
        let other = source(
            ".visible .func (.param .b32 r) other(.param .b32 a) { ret; }\n.visible .global .align 4 .b32 r;",
        );
        assert!(link(&[CALLER.to_owned(), other]).contains(".extern"));
    }

    #[test]
    fn names_of_one_text_do_not_meet_those_of_another() {
        let unit = |value: u32, name: &str| {
            source(&format!(
                "// comment {{ with; braces\n.global .align 4 .b8 $str[2] = {{{value}, 0}};\n\
                 .func helper() {{ ret; }}\n.visible .func {name}() {{ .reg .b64 %r; mov.u64 %r, $str; call helper; ret; }}"
            ))
        };
        let linked = link(&[unit(1, "first"), unit(2, "second")]);
        let parsed = pagemill_ptx::parse::parse("linked", &linked);
        let parsed = parsed.unwrap_or_else(|error| panic!("{error}\n{linked}"));
        let function = |name: &str| {
            let found = parsed.functions.iter().find(|own| own.name == name);
            found.unwrap_or_else(|| panic!("{name} in {linked}"))
        };
        let uses = |name: &str| format!("{:?}", function(name).body);
        assert!(uses("first").contains("\"$str\"") && uses("first").contains("\"helper\""));
        assert!(uses("second").contains("$str$unit1") && uses("second").contains("helper$unit1"));
        let value = |name: &str| {
            let own = parsed.variables.iter().find(|own| own.name == name);
            own.and_then(|own| own.init.clone())
        };
        assert_eq!(value("$str"), Some(vec![1, 0]));
        assert_eq!(value("$str$unit1"), Some(vec![2, 0]));
    }

    #[test]
    fn of_weak_definitions_one_stays_and_a_strong_one_wins() {
        let weak = |value: u32| {
            source(&format!(
                ".weak .func f() {{ .reg .b32 %r; mov.b32 %r, {value}; ret; }}\n.weak .global .align 4 .u32 v = {value};"
            ))
        };
        let strong = source(
            ".visible .func f() { .reg .b32 %r; mov.b32 %r, 9; ret; }\n.visible .global .align 4 .u32 v = 9;",
        );
        for (sources, wanted) in [
            (vec![weak(1), weak(2)], 1),
            (vec![weak(1), strong.clone(), weak(3)], 9),
        ] {
            let linked = link(&sources);
            let parsed = pagemill_ptx::parse::parse("linked", &linked);
            let parsed = parsed.unwrap_or_else(|error| panic!("{error}\n{linked}"));
            assert_eq!(parsed.variables[0].init, Some(vec![wanted, 0, 0, 0]));
            let body = format!("{:?}", parsed.functions[0].body);
            assert!(body.contains(&format!("Integer({wanted})")), "{body}");
        }
        let twice = link(&[strong.clone(), strong]);
        assert!(pagemill_ptx::parse::parse("linked", &twice).is_err());
    }
}
