//! How to place data of a pattern that does not fit GPU memory.

use std::sync::Arc;

use pagemill_policy::residency::{Mechanism, STRATEGIES, StrategyEntry};
use pagemill_report::metric::{self, Metric};
use pagemill_report::{Column, ColumnKind, ResultSet, Row};
use pagemill_run::machine_section;
use pagemill_run::residency_row::{self, Identity};
use pagemill_scenario::document::SourceText;
use pagemill_scenario::{PointSpec, ResidencyPoint, load_text};

use super::arguments::PatternArguments;
use super::simulate::{self, Answer, Size};
use crate::failure::Failure;
use crate::output::{RunFormat, note, print_results};

/// Simulates every candidate and ranks them.
pub fn advise(arguments: &PatternArguments) -> Result<(), Failure> {
    arguments.results.check()?;
    let scenario = load_text(&scenario(arguments), &[])?;
    let point = scenario.points.iter().find_map(|point| match &point.spec {
        PointSpec::Residency(point) => Some(point),
        _ => None,
    });
    let point = point
        .ok_or_else(|| Failure::Usage(format!("{} has no unified memory", arguments.machine)))?;
    let candidates: Vec<&StrategyEntry> = match arguments.strategies.as_slice() {
        [] => STRATEGIES.iter().collect(),
        strategies => strategies.to_vec(),
    };
    let size = Size::new(&point.machine.spec, &point.point, arguments.full);
    let answers = simulate::all(&point.machine.spec, &point.point, &size, &candidates)?;
    let set = results(arguments, point, &size, &answers);
    let table = || print_results(&set, RunFormat::Table);
    arguments.results.hand_over(&set, table)?;
    if let Size::Scaled { share, .. } = size {
        note(&scaling(share, &answers));
    }
    Ok(())
}

/// What was scaled, and how much that may be wrong by.
fn scaling(share: f64, answers: &[Answer]) -> String {
    let errors = answers.iter().filter_map(|answer| answer.scaling_error);
    let largest = errors.map(f64::abs).fold(0.0, f64::max);
    format!(
        "Data and free GPU memory were scaled to {:.3} % of their size; at half of that the bandwidths differ by up to {:.1} %. \
         --full simulates all of it.",
        share * 100.0,
        largest * 100.0
    )
}

/// The question as a scenario, so that everything about it is read and checked in one place.
fn scenario(arguments: &PatternArguments) -> Arc<SourceText> {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let text = format!(
        "title = \"advise\"\nkind = \"residency\"\nmachine = {}\nseed = {}\n\n[access]\npattern = {}\nvariant = {}\n\n\
         [residency]\nstrategy = \"on-demand\"\nfactor = {:?}\nstripe = {}\nloops = {}\nreuse = true\n",
        quoted(&arguments.machine),
        arguments.seed,
        quoted(arguments.pattern.name()),
        quoted(arguments.variant.name()),
        arguments.factor,
        quoted(&format!("{} B", arguments.stripe_bytes)),
        arguments.reuse
    );
    SourceText::of_options("question", &text)
}

/// A strategy's time with its calls.
struct Rated<'a> {
    answer: &'a Answer,
    /// Bytes read, over the time of all reads and of the calls before them.
    bandwidth_with_setup: f64,
    /// Of the first row over this one, once all are rated.
    best_over_this: f64,
}

impl<'a> Rated<'a> {
    fn new(answer: &'a Answer) -> Self {
        Self {
            answer,
            bandwidth_with_setup: simulate::bandwidth_with_setup(&answer.report),
            best_over_this: 1.0,
        }
    }
}

fn results(
    arguments: &PatternArguments,
    point: &ResidencyPoint,
    size: &Size,
    answers: &[Answer],
) -> ResultSet {
    let mut rated: Vec<Rated> = answers.iter().map(Rated::new).collect();
    // What can only be simulated is no advice: it stands below what a program can do, however fast it is.
    rated.sort_by(|one, other| {
        let order = |rated: &Rated| (is_only_simulated(rated.answer), -rated.bandwidth_with_setup);
        let ((one_is, one), (other_is, other)) = (order(one), order(other));
        one_is.cmp(&other_is).then(one.total_cmp(&other))
    });
    let best = rated
        .first()
        .map_or(0.0, |first| first.bandwidth_with_setup);
    for one in &mut rated {
        one.best_over_this = best / one.bandwidth_with_setup;
    }
    let machine = &point.machine;
    ResultSet {
        scenario: "advise".to_owned(),
        title: format!(
            "Where to put data of {} times GPU memory, read {} ({}), on {}",
            arguments.factor, arguments.pattern, arguments.variant, point.machine.name
        ),
        about: format!(
            "Each strategy was simulated {}; the fastest that a GPU on sale can do comes first, its calls before the kernel included.",
            size.in_words()
        ),
        pagemill_version: env!("CARGO_PKG_VERSION").to_owned(),
        seed: arguments.seed,
        columns: columns(),
        rows: rated
            .iter()
            .map(|rated| row(arguments, point, rated))
            .collect(),
        description: vec![machine_section(
            &machine.name,
            &machine.title,
            &machine.settings,
        )],
        ..ResultSet::default()
    }
}

#[rustfmt::skip]
fn metrics<'a>() -> [Metric<Rated<'a>>; 9] {
    use ColumnKind::{BytesPerSecond, Count, Ratio, Text, TimeNs};
    [
        Metric::new("bandwidth_bytes_per_second", BytesPerSecond, "bytes of the data over the mean time of a kernel", |rated| rated.answer.report.bandwidth_bytes_per_second().into()),
        Metric::new("bandwidth_with_setup_bytes_per_second", BytesPerSecond, "the same over the time of all kernels and of the calls before them; the order of the rows, those that no GPU on sale does last", |rated| rated.bandwidth_with_setup.into()),
        Metric::new("best_over_this", Ratio, "how many times as fast the first row is", |rated| rated.best_over_this.into()),
        Metric::sometimes("scaling_error", ColumnKind::Rate, "the bandwidth with setup over that of half as much data on half as much GPU memory, less one; none at full size", |rated| Some(rated.answer.scaling_error?.into())),
        Metric::new("time_ns", TimeNs, "mean time of a kernel", |rated| rated.answer.report.time.as_nanos().into()),
        Metric::new("setup_ns", TimeNs, "calls before the first kernel", |rated| rated.answer.report.setup.as_nanos().into()),
        Metric::new("loops", Count, "times that the data is read", |rated| rated.answer.report.loops.into()),
        Metric::new("bound", Text, "what most of the time goes to", |rated| rated.answer.report.bound.name().into()),
        Metric::new("why", Text, "what that means", |rated| why(rated.answer).into()),
    ]
}

fn columns() -> Vec<Column> {
    let metrics = metric::columns(&metrics());
    residency_row::columns().chain(metrics).collect()
}

fn row(arguments: &PatternArguments, point: &ResidencyPoint, rated: &Rated) -> Row {
    let identity = Identity {
        machine: &point.machine.name,
        pattern: arguments.pattern,
        variant: arguments.variant,
        strategy: rated.answer.strategy,
        stripe_bytes: arguments.stripe_bytes,
        factor: arguments.factor,
    };
    metric::add(identity.row(), &metrics(), rated)
}

fn why(answer: &Answer) -> String {
    let why = answer.report.why();
    match is_only_simulated(answer) {
        false => why,
        true => format!("{why}; no GPU on sale does this"),
    }
}

fn is_only_simulated(answer: &Answer) -> bool {
    match (answer.strategy.build)().mechanism() {
        Mechanism::Driver => false,
        Mechanism::PartialPages => true,
    }
}
