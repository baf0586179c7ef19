//! An answer as rows: the allocations, then the changes that were tried, those first that gain the most.

use pagemill_report::{
    Column, ColumnKind, DescriptionEntry, DescriptionSection, ResultSet, Row, Value,
};
use pagemill_scenario::CudaPoint;

use super::allocations::{Allocation, Launched};
use super::hints::Change;
use super::search::{Answer, Tried, Verdict};
use super::shorten;

/// The value of the column `row` in rows of allocations.
pub const ALLOCATION_ROW: &str = "allocation";
/// The value of the column `row` in rows of changes.
pub const CHANGE_ROW: &str = "change";
/// Characters of a cell in the tables of a terminal.
const WORDS_MAX: usize = 30;
/// The allocation of changes to the whole program.
const ALL: &str = "(all)";

/// Every row, and what its columns mean.
pub fn result_set(spec: &CudaPoint, answer: &Answer, seed: u64) -> ResultSet {
    let machine = &spec.machine;
    let entry = |setting: &pagemill_scenario::Setting| DescriptionEntry {
        name: setting.key.clone(),
        value: setting.value.clone(),
        source: setting.source.clone(),
    };
    let allocations = answer.allocations.iter().map(allocation_row);
    let mut tried: Vec<&Tried> = answer.tried.iter().collect();
    tried.sort_by(|one, other| rank(one).total_cmp(&rank(other)));
    let changes = tried.into_iter().map(|tried| change_row(answer, tried));
    ResultSet {
        scenario: "advise".to_owned(),
        title: format!(
            "What would make {} faster on {}",
            spec.command.join(" "),
            machine.name
        ),
        about: about(answer),
        pagemill_version: env!("CARGO_PKG_VERSION").to_owned(),
        seed,
        columns: columns(),
        rows: allocations.chain(changes).collect(),
        description: vec![DescriptionSection {
            title: format!("Machine {}: {}", machine.name, machine.title),
            entries: machine.settings.iter().map(entry).collect(),
        }],
        ..ResultSet::default()
    }
}

/// The rows of `set` whose column `row` is `which`, with the columns that they fill and a terminal has room for.
pub fn table_of(set: &ResultSet, which: &str) -> ResultSet {
    let shown: &[&str] = match which {
        ALLOCATION_ROW => &[
            "allocation",
            "managed",
            "bytes",
            "pattern",
            "faults",
            "migrated_bytes",
            "repeated_bytes",
            "returned_bytes",
            "remote_bytes",
            "first_kernel",
        ],
        _ => &[
            "allocation",
            "change",
            "time_before_ns",
            "time_ns",
            "speedup",
            "verdict",
        ],
    };
    let mut table = set.clone();
    table
        .rows
        .retain(|row| row.get("table") == Some(&Value::from(which)));
    table
        .columns
        .retain(|column| shown.contains(&column.name.as_str()));
    for row in &mut table.rows {
        let is_shown = |(name, _): &(String, Value)| shown.contains(&name.as_str());
        row.parameters.retain(is_shown);
        row.metrics.retain(is_shown);
        for (_, value) in &mut row.metrics {
            if let Value::Text(text) = value {
                *text = shorten(text, WORDS_MAX);
            }
        }
    }
    if which == ALLOCATION_ROW {
        table.title = "Allocations".to_owned();
        table.about = String::new();
    }
    table
}

/// The calls of the changes that are kept, a line each, below the place where they belong.
pub fn calls_to_add(set: &ResultSet) -> String {
    let text = |row: &Row, name| row.get(name).map_or_else(String::new, Value::to_string);
    let mut lines = String::new();
    let is_kept = |row: &&Row| row.get("verdict") == Some(&Value::from("kept"));
    for row in set.rows.iter().filter(is_kept) {
        let name = text(row, "allocation");
        lines.push_str(&format!("Add for {name}, {}:\n", text(row, "place")));
        let calls = text(row, "call").replace(": ", ":\n").replace("; ", ";\n");
        calls
            .lines()
            .for_each(|call| lines.push_str(&format!("    {call}\n")));
    }
    lines
}

