//! The changes that were tried in the simulation, carried out on this machine's GPU and timed there.

use pagemill_gpu::{Hints, Outcome};
use pagemill_report::ColumnKind::{Ratio, Text, TimeNs};
use pagemill_report::metric::{self, Metric};
use pagemill_report::table::{TableStyle, render};
use pagemill_report::{ResultSet, Row};
use pagemill_run::advisor::{Answer, Change, Configuration, Judge, Tried, read};
use pagemill_run::hints::of_configuration;
use pagemill_scenario::CudaPoint;

use super::arguments::ProgramArguments;
use crate::failure::Failure;
use crate::gpu::{Watched, run_in_front};
use crate::output::note;

/// The value of the column `table` in these rows.
const GPU_ROW: &str = "gpu";
/// A gain or a loss below this share is the noise of a real machine.
const NOISE: f64 = 0.02;

/// What the GPU said.
pub struct Measured {
    rows: Vec<Row>,
    /// The fastest of the candidates, as a file; none if no one is faster than the program as it is.
    pub best: Option<Hints>,
}

/// Runs of the program on the GPU.
struct Bench<'a> {
    command: &'a [String],
    managed: bool,
    runs: u32,
}

/// One configuration on the GPU.
#[derive(Default)]
struct Timed {
    /// The median of its runs.
    gpu_ns: u64,
    /// What the last run printed.
    output: Vec<u8>,
    /// Why it does not count.
    refused: Option<String>,
}

/// Times every change that keeps the program's results.
///
/// # Errors
/// There is no GPU, or the program fails on it as it is.
pub fn measure(
    arguments: &ProgramArguments,
    spec: &CudaPoint,
    answer: &Answer,
) -> Result<Measured, Failure> {
    let bench = Bench {
        command: &arguments.command,
        managed: arguments.managed,
        runs: arguments.gpu_runs.get(),
    };
    let plain = bench.time(None)?;
    if let Some(reason) = &plain.refused {
        return Err(Failure::Run(format!(
            "{} fails on the GPU as it is: {reason}",
            arguments.command[0]
        )));
    }
    let mut judge = Judge::new(&plain.output, &arguments.ignored);
    // What differs from run to run is not the fault of a hint.
    judge.learn(&bench.time(None)?.output);
    let ns = (answer.before_ns, plain.gpu_ns);
    let mut rows = vec![row("as it is", ns, answer.before_ns, &plain)];
    let mut best: Option<(u64, Hints)> = None;
    let candidates = candidates(answer);
    for (number, tried) in candidates.iter().enumerate() {
        let name = name(answer, tried);
        note(&format!(
            "pagemill: on the GPU, {} of {}: {name}",
            number + 1,
            candidates.len()
        ));
        let hints = of_configuration(spec, answer, &tried.configuration);
        let timed = match &hints {
            Ok(hints) => bench.judged(hints, &judge)?,
            Err(reason) => Timed {
                refused: Some(reason.clone()),
                ..Timed::default()
            },
        };
        rows.push(row(&name, ns, tried.after_ns, &timed));
        let fastest_ns = best.as_ref().map_or(plain.gpu_ns, |(ns, _)| *ns);
        if timed.refused.is_none() && timed.gpu_ns < fastest_ns {
            best = hints.ok().map(|hints| (timed.gpu_ns, hints));
        }
    }
    Ok(Measured {
        rows,
        best: best.map(|(_, hints)| hints),
    })
}

/// The changes to carry out, each configuration once.
fn candidates(answer: &Answer) -> Vec<&Tried> {
    let mut seen: Vec<&Configuration> = Vec::new();
    let mut all = Vec::new();
    for tried in answer.tried.iter().filter(|tried| tried.is_sound()) {
        if !seen.contains(&&tried.configuration) {
            seen.push(&tried.configuration);
            all.push(tried);
        }
    }
    all
}

impl Bench<'_> {
    /// The time with `hints`, if the program prints what it always prints.
    fn judged(&self, hints: &Hints, judge: &Judge<'_>) -> Result<Timed, Failure> {
        let mut timed = self.time(Some(hints))?;
        if timed.refused.is_none()
            && let Some(line) = judge.difference(&timed.output)
        {
            timed.refused = Some(format!("output differs in line {line}"));
        }
        Ok(timed)
    }

    fn time(&self, hints: Option<&Hints>) -> Result<Timed, Failure> {
        let mut times = Vec::new();
        let mut timed = Timed::default();
        for _ in 0..self.runs {
            let failed =
                |error: std::io::Error| Failure::Run(format!("the program's output: {error}"));
            let mut output = tempfile::tempfile().map_err(failed)?;
            let ran = run_in_front(
                self.command,
                hints,
                self.managed,
                Watched::In(output.try_clone().map_err(failed)?),
            )?;
            timed.output = read(&mut output).map_err(failed)?;
            if ran.exit_code != 0 {
                timed.refused = Some(format!("exit code {}", ran.exit_code));
                break;
            }
            let outcomes = ran.reports.iter().flat_map(|report| &report.outcomes);
            let left_out = outcomes.filter_map(|outcome| match outcome {
                Outcome::LeftOut(reason) => Some(reason.clone()),
                Outcome::NotReached => Some("its allocation or launch was not reached".to_owned()),
                Outcome::Made => None,
            });
            if let Some(reason) = left_out.into_iter().next() {
                timed.refused = Some(reason);
                break;
            }
            if ran.reports.is_empty() {
                timed.refused =
                    Some("it made no call to the CUDA driver that can be seen".to_owned());
                break;
            }
            times.push(ran.reports.iter().map(|report| report.gpu_ns).sum::<u64>());
        }
        times.sort_unstable();
        timed.gpu_ns = times.get(times.len() / 2).copied().unwrap_or(0);
        Ok(timed)
    }
}

