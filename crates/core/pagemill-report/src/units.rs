//! Numbers as people read them: three significant digits and a fitting unit.

use crate::{Column, ColumnKind, Value};

/// Stands for a value that is not there.
pub(crate) const ABSENT: &str = "–";

/// The heading of a column for people: the name without the unit that each cell now shows.
pub fn heading(column: &Column) -> String {
    let name = column.name.as_str();
    let suffix = match column.kind {
        ColumnKind::TimeNs => "_ns",
        ColumnKind::Bytes => "_bytes",
        ColumnKind::BytesPerSecond => "_bytes_per_second",
        _ => "",
    };
    let stem = name
        .strip_suffix(suffix)
        .filter(|stem| !stem.is_empty())
        .unwrap_or(name);
    stem.replace('_', " ")
}

/// The words for a column beside a figure: of a dotted path, what is left without the document that it is a key of.
pub(crate) fn words(column: &Column) -> String {
    let heading = heading(column);
    let key = heading
        .split_once('.')
        .map_or(heading.as_str(), |(_, key)| key);
    key.replace('.', " ")
}

/// `text` in at most `most` characters, without its middle.
pub fn shorten(text: &str, most: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= most {
        return text.to_owned();
    }
    let (head, tail) = (most / 2, most - most / 2 - 1);
    let (head, tail) = (&letters[..head], &letters[letters.len() - tail..]);
    head.iter().chain(&['…']).chain(tail).collect()
}

/// `value` as people read it.
pub fn human(value: &Value, kind: ColumnKind) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Unsigned(n) if kind == ColumnKind::Count => grouped(&n.to_string()),
        Value::Signed(n) if kind == ColumnKind::Count => grouped(&n.to_string()),
        Value::Unsigned(_) | Value::Signed(_)
            if matches!(kind, ColumnKind::Number | ColumnKind::Text) =>
        {
            value.to_string()
        }
        _ => value
            .as_f64()
            .map_or_else(|| ABSENT.to_owned(), |number| human_number(number, kind)),
    }
}

/// `number` as people read it.
pub(crate) fn human_number(number: f64, kind: ColumnKind) -> String {
    match kind {
        ColumnKind::Bytes => scaled(number, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB", "PiB"]),
        ColumnKind::TimeNs => human_time(number),
        ColumnKind::BytesPerSecond => {
            scaled(number, 1000.0, &["B/s", "KB/s", "MB/s", "GB/s", "TB/s"])
        }
        ColumnKind::Rate => format!("{} %", digits(number * 100.0)),
        ColumnKind::Ratio => format!("{}×", digits(number)),
        ColumnKind::Count if number.fract() == 0.0 && number.abs() < 1e15 => {
            grouped(&format!("{number:.0}"))
        }
        ColumnKind::Count | ColumnKind::Number | ColumnKind::Text => digits(number),
    }
}

/// `number` on an axis: like [`human_number`] without zeros that say nothing.
pub(crate) fn tick(number: f64, kind: ColumnKind) -> String {
    if number == 0.0 && kind != ColumnKind::Rate {
        return "0".to_owned();
    }
    let text = human_number(number, kind);
    let digits_end = text.find(|c: char| !c.is_ascii_digit() && !"-.,".contains(c));
    let (digits, unit) = text.split_at(digits_end.unwrap_or(text.len()));
    if !digits.contains('.') {
        return text;
    }
    format!(
        "{}{unit}",
        digits.trim_end_matches('0').trim_end_matches('.')
    )
}

fn human_time(ns: f64) -> String {
    if ns.abs() >= 1e9 {
        return format!("{} s", digits(ns / 1e9));
    }
    scaled(ns, 1000.0, &["ns", "µs", "ms", "s"])
}

fn scaled(number: f64, step: f64, units: &[&str]) -> String {
    let mut scaled = number;
    let mut unit = 0;
    // 999.5 would round up to the next unit's 1.00.
    while scaled.abs() >= step - 0.5 && unit + 1 < units.len() {
        scaled /= step;
        unit += 1;
    }
    if unit == 0 && number.fract() == 0.0 {
        return format!("{number:.0} {}", units[0]);
    }
    format!("{} {}", digits(scaled), units[unit])
}

/// Three significant digits without an exponent where that is readable.
fn digits(number: f64) -> String {
    let size = number.abs();
    if size == 0.0 {
        "0".to_owned()
    } else if !(1e-4..1e15).contains(&size) {
        format!("{number:.2e}")
    } else if size >= 999.5 {
        grouped(&format!("{number:.0}"))
    } else if size >= 99.95 {
        format!("{number:.0}")
    } else if size >= 9.995 {
        format!("{number:.1}")
    } else if size >= 0.9995 {
        format!("{number:.2}")
    } else {
        let places = (2.0 - size.log10().floor()) as usize;
        format!("{number:.places$}")
    }
}

/// `1234567` as `1,234,567`.
fn grouped(digits: &str) -> String {
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", digits),
    };
    let mut out = String::from(sign);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests;
