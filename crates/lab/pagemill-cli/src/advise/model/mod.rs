//! How fast a language model generates tokens on a GPU that it does not fit.
//!
//! A token reads every weight once, layer by layer. That is one loop of the pattern `grid-stride` over memory of the size of the
//! weights, simulated at a share of the size, as for other patterns; what counts is a loop that finds memory as the loop before left it.

mod file;
mod gguf;
mod safetensors;
mod tensors;

use std::path::Path;

use pagemill_report::{Column, ColumnKind, ResultSet, Row};
use pagemill_run::{PointError, available_cores, run_all};
use pagemill_scenario::document::SourceText;
use pagemill_scenario::{PointSpec, ResidencyPoint, load_text};
use pagemill_sim::uvm::{UvmPoint, UvmReport, run_while};

use super::arguments::ModelArguments;
use super::machines::driven;
use super::simulate;
use crate::failure::Failure;
use crate::output::{RunFormat, check_out, hand_over, note, print_results};
use tensors::Tensors;

/// Bytes of weights that are simulated, if that leaves GPU memory [`GPU_BYTES_MIN`].
const SIMULATED_BYTES: f64 = 256.0 * (1u64 << 20) as f64;
/// Memory of the simulated GPU at least: in half of it, prefetching the next blocks still has room to work.
const GPU_BYTES_MIN: f64 = 96.0 * (1u64 << 20) as f64;
/// Tokens of the longest run, where access counters migrate: weights go on moving after the token that was counted.
const TOKENS_MAX: u32 = 8;
/// Tokens that take as long as those before, but for this share, find memory as all later ones will.
const SETTLED: f64 = 0.02;

