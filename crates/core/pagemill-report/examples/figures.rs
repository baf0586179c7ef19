//! Writes a report from made-up numbers, to look at every kind of figure.
//!
//! `cargo run -p pagemill-report --example figures [DIR]`

use std::path::PathBuf;
use std::process::ExitCode;

use pagemill_report::timeline::{CounterUnit, Sample, Span, Timeline, TrackKind};
use pagemill_report::{
    Bars, Claim, Column, ColumnKind, DescriptionEntry, DescriptionSection, Fact, HeatMap, Lines,
    Mean, OutputDir, OutputDirError, Plot, PlotForm, ResultSet, Row, StackedBars, Summary, Value,
    csv, html, json, perfetto, table,
};

const PROGRAMS: [&str; 10] = [
    "AES", "BFS", "CP", "LIB", "LPS", "MUM", "NN", "RAY", "STO", "WP",
];
const MODES: [&str; 5] = [
    "ideal-overlap",
    "programmer-copy",
    "whole-page",
    "single-range",
    "multi-range",
];

fn main() -> ExitCode {
    let target = std::env::args_os()
        .nth(1)
        .map_or_else(|| PathBuf::from("figures"), PathBuf::from);
    match write(&target) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write(target: &std::path::Path) -> Result<(), OutputDirError> {
    let set = results();
    print!("{}", table::render(&set, &table::TableStyle::for_stdout()));
    let mut out = OutputDir::stage(target)?;
    out.write("results.json", |file| json::write(&set, file))?;
    out.write("results.csv", |file| csv::write(&set, file))?;
    out.write("report.html", |file| html::write(&set, file))?;
    out.write("timeline.pftrace", |file| {
        perfetto::write(&timeline(), file)
    })?;
    out.commit()
}

/// A number between 0 and 1 that depends on nothing but `seed`.
fn noise(seed: u64) -> f64 {
    let mixed = (seed.wrapping_add(1)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ (mixed >> 29)) >> 40) as f64 / (1u64 << 24) as f64
}

fn results() -> ResultSet {
    let mut set = ResultSet {
        scenario: "figures".into(),
        title: "Every figure of a report, from made-up numbers".into(),
        about: "These numbers come from no simulation. They have the shape of a comparison of \
                page migration mechanisms, so that figures can be judged by eye.\n\n\
                Each bar, point and cell shows its exact value when pointed at."
            .into(),
        pagemill_version: env!("CARGO_PKG_VERSION").into(),
        seed: 42,
        columns: columns(),
        ..ResultSet::default()
    };
    for (p, program) in PROGRAMS.into_iter().enumerate() {
        for gigabytes_per_second in [16u64, 32] {
            for (m, mode) in MODES.into_iter().enumerate() {
                set.rows
                    .push(row(p as u64, program, gigabytes_per_second, m as u64, mode));
            }
        }
    }
    for (p, program) in ["BFS", "LIB", "LPS", "MUM"].into_iter().enumerate() {
        for shift in 7..=16 {
            set.rows.push(unit_row(p as u64, program, shift));
        }
    }
    set.summary = summary();
    set.plots = plots();
    set.description = description();
    set
}

fn columns() -> Vec<Column> {
    vec![
        Column::parameter(
            "experiment",
            ColumnKind::Text,
            "Which figure the row is for",
        ),
        Column::parameter("workload", ColumnKind::Text, "Program"),
        Column::parameter("mode", ColumnKind::Text, "How data reaches the GPU"),
        Column::parameter("machine.link.bandwidth", ColumnKind::Text, "CPU-GPU link"),
        Column::parameter("unit_bytes", ColumnKind::Bytes, "Migration unit"),
        Column::metric("time_ns", ColumnKind::TimeNs, "Simulated time"),
        Column::metric(
            "migrated_bytes",
            ColumnKind::Bytes,
            "Bytes moved to the GPU",
        ),
        Column::metric(
            "thread_instructions",
            ColumnKind::Count,
            "Executed thread instructions",
        ),
        Column::metric("tlb_miss_rate", ColumnKind::Rate, "TLB misses per look-up"),
        Column::metric(
            "pages_with_1_range",
            ColumnKind::Count,
            "Pages that end with one range",
        ),
        Column::metric(
            "pages_with_2_ranges",
            ColumnKind::Count,
            "Pages that end with two",
        ),
        Column::metric(
            "pages_with_3_ranges",
            ColumnKind::Count,
            "Pages that end with three",
        ),
        Column::metric(
            "pages_with_more",
            ColumnKind::Count,
            "Pages that end with more",
        ),
    ]
}