fn about(answer: &Answer) -> String {
    let count = |is_counted: &dyn Fn(&Verdict) -> bool| {
        let tried = answer.tried.iter();
        tried.filter(|tried| is_counted(&tried.verdict)).count()
    };
    let kept = count(&|verdict| *verdict == Verdict::Kept);
    let refused = count(&|verdict| matches!(verdict, Verdict::OutputDiffers(_)));
    let memory = match answer.capacity_bytes {
        Some(bytes) => format!(
            " It has {} bytes at its peak on a GPU with {bytes}.",
            answer.peak_bytes
        ),
        None => String::new(),
    };
    let advice = match (kept, refused) {
        (0, 0) => "nothing that was tried makes it faster; leave it as it is".to_owned(),
        (0, _) => format!(
            "{refused} changes make it faster, and its output differs with each: if those lines may differ, name them with \
             --ignore-lines TEXT"
        ),
        (1, _) => format!("1 change makes it {:.2} times as fast", gain(answer)),
        _ => format!("{kept} changes make it {:.2} times as fast", gain(answer)),
    };
    format!("{} runs: {advice}.{}{memory}", answer.runs, judged(answer))
}

fn gain(answer: &Answer) -> f64 {
    answer.before_ns as f64 / answer.best_ns.max(1) as f64
}

/// How far the output was compared.
fn judged(answer: &Answer) -> String {
    let mut text = String::new();
    if !answer.varies.is_empty() {
        let ignored = answer.varies.join("; ");
        text = format!(
            " Ignored, since the unchanged program prints it otherwise in every run: {ignored}."
        );
    }
    if !answer.is_judged && !answer.tried.is_empty() {
        text += " The results were not judged: the program prints nothing that is the same in every run, so only its exit code was \
                 compared. Let it print a result that it repeats, and name lines that may differ with --ignore-lines TEXT.";
    }
    text
}

/// What was measured of allocations and changes.
const METRICS: [(&str, ColumnKind, &str); 23] = [
    (
        "managed",
        ColumnKind::Text,
        "what page maps and rows of pagemill cuda call them",
    ),
    ("function", ColumnKind::Text, "the function that allocates"),
    (
        "allocations",
        ColumnKind::Count,
        "how many allocations the line makes",
    ),
    ("bytes", ColumnKind::Bytes, "their size"),
    (
        "pattern",
        ColumnKind::Text,
        "how kernels use them, as far as moves tell",
    ),
    (
        "faults",
        ColumnKind::Count,
        "pages that faults asked for, or ranges moved on demand",
    ),
    (
        "block_services",
        ColumnKind::Count,
        "times that the driver served a block of them",
    ),
    ("migrated_bytes", ColumnKind::Bytes, "moved from CPU to GPU"),
    (
        "repeated_bytes",
        ColumnKind::Bytes,
        "part of migrated_bytes that had been moved before",
    ),
    (
        "populated_bytes",
        ColumnKind::Bytes,
        "allocated on the GPU at their first touch",
    ),
    ("returned_bytes", ColumnKind::Bytes, "moved from GPU to CPU"),
    (
        "dropped_bytes",
        ColumnKind::Bytes,
        "left the GPU without a copy",
    ),
    (
        "remote_bytes",
        ColumnKind::Bytes,
        "used by the GPU in CPU memory, in segments of 128 bytes",
    ),
    (
        "evictions",
        ColumnKind::Count,
        "pages moved out to make room",
    ),
    (
        "first_kernel",
        ColumnKind::Text,
        "the kernel that they first moved for",
    ),
    (
        "launches",
        ColumnKind::Count,
        "launches during which they moved or were used in place",
    ),
    ("call", ColumnKind::Text, "the call to add"),
    ("place", ColumnKind::Text, "where to add it"),
    (
        "time_before_ns",
        ColumnKind::TimeNs,
        "the program without it, changes kept before included",
    ),
    ("time_ns", ColumnKind::TimeNs, "the program with it"),
    ("speedup", ColumnKind::Ratio, "time_before_ns over time_ns"),
    (
        "verdict",
        ColumnKind::Text,
        "kept: part of the advice; otherwise why not",
    ),
    (
        "unheeded_hints",
        ColumnKind::Count,
        "hints that have no effect in this transfer mode, if there were any",
    ),
];

fn columns() -> Vec<Column> {
    let parameters = [
        ("table", "allocation, or a change that was tried"),
        (
            "allocation",
            "the line that allocates, or the variable; (all) is all managed memory",
        ),
        ("change", "what was changed"),
    ];
    let parameters = parameters.map(|(name, doc)| Column::parameter(name, ColumnKind::Text, doc));
    let metrics = METRICS.map(|(name, kind, doc)| Column::metric(name, kind, doc));
    parameters.into_iter().chain(metrics).collect()
}