/// `prefetch for a.cu:7`, and on top of how many changes.
fn name(answer: &Answer, tried: &Tried) -> String {
    let of = match &tried.change {
        Change::Mode(_) => "all memory",
        Change::Hint(hint) => answer.name_of(hint.site),
    };
    let others =
        tried.configuration.hints.len() + usize::from(tried.configuration.mode.is_some()) - 1;
    match others {
        0 => format!("{} for {of}", tried.change.name()),
        1 => format!("{} for {of}, and 1 more", tried.change.name()),
        others => format!("{} for {of}, and {others} more", tried.change.name()),
    }
}

/// A change, simulated and on the GPU.
struct Compared<'a> {
    /// The program as it is, simulated and on the GPU.
    plain_ns: (u64, u64),
    /// And with the change.
    simulated_ns: u64,
    timed: &'a Timed,
}

impl Compared<'_> {
    fn simulated(&self) -> f64 {
        self.plain_ns.0 as f64 / self.simulated_ns.max(1) as f64
    }

    /// What it gains on the GPU, if it counts there.
    fn measured(&self) -> Option<f64> {
        let gain = self.plain_ns.1 as f64 / self.timed.gpu_ns.max(1) as f64;
        self.timed.refused.is_none().then_some(gain)
    }

    fn verdict(&self) -> String {
        match (&self.timed.refused, self.measured()) {
            (None, Some(measured)) => verdict(self.simulated(), measured).to_owned(),
            (refused, _) => {
                let reason = refused.as_deref().unwrap_or_default();
                format!("not timed on the GPU: {reason}")
            }
        }
    }
}

#[rustfmt::skip]
fn metrics<'a>() -> [Metric<Compared<'a>>; 5] {
    [
        Metric::new("time_ns", TimeNs, "the program with it", |of| of.simulated_ns.into()),
        Metric::new("speedup", Ratio, "time_before_ns over time_ns", |of| of.simulated().into()),
        Metric::sometimes("gpu_ns", TimeNs, "on this machine's GPU: from the first launch and what is copied for it to the last wait or free, the median of the runs", |of| of.measured().map(|_| of.timed.gpu_ns.into())),
        Metric::sometimes("gpu_speedup", Ratio, "gpu_ns of the program as it is over gpu_ns", |of| Some(of.measured()?.into())),
        Metric::new("verdict", Text, "kept: part of the advice; otherwise why not", |of| of.verdict().into()),
    ]
}

fn row(change: &str, plain_ns: (u64, u64), simulated_ns: u64, timed: &Timed) -> Row {
    let row = Row::new()
        .parameter("table", GPU_ROW)
        .parameter("change", change);
    let compared = Compared {
        plain_ns,
        simulated_ns,
        timed,
    };
    metric::add(row, &metrics(), &compared)
}

/// Whether the simulation says of a change what the GPU says.
fn verdict(simulated: f64, measured: f64) -> &'static str {
    let side = |gain: f64| match gain {
        gain if gain > 1.0 + NOISE => 1,
        gain if gain < 1.0 - NOISE => -1,
        _ => 0,
    };
    match (side(simulated), side(measured)) {
        (one, other) if one == other => "both agree",
        (1, -1) | (-1, 1) => "they disagree: what gains in one costs in the other",
        (0, _) => "they disagree: no effect in the simulation",
        _ => "they disagree: no effect on the GPU",
    }
}

impl Measured {
    /// Adds its rows to the results.
    pub fn add_to(&self, set: &mut ResultSet) {
        let known = |name: &str| set.columns.iter().any(|column| column.name == name);
        let mut new = metric::columns(&metrics());
        new.retain(|column| !known(&column.name));
        set.columns.extend(new);
        set.rows.extend(self.rows.iter().cloned());
        // Times of a real machine differ from run to run.
        set.measured = true;
    }
}

/// The table of a terminal, if there is one.
pub fn table(set: &ResultSet) -> Option<String> {
    let shown = [
        "table",
        "change",
        "time_ns",
        "speedup",
        "gpu_ns",
        "gpu_speedup",
        "verdict",
    ];
    let mut table = set.part("table", GPU_ROW, &shown);
    table.title = "Simulated, and on this machine's GPU".to_owned();
    table.about = String::new();
    (!table.rows.is_empty()).then(|| render(&table, &TableStyle::for_stdout()))
}
