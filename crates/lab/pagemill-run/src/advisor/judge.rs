//! Whether two runs have the same results, but for what changes from run to run of the unchanged program.

use std::collections::BTreeMap;

/// Stands for a number in the form of a line. No program prints it in a text.
const NUMBER: char = '\0';
/// Kinds of ignored output that are named.
const NAMED_MAX: usize = 5;
/// Characters of a line that are shown.
const SHOWN_MAX: usize = 60;

/// What the unchanged program prints in one run or more.
#[derive(Debug)]
pub struct Judge<'a> {
    ignored: &'a [String],
    runs: Vec<Vec<Line>>,
}

/// A line of output: its text with a mark for each number, and the numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    number: usize,
    form: String,
    values: Vec<String>,
}

/// The lines of one form.
type Group<'a> = Vec<&'a Line>;

impl<'a> Judge<'a> {
    /// Lines with one of the `ignored` texts count for nothing.
    pub fn new(first: &[u8], ignored: &'a [String]) -> Self {
        let runs = vec![read(first, ignored)];
        Self { ignored, runs }
    }

    /// One more run of the unchanged program printed `output`.
    pub fn learn(&mut self, output: &[u8]) {
        self.runs.push(read(output, self.ignored));
    }

    /// How many runs of the unchanged program it has seen.
    pub fn runs(&self) -> usize {
        self.runs.len()
    }

    /// The first line in which `output` differs from what the unchanged program always prints, from 1; `None` if there is none.
    pub fn difference(&self, output: &[u8]) -> Option<usize> {
        let new = read(output, self.ignored);
        let (runs, groups) = (self.groups(), by_form(&new));
        let is_loose = runs.iter().any(|(_, runs)| !is_counted(runs));
        let known = runs.iter().filter_map(|(form, runs)| {
            let own = groups.get(form).map_or(&[][..], Vec::as_slice);
            differs(runs, own)
        });
        let is_known = |line: &&Line| runs.iter().any(|(form, _)| *form == line.form);
        let unknown = new.iter().find(|line| !is_loose && !is_known(line));
        let first = known.chain(unknown.map(|line| line.number)).min();
        first.or_else(|| {
            let mut pairs = self.runs[0].iter().zip(&new);
            let moved = pairs.find(|(one, other)| one.form != other.form);
            moved
                .filter(|_| self.is_ordered())
                .map(|(_, other)| other.number)
        })
    }

    /// Whether the unchanged program always prints anything that tells right from wrong: a line of words, or a number.
    pub fn has_results(&self) -> bool {
        self.groups().iter().any(|(form, runs)| {
            let is_text = !form.contains(NUMBER) && !form.trim().is_empty();
            let mut columns = 0..columns(runs);
            is_counted(runs) && (is_text || columns.any(|at| is_steady(runs, at)))
        })
    }

    /// What is ignored because it differs between runs of the unchanged program, in words.
    pub fn varies(&self) -> Vec<String> {
        let mut found: Vec<(usize, String)> = Vec::new();
        for (form, runs) in self.groups() {
            let Some(first) = runs.iter().find_map(|run| run.first()) else {
                continue;
            };
            let shown = |is_shown: &dyn Fn(usize) -> bool| shown(first, is_shown);
            if !is_counted(&runs) {
                found.push((
                    first.number,
                    format!("lines like \"{}\"", shown(&|_| !form.contains(NUMBER))),
                ));
            } else if (0..columns(&runs)).any(|at| !is_steady(&runs, at)) {
                let text = shown(&|at| is_steady(&runs, at));
                found.push((
                    first.number,
                    format!("# in line {}, \"{text}\"", first.number),
                ));
            }
        }
        found.sort();
        let more = found.len().saturating_sub(NAMED_MAX);
        let mut named: Vec<String> = found
            .into_iter()
            .take(NAMED_MAX)
            .map(|(_, text)| text)
            .collect();
        if more > 0 {
            named.push(format!("{more} more"));
        }
        if !self.is_ordered() {
            named.push("the order of lines".to_owned());
        }
        named
    }

    /// Whether all runs print their lines in the same order.
    fn is_ordered(&self) -> bool {
        let forms = |run: &[Line]| run.iter().map(|line| line.form.clone()).collect::<Vec<_>>();
        let first = forms(&self.runs[0]);
        self.runs.iter().all(|run| forms(run) == first)
    }

    /// Every form, with its lines in each run.
    fn groups(&self) -> Vec<(&str, Vec<Group<'_>>)> {
        let runs: Vec<_> = self.runs.iter().map(|run| by_form(run)).collect();
        let forms: BTreeMap<&str, ()> = runs
            .iter()
            .flat_map(|run| run.keys().map(|&form| (form, ())))
            .collect();
        let of_form = |form: &str| {
            runs.iter()
                .map(|run| run.get(form).cloned().unwrap_or_default())
                .collect()
        };
        forms
            .into_keys()
            .map(|form| (form, of_form(form)))
            .collect()
    }
}

