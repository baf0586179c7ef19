//! A message with the lines of a text that it is about.

use std::ops::Range;

use unicode_width::UnicodeWidthChar;

use crate::document::SourceText;

/// Escape codes, where there is color.
const MARK: &str = "35;1";
const ERROR: &str = "31";
const PLACE: &str = "36;1;4";
const NUMBER: &str = "2";
const HELP: &str = "36";

const TAB_COLUMNS: usize = 4;

/// What is shown.
pub struct Message<'a> {
    pub text: &'a str,
    /// The marked bytes of a text.
    pub place: Option<(&'a SourceText, Range<usize>)>,
    /// What they are.
    pub label: Option<&'a str>,
    pub help: Option<&'a str>,
}

impl Message<'_> {
    /// For a terminal: each line ended.
    pub fn render(&self, color: bool) -> String {
        let style = |code: &str, text: &str| match color {
            true => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            false => text.to_owned(),
        };
        let rest = format!("\n  {} ", style(ERROR, "│"));
        let text = self.text.replace('\n', &rest);
        let mut out = format!("  {} {text}\n", style(ERROR, "×"));
        if let Some((source, span)) = &self.place {
            self.add_lines(source, span, &style, &mut out);
        }
        if let Some(help) = self.help {
            let help = help.replace('\n', "\n        ");
            out.push_str(&format!("{}{help}\n", style(HELP, "  help: ")));
        }
        out
    }

    /// The line that the place begins in, with its neighbors, and the mark below it.
    fn add_lines(
        &self,
        source: &SourceText,
        span: &Range<usize>,
        style: &dyn Fn(&str, &str) -> String,
        out: &mut String,
    ) {
        let lines = lines(source.text());
        let marked = lines.iter().rposition(|(start, _)| *start <= span.start);
        let marked = marked.unwrap_or(0);
        let (start, line) = lines[marked];
        let shown = marked.saturating_sub(1)..lines.len().min(marked + 2);
        let digits = shown.end.to_string().len();
        let before = line.get(..span.start - start).unwrap_or(line);
        let place = format!(
            "{}:{}:{}",
            source.name(),
            marked + 1,
            before.chars().count() + 1
        );
        let margin = " ".repeat(digits + 2);
        out.push_str(&format!("{margin}╭─[{}]\n", style(PLACE, &place)));
        for index in shown {
            let number = style(NUMBER, &format!("{:digits$}", index + 1));
            out.push_str(&format!(" {number} │ {}\n", without_tabs(lines[index].1)));
            if index == marked {
                let span = span.start - start..span.end - start;
                for line in mark(line, span, self.label) {
                    let line = style(MARK, &line);
                    out.push_str(&format!("{margin}· {line}\n"));
                }
            }
        }
        out.push_str(&format!("{margin}╰────\n"));
    }
}

/// Each line without its end, and the byte that it begins with. There is always one.
fn lines(text: &str) -> Vec<(usize, &str)> {
    let mut start = 0;
    let mut lines = Vec::new();
    for line in text.split_inclusive('\n') {
        let shown = line.strip_suffix('\n').unwrap_or(line);
        lines.push((start, shown.strip_suffix('\r').unwrap_or(shown)));
        start += line.len();
    }
    if lines.is_empty() {
        lines.push((0, ""));
    }
    lines
}

/// What is below `line`: a stroke under the bytes `span`, or a tip where they are none, and the label at its middle.
fn mark(line: &str, span: Range<usize>, label: Option<&str>) -> Vec<String> {
    // What is beyond the line's end is one column behind it.
    let column = |byte: usize| match line.get(..byte) {
        Some(before) => columns(before),
        None => columns(line) + 1,
    };
    let start = column(span.start);
    let end = match span.is_empty() {
        true => start + 1,
        false => column(span.end).max(start + 1),
    };
    let middle = usize::midpoint(start, end);
    let [left, right] = [middle - start, end - middle - 1].map(|columns| "─".repeat(columns));
    let tip = match (span.is_empty(), label) {
        (true, _) => '▲',
        (false, Some(_)) => '┬',
        (false, None) => '─',
    };
    let mut below = vec![format!("{}{left}{tip}{right}", " ".repeat(start))];
    below.extend(label.map(|label| format!("{}╰── {label}", " ".repeat(middle))));
    below
}

fn columns(text: &str) -> usize {
    text.chars()
        .fold(0, |column, letter| column + width(letter, column))
}

fn width(letter: char, column: usize) -> usize {
    match letter {
        '\t' => TAB_COLUMNS - column % TAB_COLUMNS,
        letter => letter.width().unwrap_or(0),
    }
}

fn without_tabs(line: &str) -> String {
    let mut shown = String::new();
    let mut column = 0;
    for letter in line.chars() {
        let width = width(letter, column);
        match letter {
            '\t' => shown.extend(std::iter::repeat_n(' ', width)),
            letter => shown.push(letter),
        }
        column += width;
    }
    shown
}

#[cfg(test)]
mod tests;
