//! Which calls make a CUDA program faster.

use std::io::Write;
use std::path::Path;
use std::sync::atomic::Ordering;

use pagemill_report::table::{TableStyle, render};
use pagemill_report::{ColumnKind, ResultSet, human};
use pagemill_run::Stdout;
use pagemill_run::advisor::{
    ALLOCATION_ROW, Answer, CHANGE_ROW, Configuration, Question, apply, calls_to_add, result_set,
    table_of,
};
use pagemill_scenario::CudaPoint;

use super::arguments::{On, ProgramArguments};
use super::machines::{self, MACHINE_ROW};
use super::on_gpu::{self, Measured};
use super::question::{failure, point, scenario};
use crate::cuda::memory_keys;
use crate::failure::Failure;
use crate::output::RunFormat;
use crate::output::{check_file, note, print_text, write_file};
use crate::progress;
use crate::run::interrupt;

/// Characters in a line of a table, where it does not go to a narrower terminal.
const WIDTH_MAX: u16 = 120;

/// Runs the program with one change at a time, and shows what gains.
pub fn advise(arguments: &ProgramArguments) -> Result<(), Failure> {
    let stop = interrupt::stop_programs_first();
    arguments.results.check()?;
    check_file(arguments.hints.as_deref())?;
    let memory = memory_keys(
        arguments.managed,
        arguments.oversubscribe,
        arguments.gpu_memory_bytes,
    );
    let scenario = scenario(arguments, &arguments.machine, &memory)?;
    let spec = point(&scenario)?;
    let question = Question {
        spec,
        runs: arguments.runs.get(),
        ignored: &arguments.ignored,
        stop: &stop,
    };
    let bar = progress::bar(
        "{bar:30} run {human_pos} of at most {human_len}, {elapsed} elapsed  {wide_msg}",
        question.runs as u64,
    );
    let answer = pagemill_run::advisor::advise(&question, &mut |runs, trying| {
        bar.set_position(runs as u64);
        bar.set_message(trying);
    });
    bar.finish_and_clear();
    let is_stopped = stop.load(Ordering::Relaxed);
    let answer = answer.map_err(|error| match is_stopped {
        true => Failure::Interrupted("interrupted before the program had run once".to_owned()),
        false => failure(error),
    })?;
    warn_of_unheeded(spec, &answer);
    let mut set = result_set(spec, &answer, scenario.seed);
    if is_stopped {
        arguments
            .results
            .hand_over(&set, || print(arguments, &set))?;
        let text = format!(
            "interrupted after {} of at most {} runs: this is what was known by then",
            answer.runs, question.runs
        );
        return Err(Failure::Interrupted(text));
    }
    if !arguments.machines.is_empty() || !arguments.factors.is_empty() {
        machines::add(arguments, &arguments.machine, &answer, &mut set)?;
    }
    let measured = match arguments.on {
        Some(On::Gpu) => Some(on_gpu::measure(arguments, spec, &answer)?),
        None => None,
    };
    if let Some(measured) = &measured {
        measured.add_to(&mut set);
    }
    arguments
        .results
        .hand_over(&set, || print(arguments, &set))?;
    if let Some(path) = &arguments.hints {
        write_hints(path, spec, &answer, measured)?;
    }
    let applied = match arguments.apply {
        true => Some(run_with_advice(arguments, spec, &answer)?),
        false => None,
    };
    match applied {
        None | Some(0) => Ok(()),
        Some(code) => Err(Failure::Program(code)),
    }
}

/// Writes the calls of the fastest program: on the GPU if it was asked, else in the simulation.
fn write_hints(
    path: &Path,
    spec: &CudaPoint,
    answer: &Answer,
    measured: Option<Measured>,
) -> Result<(), Failure> {
    let hints = match measured {
        Some(measured) => measured.best,
        None if answer.best == Configuration::default() => None,
        None => {
            let hints = pagemill_run::hints::of_configuration(spec, answer, &answer.best);
            Some(hints.map_err(Failure::Usage)?)
        }
    };
    let Some(hints) = hints else {
        return Err(Failure::Run(format!(
            "nothing that was tried makes the program faster, so {} was not written",
            path.display()
        )));
    };
    let text = hints.text().map_err(Failure::Run)?;
    write_file(path, |out| out.write_all(text.as_bytes()))?;
    note(&format!(
        "pagemill: {} has {} calls; carry them out by pagemill gpu run --hints {} -- {}",
        path.display(),
        hints.calls.len(),
        path.display(),
        spec.command.join(" ")
    ));
    Ok(())
}

fn warn_of_unheeded(spec: &CudaPoint, answer: &Answer) {
    if answer.tried.iter().all(|tried| tried.unheeded_hints == 0) {
        return;
    }
    let text = match spec.transfer.driver {
        Some(_) => format!(
            "read-mostly and accessed-by have no effect on {}, whose GPU walks the host's page tables",
            spec.machine.name
        ),
        None => format!(
            "hints of cudaMemAdvise have no effect under {}: choose on-demand, on a machine that has a driver",
            spec.transfer.mode
        ),
    };
    note(&format!("pagemill: {text}"));
}

/// Runs the program as the user sees it, with the calls that are advised; answers with its exit code.
fn run_with_advice(
    arguments: &ProgramArguments,
    spec: &CudaPoint,
    answer: &Answer,
) -> Result<u8, Failure> {
    let stdout = match arguments.results.format {
        RunFormat::Table => Stdout::Program,
        RunFormat::Json | RunFormat::Csv => Stdout::Results,
    };
    let run = apply(spec, answer.capacity_bytes, &answer.best, stdout);
    let (code, time_ns) = run.map_err(failure)?;
    note(&format!(
        "pagemill: with the calls that are advised, the program takes {} of simulated time instead of {}",
        human(&time_ns.into(), ColumnKind::TimeNs),
        human(&answer.before_ns.into(), ColumnKind::TimeNs)
    ));
    Ok(code)
}

fn print(arguments: &ProgramArguments, set: &ResultSet) -> Result<(), Failure> {
    let style = TableStyle::for_stdout().at_most(WIDTH_MAX);
    let parts = [ALLOCATION_ROW, CHANGE_ROW, MACHINE_ROW];
    let tables = parts.into_iter().filter_map(|part| {
        let table = match part {
            MACHINE_ROW => machines::table(set),
            _ => table_of(set, part),
        };
        (!table.rows.is_empty()).then(|| render(&table, &style))
    });
    let tables = tables.chain(on_gpu::table(set));
    let tables = tables.collect::<Vec<String>>().join("\n");
    let text = format!("{tables}{}{}\n", calls_to_add(set), set.about);
    if arguments.apply {
        // With standard error closed there is no reader left.
        let _ = write!(std::io::stderr(), "{text}");
        return Ok(());
    }
    print_text(&text)
}
