//! The changes that were tried in the simulation, carried out on this machine's GPU and timed there.

use std::fs::File;
use std::io::{Read, Seek};

use pagemill_gpu::{Hints, Outcome};
use pagemill_report::table::{TableStyle, render};
use pagemill_report::{Column, ColumnKind, ResultSet, Row, Value};
use pagemill_run::advisor::{Answer, Configuration, Judge, Tried};
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
    runs: u32,
}

/// One configuration on the GPU.
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
        runs: arguments.gpu_runs.get(),
    };
    let plain = bench.time(None)?;
    if let Some(reason) = plain.refused {
        return Err(Failure::Run(format!(
            "{} fails on the GPU as it is: {reason}",
            arguments.command[0]
        )));
    }
    let mut judge = Judge::new(&plain.output, &arguments.ignored);
    // What differs from run to run is not the fault of a hint.
    judge.learn(&bench.time(None)?.output);
    let mut rows = vec![row(
        "as it is",
        answer.before_ns,
        &plain,
        (answer, plain.gpu_ns),
    )];
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
            Err(reason) => Timed::refused(reason),
        };
        rows.push(row(&name, tried.after_ns, &timed, (answer, plain.gpu_ns)));
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

impl Timed {
    fn refused(reason: &str) -> Self {
        Self {
            gpu_ns: 0,
            output: Vec::new(),
            refused: Some(reason.to_owned()),
        }
    }
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
        let mut timed = Timed {
            gpu_ns: 0,
            output: Vec::new(),
            refused: None,
        };
        for _ in 0..self.runs {
            let failed =
                |error: std::io::Error| Failure::Run(format!("the program's output: {error}"));
            let mut output = tempfile::tempfile().map_err(failed)?;
            let ran = run_in_front(
                self.command,
                hints,
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

fn read(file: &mut File) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// `prefetch for a.cu:7`, and on top of how many changes.
fn name(answer: &Answer, tried: &Tried) -> String {
    let of = match &tried.change {
        pagemill_run::advisor::Change::Mode(_) => "all memory".to_owned(),
        pagemill_run::advisor::Change::Hint(hint) => {
            let mut allocations = answer.allocations.iter();
            let found = allocations.find(|allocation| allocation.key == hint.site);
            found.map_or_else(String::new, |allocation| allocation.name.clone())
        }
    };
    let others =
        tried.configuration.hints.len() + usize::from(tried.configuration.mode.is_some()) - 1;
    match others {
        0 => format!("{} for {of}", tried.change.name()),
        1 => format!("{} for {of}, and 1 more", tried.change.name()),
        others => format!("{} for {of}, and {others} more", tried.change.name()),
    }
}

fn row(change: &str, simulated_ns: u64, timed: &Timed, (answer, plain_ns): (&Answer, u64)) -> Row {
    let simulated = answer.before_ns as f64 / simulated_ns.max(1) as f64;
    let row = Row::new()
        .parameter("table", GPU_ROW)
        .parameter("change", change)
        .metric("time_ns", simulated_ns)
        .metric("speedup", simulated);
    if let Some(reason) = &timed.refused {
        return row.metric("verdict", format!("not timed on the GPU: {reason}"));
    }
    let measured = plain_ns as f64 / timed.gpu_ns.max(1) as f64;
    row.metric("gpu_ns", timed.gpu_ns)
        .metric("gpu_speedup", measured)
        .metric("verdict", verdict(simulated, measured))
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
        let columns = [
            (
                "gpu_ns",
                ColumnKind::TimeNs,
                "on this machine's GPU: from the first launch and what is copied for it to the last wait or free, the median of the runs",
            ),
            (
                "gpu_speedup",
                ColumnKind::Ratio,
                "gpu_ns of the program as it is over gpu_ns",
            ),
        ];
        for (name, kind, doc) in columns {
            set.columns.push(Column::metric(name, kind, doc));
        }
        set.rows.extend(self.rows.iter().cloned());
        // Times of a real machine differ from run to run.
        set.measured = true;
    }
}

/// The table of a terminal, if there is one.
pub fn table(set: &ResultSet) -> Option<String> {
    let shown = [
        "change",
        "time_ns",
        "speedup",
        "gpu_ns",
        "gpu_speedup",
        "verdict",
    ];
    let mut table = set.clone();
    table
        .rows
        .retain(|row| row.get("table") == Some(&Value::from(GPU_ROW)));
    table
        .columns
        .retain(|column| shown.contains(&column.name.as_str()));
    table.title = "Simulated, and on this machine's GPU".to_owned();
    table.about = String::new();
    (!table.rows.is_empty()).then(|| render(&table, &TableStyle::for_stdout()))
}
