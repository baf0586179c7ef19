//! Results on a terminal.

mod details;

use std::io::IsTerminal;

use comfy_table::{Cell, CellAlignment, ContentArrangement, LineStyle, Table, TableStyle as Frame};

use crate::units::{ABSENT, heading, human, shorten};
use crate::{Claim, Column, ColumnKind, ColumnRole, ResultSet, Value};

/// Narrower terminals are treated as this wide.
const WIDTH_MIN: u16 = 20;

/// Lines of rows that are one screen.
const LINES_MAX: usize = 40;

/// Characters of a name; a longer one, such as a kernel's with its template arguments, loses its middle. Other formats have it whole.
const NAME_MAX: usize = 80;

/// How a table may look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableStyle {
    /// Characters in a line; `None` never breaks a line.
    pub width: Option<u16>,
    /// Whether to color verdicts and headings with escape codes.
    pub color: bool,
}

impl TableStyle {
    /// What standard output can show: no color unless it is a terminal and `NO_COLOR` is not set.
    pub fn for_stdout() -> Self {
        Self::of(std::io::stdout().is_terminal())
    }

    /// The same for standard error.
    pub fn for_stderr() -> Self {
        Self::of(std::io::stderr().is_terminal())
    }

    fn of(is_terminal: bool) -> Self {
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Self {
            width: terminal_size::terminal_size()
                .map(|(columns, _)| columns.0)
                .filter(|_| is_terminal),
            color: is_terminal && !no_color && !dumb,
        }
    }

    /// This with lines of at most `width` characters.
    pub fn at_most(self, width: u16) -> Self {
        let width = self.width.map_or(width, |own| own.min(width));
        Self {
            width: Some(width),
            ..self
        }
    }
}

/// The rows, what they have in common, and the claims, each line ended. Of details that have many rows, such as source lines, the
/// dearest.
pub fn render(set: &ResultSet, style: &TableStyle) -> String {
    let set = &details::dearest(set);
    let mut out = match set.subject.as_str() {
        "" => format!("{}\n", clean(&set.title)),
        subject => format!("{} on {}\n", clean(&set.title), clean(subject)),
    };
    for warning in &set.summary.warnings {
        out.push_str(&format!("warning: {}\n", clean(warning)));
    }
    if !set.rows.is_empty() {
        out.push('\n');
        out.push_str(&render_rows(set, style));
    }
    for fact in &set.summary.facts {
        let value = clean(&human(&fact.value, fact.kind));
        out.push_str(&format!("{}: {value}\n", clean(&fact.name)));
    }
    if !set.summary.claims.is_empty() {
        out.push('\n');
        out.push_str(&render_claims(set, style));
    }
    out
}

/// The rows as one table, or as several that repeat the parameters where one would be too wide; where that takes more than a screen,
/// the first alone. Columns that say the same in every row become one line below, those that say nothing are left out.
pub fn render_rows(set: &ResultSet, style: &TableStyle) -> String {
    let (constant, varying) = split_constant(set);
    let mut out = String::new();
    let mut groups = fit(set, &varying, style);
    let beyond = match groups.len() * set.rows.len() > LINES_MAX {
        true => groups.split_off(1).concat(),
        false => Vec::new(),
    };
    for columns in &groups {
        out.push_str(&finish(row_table(set, columns, style), style));
        out.push('\n');
    }
    out.push_str(&left_out(&beyond, style));
    if !constant.is_empty() {
        let settings: Vec<String> = constant
            .iter()
            .map(|column| {
                format!(
                    "{} = {}",
                    clean(&heading(column)),
                    cell_text(set, 0, column)
                )
            })
            .collect();
        out.push_str(&wrapped(
            &format!("In every row: {}", settings.join(", ")),
            style,
        ));
    }
    out
}

/// The columns that there is no room for, in a line.
fn left_out(columns: &[Column], style: &TableStyle) -> String {
    let mut names: Vec<String> = Vec::new();
    for column in columns.iter().filter(|it| it.role == ColumnRole::Metric) {
        names.push(clean(&heading(column)));
    }
    match names.is_empty() {
        true => String::new(),
        false => wrapped(
            &format!("Also measured (--format csv, --out): {}", names.join(", ")),
            style,
        ),
    }
}

/// `text` in lines that fit, broken at spaces.
fn wrapped(text: &str, style: &TableStyle) -> String {
    let width = style
        .width
        .map_or(usize::MAX, |width| usize::from(width.max(WIDTH_MIN)));
    let (mut out, mut used) = (String::new(), 0);
    for word in text.split(' ') {
        let letters = word.chars().count() + 1;
        let is_new = used > 0 && used + letters > width;
        out.push_str(if is_new {
            "\n"
        } else if used > 0 {
            " "
        } else {
            ""
        });
        out.push_str(word);
        used = if is_new { letters } else { used + letters };
    }
    out + "\n"
}