/// A way to place weights: what it is called, its strategy, and what it sets.
type Way = (&'static str, &'static str, Option<&'static str>);

/// Ways that programs have today, and two that they do not.
const WAYS: [Way; 5] = [
    ("on demand", "on-demand", None),
    ("zero-copy", "zero-copy", None),
    ("layers split", "bulk-prefetch", None),
    (
        "prefetch across blocks",
        "on-demand",
        Some("machine.policy.prefetch=next-blocks"),
    ),
    ("partial pages", "partial-pages", None),
];

/// What the answer leaves open.
const CAVEAT: &str = "The error is that of simulating a share of the weights. No row has been compared with a real GPU, and time to compute is not in it.";

/// Every machine.
const ALL: &str = "all";

/// Answers for the model at `path`.
pub fn advise(arguments: &ModelArguments) -> Result<(), Failure> {
    check_out(arguments.out.as_deref())?;
    let path = arguments.model.as_path();
    let model = file::read(path)?;
    let machines = match arguments.machine.as_str() {
        ALL => driven()?,
        machine => vec![machine.to_owned()],
    };
    let asked = machines
        .iter()
        .flat_map(|machine| WAYS.iter().map(move |way| (machine.as_str(), way)));
    let asked: Vec<(&str, &Way)> = asked.collect();
    let points = asked
        .iter()
        .map(|(machine, way)| point(machine, way, arguments));
    let points = points.collect::<Result<Vec<_>, _>>()?;
    let bar = simulate::bar(points.len());
    let speeds = run_all(&points, available_cores(), |point| {
        let speed = Speed::of(point, &model).map_err(PointError::Refused);
        bar.inc(simulate::STEPS as u64);
        speed
    });
    bar.finish_and_clear();
    let speeds = speeds.map_err(|(_, error)| Failure::Usage(error.to_string()))?;
    let answers = asked.into_iter().zip(speeds).collect::<Vec<_>>();
    let set = results(path, &model, answers);
    hand_over(arguments.out.as_deref(), &set, || {
        print_results(&set, arguments.format)
    })?;
    if arguments.format == RunFormat::Table {
        note(CAVEAT);
    }
    Ok(())
}

/// A way on a machine as a scenario, so that everything about it is read and checked in one place.
fn point(
    machine: &str,
    (_, strategy, set): &Way,
    arguments: &ModelArguments,
) -> Result<ResidencyPoint, Failure> {
    let text = format!(
        "title = \"advise\"\nkind = \"residency\"\nmachine = {}\nseed = {}\n[access]\npattern = \"grid-stride\"\nvariant = \"free-running\"\n\
         [residency]\nstrategy = {strategy:?}\nfactor = 1\nreuse = true\n",
        serde_json::Value::from(machine),
        arguments.seed,
    );
    let sets: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
    let scenario = load_text(&SourceText::of_options("model", &text), &sets)?;
    let found = scenario
        .points
        .into_iter()
        .find_map(|point| match point.spec {
            PointSpec::Residency(point) => Some(*point),
            _ => None,
        });
    found.ok_or_else(|| Failure::Usage(format!("{machine} has no unified memory")))
}

/// Speed and traffic of a way.
struct Speed {
    /// Weights over GPU memory.
    factor: f64,
    token_ns: f64,
    /// How much the time differs at half the size, as a share.
    error: f64,
    /// Bytes over the link for a token, each way.
    moved_bytes: f64,
}

impl Speed {
    fn of(point: &ResidencyPoint, model: &Tensors) -> Result<Self, String> {
        let read_bytes = model.token_bytes() as f64;
        let free = point.machine.spec.free_bytes(0.0) as f64;
        let factor = model.bytes() as f64 / free;
        let bytes = SIMULATED_BYTES
            .max(GPU_BYTES_MIN * factor)
            .min(model.bytes() as f64);
        let [whole, half] =
            [bytes, bytes / 2.0].map(|bytes| Steady::of(point, factor, bytes / factor));
        let (whole, half) = (whole?, half?);
        Ok(Self {
            factor,
            token_ns: whole.ns_per_byte * read_bytes,
            error: (half.ns_per_byte / whole.ns_per_byte - 1.0).abs(),
            moved_bytes: whole.moved_per_byte * read_bytes,
        })
    }
}

/// A token that finds memory as the token before left it.
struct Steady {
    ns_per_byte: f64,
    moved_per_byte: f64,
}

impl Steady {
    /// The machine has `gpu_bytes` of free memory, and the weights `factor` times as much.
    fn of(point: &ResidencyPoint, factor: f64, gpu_bytes: f64) -> Result<Self, String> {
        let mut machine = point.machine.spec.clone();
        machine.memory.bytes = machine.memory.reserved_bytes + gpu_bytes as u64;
        let wanted = UvmPoint {
            factor,
            ballast: 0.0,
            loops: TOKENS_MAX,
            ..point.point.clone()
        };
        let mut after: Vec<UvmReport> = Vec::new();
        let run = run_while(&machine, &wanted, &mut |report| {
            after.push(*report);
            !Self::is_settled(&after)
        });
        run.map_err(|error| format!("on {}, {error}", point.machine.name))?;
        Ok(Self::of_second_half(&after))
    }

    /// Whether the second half of the tokens is as all later ones will be; `after` has the report after each token.
    fn is_settled(after: &[UvmReport]) -> bool {
        match after.len() {
            0 | 1 => false,
            2 => after[1].counter_migrations == 0,
            tokens if tokens.is_power_of_two() => {
                let before = Self::of_second_half(&after[..tokens / 2]);
                before.is_near(&Self::of_second_half(after))
            }
            _ => false,
        }
    }

    fn of_second_half(after: &[UvmReport]) -> Self {
        Self::between(&after[after.len() / 2 - 1], &after[after.len() - 1])
    }

    /// The tokens of `all` that `before` does not have.
    fn between(before: &UvmReport, all: &UvmReport) -> Self {
        let time_ns = |report: &UvmReport| report.time.0 as f64 / 1000.0 * f64::from(report.loops);
        let moved = |report: &UvmReport| {
            (report.migrated_bytes + report.evicted_bytes + report.remote_bytes) as f64
        };
        let bytes = all.allocated_bytes as f64 * f64::from(all.loops - before.loops);
        Self {
            ns_per_byte: (time_ns(all) - time_ns(before)).max(0.0) / bytes,
            moved_per_byte: (moved(all) - moved(before)).max(0.0) / bytes,
        }
    }

    fn is_near(&self, other: &Self) -> bool {
        (self.ns_per_byte - other.ns_per_byte).abs() <= SETTLED * other.ns_per_byte
    }
}

const METRICS: [(&str, ColumnKind, &str); 6] = [
    (
        "tokens_per_second",
        ColumnKind::Number,
        "tokens a second of one conversation, weights alone",
    ),
    (
        "tokens_per_second_error",
        ColumnKind::Number,
        "how much that may be wrong by, because a share of the weights was simulated",
    ),
    (
        "token_time_ns",
        ColumnKind::TimeNs,
        "time to read the weights of a token",
    ),
    (
        "oversubscription_factor",
        ColumnKind::Ratio,
        "weights over GPU memory",
    ),
    (
        "token_bytes",
        ColumnKind::Bytes,
        "weights that a token reads",
    ),
    (
        "moved_bytes",
        ColumnKind::Bytes,
        "bytes over the link for a token: to the GPU, back, and read in place",
    ),
];

fn results(path: &Path, model: &Tensors, answers: Vec<((&str, &Way), Speed)>) -> ResultSet {
    let parameter = |name, doc| Column::parameter(name, ColumnKind::Text, doc);
    let mut columns = vec![
        parameter("machine", "the GPU"),
        parameter("way", "where the weights are and how they move"),
        parameter("strategy", "the calls of the program"),
    ];
    columns.extend(METRICS.map(|(name, kind, doc)| Column::metric(name, kind, doc)));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let rows = answers
        .iter()
        .map(|(asked, speed)| row(asked, speed, model));
    ResultSet {
        scenario: "advise".to_owned(),
        title: format!("Tokens a second of {name}"),
        about: format!(
            "A token reads each weight once. Layers split: as many as fit are on the GPU, the others are read in place. No GPU on sale moves partial pages. {CAVEAT}"
        ),
        pagemill_version: env!("CARGO_PKG_VERSION").to_owned(),
        columns,
        rows: rows.collect(),
        ..ResultSet::default()
    }
}

fn row((machine, (way, strategy, _)): &(&str, &Way), speed: &Speed, model: &Tensors) -> Row {
    let tokens = 1e9 / speed.token_ns.max(1.0);
    Row::new()
        .parameter("machine", *machine)
        .parameter("way", *way)
        .parameter("strategy", *strategy)
        .metric("tokens_per_second", tokens)
        .metric("tokens_per_second_error", tokens * speed.error)
        .metric("token_time_ns", speed.token_ns as u64)
        .metric("oversubscription_factor", speed.factor)
        .metric("token_bytes", model.token_bytes())
        .metric("moved_bytes", speed.moved_bytes as u64)
}
