//! The terminal table fits its terminal and cannot be broken by what it shows.

use pagemill_report::table::{self, TableStyle};
use pagemill_report::{ResultSet, Row};
use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

const PLAIN: TableStyle = TableStyle {
    width: None,
    color: false,
};

proptest! {
    #[test]
    fn no_line_is_wider_than_the_terminal(set in crate::common::result_set(), width in 30u16..200) {
        let text = table::render_rows(&set, &TableStyle { width: Some(width), color: false });
        let lines = text.lines().filter(|line| !line.starts_with("In every row") && !line.starts_with("Also measured"));
        for line in lines {
            prop_assert!(line.width() <= usize::from(width), "{} > {width}: {line}", line.width());
        }
    }

    #[test]
    fn no_string_reaches_the_terminal_as_a_control_code(set in crate::common::result_set()) {
        let text = table::render(&set, &PLAIN);
        let harmful = text.chars().find(|c| c.is_control() && *c != '\n' || ('\u{202a}'..='\u{202e}').contains(c));
        prop_assert_eq!(harmful, None);
    }

    #[test]
    fn without_a_width_each_row_is_one_line(rows in 0usize..9) {
        let mut set = ResultSet::default();
        for index in 0..rows {
            set.rows.push(Row::new().parameter("point", index).metric("time_ns", index * 1000));
        }
        let lines = table::render_rows(&set, &PLAIN).lines().count();
        prop_assert_eq!(lines, if rows == 0 { 0 } else { rows + 3 });
    }
}

#[test]
fn narrow_terminals_get_more_tables_not_broken_numbers() {
    let set = crate::common::sample();
    let text = table::render_rows(
        &set,
        &TableStyle {
            width: Some(64),
            color: false,
        },
    );
    assert_eq!(text.matches("workload").count(), 2, "{text}");
    assert!(text.contains("1.54 MiB"), "{text}");
}

#[test]
fn color_is_only_there_when_asked_for() {
    let set = crate::common::sample();
    assert!(!table::render(&set, &PLAIN).contains('\u{1b}'));
    let colored = table::render(
        &set,
        &TableStyle {
            width: None,
            color: true,
        },
    );
    let heading = colored.lines().find(|line| line.contains("\u{1b}[1m"));
    assert!(
        heading.is_some_and(|line| line.contains("workload")),
        "{colored}"
    );
    let plain = table::render(&set, &PLAIN);
    for (verdict, code) in [("holds", "1;32"), ("FAILS", "1;31"), ("?", "1;33")] {
        let styled = format!("\n\u{1b}[{code}m{verdict}\u{1b}[0m ");
        let is_said = plain.contains(&format!("\n{verdict} "));
        assert_eq!(colored.contains(&styled), is_said, "{verdict}: {colored}");
    }
}

#[test]
fn constant_columns_become_one_line() {
    let text = table::render_rows(&crate::common::sample(), &PLAIN);
    assert!(text.contains("In every row: ranges 2 = 3\n"), "{text}");
    assert!(!text.lines().next().unwrap().contains("ranges 2"), "{text}");
}

#[test]
fn what_says_nothing_leaves_the_table_and_what_takes_screens_is_named() {
    let mut set = crate::common::sample();
    for row in &mut set.rows {
        row.metrics.push(("stalls".to_owned(), 0u64.into()));
    }
    set.columns.push(pagemill_report::Column::metric(
        "never",
        pagemill_report::ColumnKind::Count,
        "",
    ));
    let text = table::render_rows(&set, &PLAIN);
    assert!(
        !text.contains("stalls") && !text.contains("never"),
        "{text}"
    );
    for _ in 0..2 {
        set.rows.extend(set.rows.clone());
    }
    let narrow = TableStyle {
        width: Some(64),
        color: false,
    };
    let text = table::render_rows(&set, &narrow);
    assert_eq!(text.matches("workload").count(), 1, "{text}");
    assert!(
        text.contains("Also measured (--format csv, --out): "),
        "{text}"
    );
}

/// A change detector: when the layout changes on purpose, so does this text.
#[test]
fn layout_of_a_small_table() {
    let mut set = crate::common::sample();
    set.rows.truncate(4);
    let expected = "\
Page traffic of made-up programs

 mode                 unit     time  migrated  ranges 1
─────────────────────────────────────────────────────────
 programmer-copy  1.00 KiB   101 µs  1.54 MiB        10
 programmer-copy  2.00 KiB   101 µs  1.54 MiB        11
 programmer-copy  4.00 KiB   101 µs  1.54 MiB        12
 whole-page       1.00 KiB  9.00 ms   137 MiB        10

";
    let text = table::render(&set, &PLAIN);
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn a_long_name_loses_its_middle_and_keeps_it_elsewhere() {
    let name = format!("begin{}end", "<int>".repeat(800));
    let mut set = ResultSet::default();
    for (kernel, launches) in [(name.as_str(), 1u64), ("other", 2)] {
        let row = Row::new().parameter("kernel", kernel);
        set.rows.push(row.metric("launches", launches));
    }
    let text = table::render_rows(&set, &PLAIN);
    let widest = text.lines().map(UnicodeWidthStr::width).max();
    assert!(widest < Some(120), "{text}");
    assert!(text.contains("begin<int>") && text.contains("…") && text.contains("<int>end"));
    let mut csv = Vec::new();
    pagemill_report::csv::write(&set, &mut csv).expect("written");
    assert!(String::from_utf8_lossy(&csv).contains(&name));
}