fn identity(table: &str, allocation: &str, change: &str) -> Row {
    Row::new()
        .parameter("table", table)
        .parameter("allocation", allocation)
        .parameter("change", change)
}

fn allocation_row(allocation: &Allocation) -> Row {
    let traffic = &allocation.traffic;
    let row = identity(ALLOCATION_ROW, &allocation.name, "")
        .metric("managed", allocation.managed_names())
        .metric("allocations", allocation.count)
        .metric("bytes", allocation.bytes)
        .metric("pattern", allocation.pattern())
        .metric("faults", traffic.faults)
        .metric("block_services", traffic.services)
        .metric("migrated_bytes", traffic.migrated_bytes)
        .metric("repeated_bytes", traffic.repeated_bytes)
        .metric("populated_bytes", traffic.populated_bytes)
        .metric("returned_bytes", traffic.returned_bytes)
        .metric("dropped_bytes", traffic.dropped_bytes)
        .metric("remote_bytes", traffic.remote_bytes)
        .metric("evictions", traffic.evictions)
        .metric("launches", traffic.launches);
    let row = match &allocation.function {
        Some(function) => row.metric("function", function.as_str()),
        None => row,
    };
    match &allocation.first_kernel {
        Some((kernel, _)) => row.metric("first_kernel", kernel.as_str()),
        None => row,
    }
}

/// Kept changes first, then by their time.
fn rank(tried: &Tried) -> f64 {
    let first = match tried.verdict {
        Verdict::Kept => 0.0,
        Verdict::NoGain | Verdict::Beaten => 1e9,
        Verdict::OutputDiffers(_) | Verdict::ExitCode(_) => 2e9,
    };
    first + tried.after_ns as f64 / tried.before_ns.max(1) as f64
}

fn change_row(answer: &Answer, tried: &Tried) -> Row {
    let (name, place) = match &tried.change {
        Change::Mode(_) => (ALL.to_owned(), before_launch(answer.first_launch.as_ref())),
        Change::Hint(hint) => {
            let mut allocations = answer.allocations.iter();
            let allocation = allocations.find(|allocation| allocation.key == hint.site);
            allocation.map_or_else(Default::default, |allocation| {
                (allocation.name.clone(), place(allocation, &tried.change))
            })
        }
    };
    let row = identity(CHANGE_ROW, &name, tried.change.name())
        .metric("call", calls(answer, tried))
        .metric("place", place)
        .metric("time_before_ns", tried.before_ns)
        .metric("time_ns", tried.after_ns)
        .metric(
            "speedup",
            tried.before_ns as f64 / tried.after_ns.max(1) as f64,
        )
        .metric("verdict", verdict(&tried.verdict));
    match tried.unheeded_hints {
        0 => row,
        hints => row.metric("unheeded_hints", hints),
    }
}

/// The calls to add: a placement that is kept leaves out what other kept changes are about.
fn calls(answer: &Answer, tried: &Tried) -> String {
    let calls = tried.change.calls();
    let is_kept_placement =
        matches!(tried.change, Change::Mode(_)) && tried.verdict == Verdict::Kept;
    match is_kept_placement && !answer.best.hints.is_empty() {
        true => format!("but for allocations with changes of their own, {calls}"),
        false => calls,
    }
}

fn place(allocation: &Allocation, change: &Change) -> String {
    match change.name() {
        "prefetch" => before_launch(allocation.first_kernel.as_ref()),
        _ => format!("after {}", allocation.name),
    }
}

fn before_launch(launch: Option<&Launched>) -> String {
    match launch {
        Some((kernel, Some(line))) => format!("before {kernel} at {line}"),
        Some((kernel, None)) => format!("before the first {kernel}"),
        None => "before the first launch".to_owned(),
    }
}

fn verdict(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Kept => "kept".to_owned(),
        Verdict::NoGain => "no gain".to_owned(),
        Verdict::Beaten => "beaten by another".to_owned(),
        Verdict::OutputDiffers(line) => format!("refused: output differs in line {line}"),
        Verdict::ExitCode(code) => format!("refused: exit code {code}"),
    }
}
