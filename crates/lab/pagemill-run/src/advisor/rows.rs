//! An answer as rows: the allocations, then the changes that were tried, those first that gain the most.

use pagemill_report::ColumnKind::{Bytes, Count, Ratio, Text, TimeNs};
use pagemill_report::{Column, ResultSet, Row, Value, human, shorten};
use pagemill_scenario::CudaPoint;
use pagemill_wire::Hint;

use crate::machine_section;

use super::allocations::{Allocation, Launched};
use super::hints::Change;
use super::search::{Answer, Tried, Verdict};
use pagemill_report::metric::{self, Metric, unless_zero};

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
        description: vec![machine_section(
            &machine.name,
            &machine.title,
            &machine.settings,
        )],
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
    let mut table = set.part("table", which, shown);
    for (_, value) in table.rows.iter_mut().flat_map(|row| &mut row.metrics) {
        if let Value::Text(text) = value {
            *text = shorten(text, WORDS_MAX);
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
            " It has {} at its peak on a GPU with {}.",
            human(&answer.peak_bytes.into(), Bytes),
            human(&bytes.into(), Bytes)
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

/// What moved for an allocation.
#[rustfmt::skip]
const ALLOCATED: &[Metric<Allocation>] = &[
    Metric::new("managed", Text, "what page maps and rows of pagemill cuda call them", |of| of.managed_names().into()),
    Metric::sometimes("function", Text, "the function that allocates", |of| Some(of.function.as_deref()?.into())),
    Metric::new("allocations", Count, "how many allocations the line makes", |of| of.count.into()),
    Metric::new("bytes", Bytes, "their size", |of| of.bytes.into()),
    Metric::new("pattern", Text, "how kernels use them, as far as moves tell", |of| of.pattern().into()),
    Metric::new("faults", Count, "pages that faults asked for, or ranges moved on demand", |of| of.traffic.faults.into()),
    Metric::new("block_services", Count, "times that the driver served a block of them", |of| of.traffic.services.into()),
    Metric::new("migrated_bytes", Bytes, "moved from CPU to GPU", |of| of.traffic.migrated_bytes.into()),
    Metric::new("repeated_bytes", Bytes, "part of migrated_bytes that had been moved before", |of| of.traffic.repeated_bytes.into()),
    Metric::new("populated_bytes", Bytes, "allocated on the GPU at their first touch", |of| of.traffic.populated_bytes.into()),
    Metric::new("returned_bytes", Bytes, "moved from GPU to CPU", |of| of.traffic.returned_bytes.into()),
    Metric::new("dropped_bytes", Bytes, "left the GPU without a copy", |of| of.traffic.dropped_bytes.into()),
    Metric::new("remote_bytes", Bytes, "used by the GPU in CPU memory, in segments of 128 bytes", |of| of.traffic.remote_bytes.into()),
    Metric::new("evictions", Count, "pages moved out to make room", |of| of.traffic.evictions.into()),
    Metric::sometimes("first_kernel", Text, "the kernel that they first moved for", |of| Some(of.first_kernel.as_ref()?.0.as_str().into())),
    Metric::new("launches", Count, "launches during which they moved or were used in place", |of| of.traffic.launches.into()),
];

/// What a change brought.
#[rustfmt::skip]
fn tried_metrics<'a>() -> [Metric<(&'a Answer, &'a Tried)>; 7] {
    [
        Metric::new("call", Text, "the call to add", |(answer, tried)| calls(answer, tried).into()),
        Metric::new("place", Text, "where to add it", |(answer, tried)| place(answer, &tried.change).into()),
        Metric::new("time_before_ns", TimeNs, "the program without it, changes kept before included", |(_, tried)| tried.before_ns.into()),
        Metric::new("time_ns", TimeNs, "the program with it", |(_, tried)| tried.after_ns.into()),
        Metric::new("speedup", Ratio, "time_before_ns over time_ns", |(_, tried)| (tried.before_ns as f64 / tried.after_ns.max(1) as f64).into()),
        Metric::new("verdict", Text, "kept: part of the advice; otherwise why not", |(_, tried)| verdict(&tried.verdict).into()),
        Metric::sometimes("unheeded_hints", Count, "hints that have no effect in this transfer mode, if there were any", |(_, tried)| unless_zero(tried.unheeded_hints)),
    ]
}

fn columns() -> Vec<Column> {
    let parameters = [
        ("table", "allocation, or a change that was tried"),
        (
            "allocation",
            "the line that allocates, or the variable; (all) is all managed memory",
        ),
        ("change", "what was changed"),
    ];
    let parameters = parameters.map(|(name, doc)| Column::parameter(name, Text, doc));
    let metrics = metric::columns(ALLOCATED)
        .into_iter()
        .chain(metric::columns(&tried_metrics()));
    parameters.into_iter().chain(metrics).collect()
}

fn identity(table: &str, allocation: &str, change: &str) -> Row {
    Row::new()
        .parameter("table", table)
        .parameter("allocation", allocation)
        .parameter("change", change)
}

fn allocation_row(allocation: &Allocation) -> Row {
    let row = identity(ALLOCATION_ROW, &allocation.name, "");
    metric::add(row, ALLOCATED, allocation)
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
    let name = match &tried.change {
        Change::Mode(_) => ALL,
        Change::Hint(hint) => answer.name_of(hint.site),
    };
    let row = identity(CHANGE_ROW, name, tried.change.name());
    metric::add(row, &tried_metrics(), &(answer, tried))
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

/// Where the calls of a change belong.
fn place(answer: &Answer, change: &Change) -> String {
    let Change::Hint(hint) = change else {
        return before_launch(answer.first_launch.as_ref());
    };
    match (&hint.hint, answer.allocation(hint.site)) {
        (_, None) => String::new(),
        (Hint::Prefetch(_), Some(own)) => before_launch(own.first_kernel.as_ref()),
        (_, Some(own)) => format!("after {}", own.name),
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
