//! `pagemill advise`: how to place data that does not fit GPU memory.

use std::sync::Arc;

use pagemill_policy::residency::{Mechanism, STRATEGIES, StrategyEntry};
use pagemill_report::{Column, ColumnKind, DescriptionEntry, DescriptionSection, ResultSet, Row};
use pagemill_run::residency_row::{self, Identity};
use pagemill_scenario::document::SourceText;
use pagemill_scenario::{PointSpec, ResidencyPoint, load_text};
use pagemill_sim::uvm::{Advice, AdvicePoint, UvmPoint};

use crate::args::AdviseArguments;
use crate::failure::Failure;
use crate::output::print_results;

/// Simulates every candidate and ranks them.
pub fn advise(arguments: &AdviseArguments) -> Result<(), Failure> {
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
    let ranked = pagemill_sim::uvm::advise(&point.machine.spec, &wanted(&point.point), &candidates)
        .map_err(|error| Failure::Usage(error.to_string()))?;
    let set = results(arguments, point, &ranked);
    print_results(&set, arguments.format)
}

/// The question as a scenario, so that everything about it is read and checked in one place.
fn scenario(arguments: &AdviseArguments) -> Arc<SourceText> {
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let text = format!(
        "title = \"advise\"\nkind = \"residency\"\nmachine = {}\nseed = {}\n\n[access]\npattern = {}\nvariant = {}\n\n\
         [residency]\nstrategy = \"on-demand\"\nfactor = {:?}\nstripe = {}\nloops = {}\n",
        quoted(&arguments.machine),
        arguments.seed,
        quoted(arguments.pattern.name()),
        quoted(arguments.variant.name()),
        arguments.factor,
        quoted(&format!("{} B", arguments.stripe_bytes)),
        arguments.reuse
    );
    SourceText::built_in("question", &text)
}

fn wanted(point: &UvmPoint) -> AdvicePoint {
    AdvicePoint {
        pattern: point.pattern,
        variant: point.variant,
        factor: point.factor,
        ballast: point.ballast,
        stripe_bytes: point.stripe_bytes,
        loops: point.loops,
        seed: point.seed,
        partial: point.partial.clone(),
    }
}

/// What a strategy comes to when its calls count too.
struct Rated<'a> {
    advice: &'a Advice,
    /// Bytes read, over the time of all reads and of the calls before them.
    bandwidth_with_setup: f64,
}

impl<'a> Rated<'a> {
    fn new(advice: &'a Advice) -> Self {
        let report = &advice.report;
        let loops = f64::from(report.loops);
        let bytes = report.allocated_bytes as f64 * loops;
        let time_ns = report.time.as_nanos() as f64 * loops + report.setup.as_nanos() as f64;
        Self {
            advice,
            bandwidth_with_setup: bytes * 1e9 / time_ns.max(1.0),
        }
    }
}

fn results(arguments: &AdviseArguments, point: &ResidencyPoint, ranked: &[Advice]) -> ResultSet {
    let mut rated: Vec<Rated> = ranked.iter().map(Rated::new).collect();
    rated.sort_by(|one, other| {
        other
            .bandwidth_with_setup
            .total_cmp(&one.bandwidth_with_setup)
    });
    let best = rated
        .first()
        .map_or(0.0, |first| first.bandwidth_with_setup);
    let entry = |setting: &pagemill_scenario::Setting| DescriptionEntry {
        name: setting.key.clone(),
        value: setting.value.clone(),
        source: setting.source.clone(),
    };
    ResultSet {
        scenario: "advise".to_owned(),
        title: format!(
            "Where to put data of {} times GPU memory, read {} ({}), on {}",
            arguments.factor, arguments.pattern, arguments.variant, point.machine.name
        ),
        about: "Each strategy was simulated at full size; the fastest comes first, its calls before the kernel included."
            .to_owned(),
        pagemill_version: env!("CARGO_PKG_VERSION").to_owned(),
        seed: arguments.seed,
        columns: columns(),
        rows: rated
            .iter()
            .map(|rated| row(arguments, point, rated, best))
            .collect(),
        description: vec![DescriptionSection {
            title: format!("Machine {}: {}", point.machine.name, point.machine.title),
            entries: point.machine.settings.iter().map(entry).collect(),
        }],
        ..ResultSet::default()
    }
}

fn columns() -> Vec<Column> {
    use ColumnKind::{BytesPerSecond, Count, Ratio, Text, TimeNs};
    let metrics = [
        Column::metric(
            "bandwidth_bytes_per_second",
            BytesPerSecond,
            "bytes of the data over the mean time of a kernel",
        ),
        Column::metric(
            "bandwidth_with_setup_bytes_per_second",
            BytesPerSecond,
            "the same over the time of all kernels and of the calls before them; the order of the rows",
        ),
        Column::metric(
            "best_over_this",
            Ratio,
            "how many times as fast the best strategy is",
        ),
        Column::metric("time_ns", TimeNs, "mean time of a kernel"),
        Column::metric("setup_ns", TimeNs, "calls before the first kernel"),
        Column::metric("loops", Count, "times that the data is read"),
        Column::metric("bound", Text, "what most of the time goes to"),
        Column::metric("why", Text, "what that means"),
    ];
    residency_row::columns().chain(metrics).collect()
}

fn row(arguments: &AdviseArguments, point: &ResidencyPoint, rated: &Rated, best: f64) -> Row {
    let Rated {
        advice,
        bandwidth_with_setup,
    } = rated;
    let report = &advice.report;
    let identity = Identity {
        machine: &point.machine.name,
        pattern: arguments.pattern,
        variant: arguments.variant,
        strategy: advice.strategy,
        stripe_bytes: arguments.stripe_bytes,
        factor: arguments.factor,
    };
    identity
        .row()
        .metric(
            "bandwidth_bytes_per_second",
            report.bandwidth_bytes_per_second(),
        )
        .metric(
            "bandwidth_with_setup_bytes_per_second",
            *bandwidth_with_setup,
        )
        .metric("best_over_this", best / bandwidth_with_setup)
        .metric("time_ns", report.time.as_nanos())
        .metric("setup_ns", report.setup.as_nanos())
        .metric("loops", report.loops)
        .metric("bound", report.bound.name())
        .metric("why", why(advice))
}

fn why(advice: &Advice) -> String {
    match (advice.strategy.build)().mechanism() {
        Mechanism::Driver => advice.why.clone(),
        Mechanism::PartialPages => format!("{}; no GPU on sale does this", advice.why),
    }
}