/// The claims with their published and measured figures and the verdicts.
pub fn render_claims(set: &ResultSet, style: &TableStyle) -> String {
    let (hold, fail, open) = set.summary.verdicts();
    let mut out = format!("Claims: {hold} hold, {fail} do not, {open} not judged here\n\n");
    let mut table = new_table(style);
    table.set_header(["", "claim", "published", "measured"]);
    for claim in &set.summary.claims {
        table.add_row(claim_cells(claim));
    }
    for index in [2, 3] {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let table = finish(table, style);
    if !style.color {
        return out + &table;
    }
    for line in table.lines() {
        let verdict = VERDICTS.iter().find(|(word, _)| line.starts_with(word));
        let (word, code) = verdict.copied().unwrap_or_default();
        out.push_str(&styled(word, code));
        out.push_str(&line[word.len()..]);
        out.push('\n');
    }
    out
}

/// What is said of a claim, and its escape codes.
const VERDICTS: [(&str, &str); 3] = [("holds", "1;32"), ("FAILS", "1;31"), ("?", "1;33")];

fn claim_cells(claim: &Claim) -> [Cell; 4] {
    let [holds, fails, open] = VERDICTS.map(|(word, _)| word);
    let verdict = match claim.holds {
        Some(true) => holds,
        Some(false) => fails,
        None => open,
    };
    let figure = |value: &Option<Value>| {
        value.as_ref().map_or_else(
            || ABSENT.to_owned(),
            |value| clean(&human(value, claim.kind)),
        )
    };
    let text = if claim.text.is_empty() {
        &claim.id
    } else {
        &claim.text
    };
    [
        Cell::new(verdict),
        Cell::new(clean(text)),
        Cell::new(figure(&claim.published)),
        Cell::new(figure(&claim.measured)),
    ]
}

/// The columns whose value never changes, and the others. A single row has only others. What no row has a value for is in neither, nor
/// is a count of 0 in all of several rows.
fn split_constant(set: &ResultSet) -> (Vec<Column>, Vec<Column>) {
    let mut columns = set.all_columns();
    columns.retain(|column| set.rows.iter().any(|row| row.get(&column.name).is_some()));
    if set.rows.len() < 2 {
        return (Vec::new(), columns);
    }
    let is_constant = |column: &Column| {
        let first = set.rows[0].get(&column.name);
        set.rows.iter().all(|row| row.get(&column.name) == first)
    };
    let mut constant: Vec<Column> = columns
        .extract_if(.., |column| is_constant(column))
        .collect();
    constant.retain(|column| {
        column.role == ColumnRole::Parameter || set.rows[0].number(&column.name) != Some(0.0)
    });
    (constant, columns)
}

/// Groups of columns that fit the width, each led by all parameters.
fn fit(set: &ResultSet, columns: &[Column], style: &TableStyle) -> Vec<Vec<Column>> {
    if columns.is_empty() {
        return Vec::new();
    }
    let Some(width) = style.width else {
        return vec![columns.to_vec()];
    };
    // One character of frame on the left; a space and a junction behind each column.
    let available = usize::from(width.max(WIDTH_MIN)) - 1;
    let widths = row_table(set, columns, style).column_max_content_widths();
    let with_widths = columns
        .iter()
        .zip(widths.into_iter().map(|width| usize::from(width) + 2));
    let (parameters, metrics): (Vec<_>, Vec<_>) =
        with_widths.partition(|(column, _)| column.role == ColumnRole::Parameter);
    let lead: Vec<Column> = parameters
        .iter()
        .map(|(column, _)| (*column).clone())
        .collect();
    let lead_width: usize = parameters.iter().map(|(_, width)| width).sum();

    let mut groups = Vec::new();
    let mut group = lead.clone();
    let mut used = lead_width;
    for (column, width) in metrics {
        if used + width > available && group.len() > lead.len() {
            groups.push(std::mem::replace(&mut group, lead.clone()));
            used = lead_width;
        }
        group.push(column.clone());
        used += width;
    }
    groups.push(group);
    groups
}

fn row_table(set: &ResultSet, columns: &[Column], style: &TableStyle) -> Table {
    let mut table = new_table(style);
    table.set_header(columns.iter().map(|column| clean(&heading(column))));
    for index in 0..set.rows.len() {
        table.add_row(
            columns
                .iter()
                .map(|column| match column.role {
                    ColumnRole::Parameter => shorten(&cell_text(set, index, column), NAME_MAX),
                    ColumnRole::Metric => cell_text(set, index, column),
                })
                .map(Cell::new),
        );
    }
    for (index, column) in columns.iter().enumerate() {
        let is_number = column.kind != ColumnKind::Text
            || set
                .rows
                .iter()
                .all(|row| row.number(&column.name).is_some());
        if let Some(column) = table.column_mut(index).filter(|_| is_number) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn cell_text(set: &ResultSet, row: usize, column: &Column) -> String {
    match set.rows[row].get(&column.name) {
        Some(value) => clean(&human(value, column.kind)),
        None => ABSENT.to_owned(),
    }
}

fn new_table(style: &TableStyle) -> Table {
    let mut table = Table::new();
    table.load_style(Frame::new().header_separator(LineStyle::new('─', '─', '─', '─')));
    if let Some(width) = style.width {
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(width.max(WIDTH_MIN));
    }
    table
}

fn styled(text: &str, code: &str) -> String {
    format!("\u{1b}[{code}m{text}\u{1b}[0m")
}

/// The table's text, with bold headings where there is color.
fn finish(mut table: Table, style: &TableStyle) -> String {
    for column in table.column_iter_mut() {
        column.set_padding((0, 1));
    }
    let text = table.trim_fmt() + "\n";
    match text.find("\n─").filter(|_| style.color) {
        Some(end) => styled(&text[..end], "1") + &text[end..],
        None => text,
    }
}

/// `text` without anything that could move the cursor, change colors or reorder the line.
fn clean(text: &str) -> String {
    let is_harmful = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2028}'..='\u{2029}' | '\u{2066}'..='\u{2069}')
    };
    text.chars()
        .flat_map(|c| {
            let escaped: Vec<char> = match c {
                '\n' | '\r' | '\t' => vec![' '],
                c if is_harmful(c) => c.escape_unicode().collect(),
                c => vec![c],
            };
            escaped
        })
        .collect()
}