fn row(p: u64, program: &str, gigabytes_per_second: u64, m: u64, mode: &str) -> Row {
    let base = 400_000.0 + 3_000_000.0 * noise(p);
    let factor = match m {
        0 => 0.55 + 0.3 * noise(p + 10),
        1 => 1.0,
        2 => 4.0 + 220.0 * noise(p + 20).powi(2),
        3 => 0.75 + 1.2 * noise(p + 30).powi(3),
        _ => 0.65 + 0.7 * noise(p + 35).powi(2),
    };
    let bytes = (factor * 10_000_000.0) as u64;
    Row::new()
        .parameter("experiment", "mechanisms")
        .parameter("workload", program)
        .parameter("mode", mode)
        .parameter(
            "machine.link.bandwidth",
            format!("{gigabytes_per_second} GB/s"),
        )
        .metric(
            "time_ns",
            (base * factor * 16.0 / gigabytes_per_second as f64) as u64,
        )
        .metric("migrated_bytes", bytes)
        .metric("thread_instructions", 1_000_000 + (noise(p) * 1e9) as u64)
        .metric("tlb_miss_rate", noise(p * 7 + m))
        .metric("pages_with_1_range", (noise(p + 40) * 90.0) as u64)
        .metric("pages_with_2_ranges", (noise(p + 50) * 400.0) as u64)
        .metric("pages_with_3_ranges", (noise(p + 60) * 200.0) as u64)
        .metric("pages_with_more", (noise(p + 70) * 40.0) as u64)
}

fn unit_row(p: u64, program: &str, shift: u32) -> Row {
    let slope = [0.9, 0.02, 0.35, 0.6][p as usize];
    let time_ns = 500_000.0 * (1.0 + slope * f64::from(shift - 7).powf(1.5) / 4.0);
    Row::new()
        .parameter("experiment", "units")
        .parameter("workload", program)
        .parameter("mode", "multi-range")
        .parameter("machine.link.bandwidth", "16 GB/s")
        .parameter("unit_bytes", 1u64 << shift)
        .metric("time_ns", time_ns as u64)
        .metric("migrated_bytes", (time_ns * 16.0) as u64)
}

fn claim(
    id: &str,
    text: &str,
    figures: (f64, f64),
    kind: ColumnKind,
    holds: Option<bool>,
) -> Claim {
    Claim {
        id: id.into(),
        text: text.into(),
        published: Some(Value::Float(figures.0)),
        measured: Some(Value::Float(figures.1)),
        kind,
        holds,
        note: "An invented verdict about an invented figure".into(),
    }
}

fn summary() -> Summary {
    let fact = |name: &str, value: Value, kind, doc: &str| Fact {
        name: name.into(),
        value,
        kind,
        doc: doc.into(),
    };
    let share = "Most of a large page that moves is never touched";
    Summary {
        claims: vec![
            claim(
                "slow",
                "Whole pages are far slower",
                (98.62, 61.3),
                ColumnKind::Ratio,
                Some(true),
            ),
            claim(
                "touched",
                share,
                (0.05, 0.31),
                ColumnKind::Rate,
                Some(false),
            ),
            claim(
                "worst",
                "The worst program stays the worst",
                (2.0, 1.9),
                ColumnKind::Ratio,
                None,
            ),
        ],
        facts: vec![
            fact("points", Value::Unsigned(120), ColumnKind::Count, "Points"),
            fact(
                "simulated_ns",
                Value::Unsigned(812_345_678),
                ColumnKind::TimeNs,
                "Simulated time",
            ),
            fact(
                "moved_bytes",
                Value::Unsigned(3 << 30),
                ColumnKind::Bytes,
                "Bytes moved",
            ),
        ],
        ..Summary::default()
    }
}

