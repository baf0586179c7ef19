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
mod tests {
    use super::*;

    #[test]
    fn numbers_get_a_fitting_unit() {
        let cases: &[(f64, ColumnKind, &str)] = &[
            (0.0, ColumnKind::TimeNs, "0 ns"),
            (873.0, ColumnKind::TimeNs, "873 ns"),
            (999.6, ColumnKind::TimeNs, "1.00 µs"),
            (1500.0, ColumnKind::TimeNs, "1.50 µs"),
            (12_345_678.0, ColumnKind::TimeNs, "12.3 ms"),
            (9.876e12, ColumnKind::TimeNs, "9,876 s"),
            (512.0, ColumnKind::Bytes, "512 B"),
            (1536.0, ColumnKind::Bytes, "1.50 KiB"),
            (1_048_576.0, ColumnKind::Bytes, "1.00 MiB"),
            (16e9, ColumnKind::BytesPerSecond, "16.0 GB/s"),
            (0.6476, ColumnKind::Rate, "64.8 %"),
            (1.0, ColumnKind::Rate, "100 %"),
            (98.62, ColumnKind::Ratio, "98.6×"),
            (1_234_567.0, ColumnKind::Count, "1,234,567"),
            (-1234.0, ColumnKind::Count, "-1,234"),
            (2.5, ColumnKind::Count, "2.50"),
            (0.001234, ColumnKind::Number, "0.00123"),
            (1e-9, ColumnKind::Number, "1.00e-9"),
        ];
        for (number, kind, expected) in cases {
            assert_eq!(
                human_number(*number, *kind),
                *expected,
                "{number} as {kind:?}"
            );
        }
    }

    #[test]
    fn ticks_have_no_empty_zeros() {
        assert_eq!(tick(1500.0, ColumnKind::TimeNs), "1.5 µs");
        assert_eq!(tick(2e6, ColumnKind::TimeNs), "2 ms");
        assert_eq!(tick(0.0, ColumnKind::Bytes), "0");
        assert_eq!(tick(20.0, ColumnKind::Ratio), "20×");
        assert_eq!(tick(0.5, ColumnKind::Rate), "50 %");
        assert_eq!(tick(100.0, ColumnKind::Number), "100");
    }

    #[test]
    fn whole_numbers_keep_all_digits() {
        assert_eq!(
            human(&Value::Unsigned(u64::MAX), ColumnKind::Count),
            "18,446,744,073,709,551,615"
        );
        assert_eq!(
            human(&Value::Signed(i64::MIN), ColumnKind::Number),
            "-9223372036854775808"
        );
    }

    #[test]
    fn what_is_no_number_is_absent() {
        assert_eq!(human(&Value::Float(f64::NAN), ColumnKind::TimeNs), ABSENT);
        assert_eq!(
            human(&Value::Float(f64::INFINITY), ColumnKind::Number),
            ABSENT
        );
    }

    #[test]
    fn headings_lose_only_the_unit_their_cells_show() {
        let heading_of = |name: &str, kind| heading(&Column::metric(name, kind, ""));
        assert_eq!(heading_of("time_ns", ColumnKind::TimeNs), "time");
        assert_eq!(heading_of("migrated_bytes", ColumnKind::Bytes), "migrated");
        assert_eq!(
            heading_of("tlb_miss_rate", ColumnKind::Rate),
            "tlb miss rate"
        );
        assert_eq!(heading_of("_ns", ColumnKind::TimeNs), " ns");
    }

    #[test]
    fn figures_name_a_swept_key_without_its_document_and_unit() {
        let words_of = |name: &str, kind| words(&Column::parameter(name, kind, ""));
        let bandwidth = "machine.link.bandwidth_bytes_per_second";
        assert_eq!(
            words_of(bandwidth, ColumnKind::BytesPerSecond),
            "link bandwidth"
        );
        assert_eq!(words_of("transfer.unit_bytes", ColumnKind::Bytes), "unit");
        assert_eq!(
            words_of("machine.tlb.entries", ColumnKind::Count),
            "tlb entries"
        );
        assert_eq!(words_of("workload", ColumnKind::Text), "workload");
    }
}