/// The first line in which `new` differs from what all `runs` have of its form.
fn differs(runs: &[Group<'_>], new: &[&Line]) -> Option<usize> {
    let first = runs[0].first().map(|line| line.number);
    if !is_counted(runs) {
        return None;
    }
    if new.len() != runs[0].len() {
        return new.get(runs[0].len()).map(|line| line.number).or(first);
    }
    (0..columns(runs)).find_map(|at| {
        let (expected, found) = (values(&runs[0], at), values(new, at));
        if runs.iter().all(|run| values(run, at) == expected) {
            let mut pairs = expected.iter().zip(&found);
            return pairs
                .position(|(one, other)| one != other)
                .map(|place| new[place].number);
        }
        let is_wrong = is_steady(runs, at) && sorted(expected) != sorted(found);
        first.filter(|_| is_wrong)
    })
}

/// Whether every run has as many lines of the form.
fn is_counted(runs: &[Group<'_>]) -> bool {
    runs.iter().all(|run| run.len() == runs[0].len())
}

fn columns(runs: &[Group<'_>]) -> usize {
    runs[0].first().map_or(0, |line| line.values.len())
}

/// Whether every run has the same numbers in a place of the form, in any order.
fn is_steady(runs: &[Group<'_>], at: usize) -> bool {
    let first = sorted(values(&runs[0], at));
    runs.iter().all(|run| sorted(values(run, at)) == first)
}

fn values<'a>(lines: &[&'a Line], at: usize) -> Vec<&'a str> {
    let value = |line: &&'a Line| line.values.get(at).map_or("", String::as_str);
    lines.iter().map(value).collect()
}

fn sorted(mut values: Vec<&str>) -> Vec<&str> {
    values.sort_unstable();
    values
}

fn by_form(lines: &[Line]) -> BTreeMap<&str, Group<'_>> {
    let mut groups: BTreeMap<&str, Group<'_>> = BTreeMap::new();
    for line in lines {
        groups.entry(&line.form).or_default().push(line);
    }
    groups
}

/// A line as people know it, with `#` for the numbers that are not shown.
fn shown(line: &Line, is_shown: &dyn Fn(usize) -> bool) -> String {
    let mut values = line.values.iter().enumerate();
    let text: String = line
        .form
        .chars()
        .map(|letter| match (letter, letter == NUMBER) {
            (_, true) => values
                .next()
                .filter(|(at, _)| is_shown(*at))
                .map_or("#".to_owned(), |(_, value)| value.clone()),
            (letter, false) => letter.to_string(),
        })
        .collect();
    pagemill_report::shorten(text.trim(), SHOWN_MAX)
}

fn read(output: &[u8], ignored: &[String]) -> Vec<Line> {
    let text = String::from_utf8_lossy(output);
    let lines = (1..).zip(text.split('\n'));
    let own = lines.filter(|(_, line)| !ignored.iter().any(|text| line.contains(text.as_str())));
    own.map(|(number, line)| line_of(number, line)).collect()
}

/// Takes the words with a digit out of a line: numbers, addresses, names of threads.
fn line_of(number: usize, text: &str) -> Line {
    let (mut form, mut values, mut rest) = (String::new(), Vec::new(), text);
    while let Some(start) = rest.find(|letter: char| letter.is_ascii_alphanumeric()) {
        let (mut between, word) = rest.split_at(start);
        let (word, after) = word.split_at(word_bytes(word.as_bytes()));
        rest = after;
        if !word.contains(|letter: char| letter.is_ascii_digit()) {
            form.extend([between, word]);
            continue;
        }
        let unsigned = between.strip_suffix(['-', '+']).unwrap_or(between);
        let sign = &between[unsigned.len()..];
        values.push(format!("{sign}{word}"));
        between = unsigned.trim_end_matches(' ');
        form.push_str(between);
        // Numbers of other lengths have other spaces before them.
        if between.len() < unsigned.len() {
            form.push(' ');
        }
        form.push(NUMBER);
    }
    form.push_str(rest);
    Line {
        number,
        form,
        values,
    }
}

/// Bytes of the word or number at the beginning of `text`.
fn word_bytes(text: &[u8]) -> usize {
    let is_word = |at: usize| {
        text.get(at)
            .is_some_and(|&byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte > 127)
    };
    let is_exponent = |at: usize| {
        text[0].is_ascii_digit() && matches!(text[at - 1], b'e' | b'E') && is_word(at + 1)
    };
    (1..)
        .find(|&at| match text.get(at) {
            Some(b'.') => !is_word(at + 1),
            Some(b'+' | b'-') => !is_exponent(at),
            _ => !is_word(at),
        })
        .unwrap_or(text.len())
}

#[cfg(test)]
mod tests;