fn plots() -> Vec<Plot> {
    let times = Bars {
        x: "workload".into(),
        series: "mode".into(),
        y: "time_ns".into(),
        normalize_to: Some("programmer-copy".into()),
        mean: Mean::Arithmetic,
        ..Bars::default()
    };
    let experiment = |name: &str| ("experiment".to_owned(), Value::from(name));
    let only_sweep = vec![experiment("units")];
    let only_16 = vec![
        experiment("mechanisms"),
        ("machine.link.bandwidth".to_owned(), Value::from("16 GB/s")),
    ];
    let part = |metric: &str, label: &str| (metric.to_owned(), label.to_owned());
    let parts = vec![
        part("pages_with_1_range", "1 range"),
        part("pages_with_2_ranges", "2 ranges"),
        part("pages_with_3_ranges", "3 ranges"),
        part("pages_with_more", "more"),
    ];
    vec![
        Plot {
            caption: "Lower is better; the dashed line is the programmer's own copy.".into(),
            panel_by: Some("machine.link.bandwidth".into()),
            only: vec![experiment("mechanisms")],
            x_title: "Benchmark".into(),
            y_title: "Normalized execution time".into(),
            ..Plot::new(
                "capped",
                "Execution time of five mechanisms",
                PlotForm::Bars(Bars {
                    y_cap: Some(20.0),
                    ..times.clone()
                }),
            )
        },
        Plot {
            only: only_16.clone(),
            ..Plot::new(
                "log",
                "The same on a logarithmic axis",
                PlotForm::Bars(Bars {
                    log: true,
                    normalize_to: None,
                    mean: Mean::Geometric,
                    ..times
                }),
            )
        },
        Plot {
            only: only_sweep.clone(),
            caption: "Sparse programs pay for large units.".into(),
            x_title: "Migration unit".into(),
            y_title: "Time / time at 128 B".into(),
            ..Plot::new(
                "lines",
                "Effect of the migration unit",
                PlotForm::Lines(Lines {
                    x: "unit_bytes".into(),
                    series: "workload".into(),
                    y: "time_ns".into(),
                    log2_x: true,
                    log_y: false,
                    normalize_to_x: Some(Value::Unsigned(128)),
                }),
            )
        },
        Plot {
            only: only_16,
            y_title: "Share of pages".into(),
            ..Plot::new(
                "stacked",
                "How many ranges a page ends with",
                PlotForm::Stacked(StackedBars {
                    x: "workload".into(),
                    parts,
                    as_shares: true,
                }),
            )
        },
        Plot {
            only: only_sweep,
            ..Plot::new(
                "heat",
                "Bytes moved by program and unit",
                PlotForm::HeatMap(HeatMap {
                    x: "unit_bytes".into(),
                    y: "workload".into(),
                    value: "migrated_bytes".into(),
                    log: true,
                }),
            )
        },
    ]
}

fn description() -> Vec<DescriptionSection> {
    let entry = |name: &str, value: &str, source: &str| DescriptionEntry {
        name: name.into(),
        value: value.into(),
        source: source.into(),
    };
    vec![DescriptionSection {
        title: "Machine: invented".into(),
        entries: vec![
            entry("sms.count", "15", "made up"),
            entry("clocks.core", "1.4 GHz", "made up"),
            entry("link.bandwidth", "16 GB/s", "estimate"),
        ],
    }]
}

fn timeline() -> Timeline {
    let mut timeline = Timeline::new();
    let gpu = timeline.track(None, "GPU", TrackKind::Group);
    let kernels = timeline.track(Some(gpu), "kernels", TrackKind::Spans);
    let migrations = timeline.track(Some(gpu), "migrations", TrackKind::Lanes);
    let moved = timeline.track(
        Some(gpu),
        "bytes moved",
        TrackKind::Counter(CounterUnit::Bytes),
    );
    let kernel = timeline.name("vector_add");
    let move_in = timeline.name("move to GPU");
    timeline.span(Span {
        track: kernels,
        name: kernel,
        start_ps: 0,
        end_ps: 900_000_000,
        bytes: 0,
        page: None,
        allocation: None,
    });
    let mut total = 0;
    for index in 0..200 {
        let start_ps = (noise(index) * 800_000_000.0) as u64;
        let bytes = 4096 << (index % 5);
        let end_ps = start_ps + bytes * 62;
        timeline.span(Span {
            track: migrations,
            name: move_in,
            start_ps,
            end_ps,
            bytes,
            page: None,
            allocation: None,
        });
        total += bytes as i64;
        timeline.sample(Sample {
            track: moved,
            at_ps: index * 4_500_000,
            value: total,
        });
    }
    timeline
}
