//! Synthetic results and hostile strings that the tests share.

use pagemill_report::{
    Bars, Claim, Column, ColumnKind, DescriptionEntry, DescriptionSection, Fact, HeatMap, Lines,
    Mean, Plot, PlotForm, ResultSet, Row, StackedBars, Summary, Value,
};
use proptest::prelude::*;

/// Text that breaks careless writers.
pub const HOSTILE: &[&str] = &[
    "",
    " ",
    "<script>alert(1)</script>",
    "</style></svg><img src=x onerror=alert(1)>",
    "\"quoted\", 'twice' & <b>",
    "a,b;c\td\r\ne",
    "]]>--><!--",
    "\u{1b}[31mred\u{7}",
    "\u{202e}dlrow",
    "缺页 ページ 🧵",
    "=cmd()",
    "http://example.org/x.js",
    "null",
    "NaN",
];

/// Any text, often a hostile one.
pub fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::sample::select(HOSTILE).prop_map(str::to_owned),
        any::<String>(),
        "[a-z][a-z0-9_.]{0,20}",
    ]
}

/// Any cell.
pub fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<u64>().prop_map(Value::Unsigned),
        any::<i64>().prop_map(Value::Signed),
        any::<f64>().prop_map(Value::Float),
        text().prop_map(Value::Text),
        any::<bool>().prop_map(Value::Bool),
    ]
}

/// Any table: unique column names, rows that lack some of them.
pub fn result_set() -> impl Strategy<Value = ResultSet> {
    let names = proptest::collection::btree_set(text(), 1..6);
    names.prop_flat_map(|names| {
        let names: Vec<String> = names.into_iter().collect();
        let cells =
            proptest::collection::vec(proptest::option::weighted(0.8, value()), names.len());
        (
            proptest::collection::vec(cells, 0..6),
            text(),
            text(),
            any::<u64>(),
        )
            .prop_map(move |(table, title, about, seed)| {
                let rows = table.into_iter().map(|cells| row(&names, cells)).collect();
                ResultSet {
                    scenario: title.clone(),
                    title,
                    about,
                    pagemill_version: "0".into(),
                    seed,
                    rows,
                    ..ResultSet::default()
                }
            })
    })
}

fn row(names: &[String], cells: Vec<Option<Value>>) -> Row {
    let mut row = Row::new();
    for (index, (name, cell)) in names.iter().zip(cells).enumerate() {
        let Some(value) = cell else { continue };
        let list = if index % 2 == 0 {
            &mut row.parameters
        } else {
            &mut row.metrics
        };
        list.push((name.clone(), value));
    }
    row
}

/// A small result set with one figure of each form.
pub fn sample() -> ResultSet {
    let mut set = ResultSet {
        scenario: "sample".into(),
        title: "Page traffic of made-up programs".into(),
        about: "Synthetic numbers.\n\nNothing was simulated.".into(),
        pagemill_version: "1.2.3".into(),
        seed: 7,
        ..ResultSet::default()
    };
    set.columns = vec![
        Column::parameter("workload", ColumnKind::Text, "Program"),
        Column::parameter("mode", ColumnKind::Text, "How data reaches the GPU"),
        Column::parameter("unit_bytes", ColumnKind::Bytes, "Migration unit"),
        Column::metric("time_ns", ColumnKind::TimeNs, "Simulated time"),
        Column::metric("migrated_bytes", ColumnKind::Bytes, "Bytes moved"),
        Column::metric("tlb_miss_rate", ColumnKind::Rate, "TLB misses per look-up"),
        Column::metric("ranges_1", ColumnKind::Count, "Pages with one range"),
        Column::metric("ranges_2", ColumnKind::Count, "Pages with two ranges"),
    ];
    let modes = [
        ("programmer-copy", 100u64),
        ("whole-page", 9000),
        ("multi-range", 80),
    ];
    for (w, workload) in ["bfs", "lps"].into_iter().enumerate() {
        for (mode, base) in modes {
            for shift in [10u32, 11, 12] {
                let time_ns = base * 1000 * (w as u64 + 1) + u64::from(shift) * 100;
                set.rows.push(
                    Row::new()
                        .parameter("workload", workload)
                        .parameter("mode", mode)
                        .parameter("unit_bytes", 1u64 << shift)
                        .metric("time_ns", time_ns)
                        .metric("migrated_bytes", time_ns * 16)
                        .metric("tlb_miss_rate", 0.25 * (w + 1) as f64)
                        .metric("ranges_1", u64::from(shift))
                        .metric("ranges_2", 3u64),
                );
            }
        }
    }
    set.summary = Summary {
        claims: vec![Claim {
            id: "whole-page-slowdown".into(),
            text: "Whole-page migration is far slower than a programmer's copy".into(),
            published: Some(Value::Float(98.62)),
            measured: Some(Value::Float(90.0)),
            kind: ColumnKind::Ratio,
            holds: Some(true),
            note: "Zhang et al. 2019, section 5.2".into(),
        }],
        facts: vec![Fact {
            name: "simulated_bytes".into(),
            value: Value::Unsigned(1 << 30),
            kind: ColumnKind::Bytes,
            doc: "Data of all points".into(),
        }],
        ..Summary::default()
    };
    set.plots = plots();
    set.description = vec![DescriptionSection {
        title: "Machine".into(),
        entries: vec![DescriptionEntry {
            name: "link.bandwidth".into(),
            value: "16 GB/s".into(),
            source: "table 1".into(),
        }],
    }];
    set
}

fn plots() -> Vec<Plot> {
    let bars = Bars {
        x: "workload".into(),
        series: "mode".into(),
        y: "time_ns".into(),
        normalize_to: Some("programmer-copy".into()),
        y_cap: Some(20.0),
        mean: Mean::Arithmetic,
        ..Bars::default()
    };
    let lines = Lines {
        x: "unit_bytes".into(),
        series: "workload".into(),
        y: "time_ns".into(),
        log2_x: true,
        ..Lines::default()
    };
    let stacked = StackedBars {
        x: "workload".into(),
        parts: vec![
            ("ranges_1".into(), "1".into()),
            ("ranges_2".into(), "2".into()),
        ],
        as_shares: true,
    };
    let heat = HeatMap {
        x: "unit_bytes".into(),
        y: "workload".into(),
        value: "migrated_bytes".into(),
        log: true,
    };
    vec![
        Plot::new("bars", "Time by mode", PlotForm::Bars(bars)),
        Plot::new("lines", "Time by unit", PlotForm::Lines(lines)),
        Plot::new("stacked", "Ranges per page", PlotForm::Stacked(stacked)),
        Plot::new("heat", "Bytes moved", PlotForm::HeatMap(heat)),
    ]
}
