//! `pagemill mrc`: the miss-ratio curve of a trace, or of a program, for every number of page colors.

mod arguments;
mod program;
mod record;
mod sources;

pub use arguments::MrcArguments;

use std::fs::File;
use std::path::Path;

use pagemill_report::ResultSet;
use pagemill_run::mrc::{Mrc, MrcError, MrcSpec};
use pagemill_trace::open;

use crate::failure::Failure;
use crate::output::{check_out, hand_over, print_results};
use crate::progress;

/// Records the program, if one is given, reads the trace once, and prints the misses for every number of colors.
pub fn mrc(arguments: &MrcArguments) -> Result<(), Failure> {
    check_out(arguments.out.as_deref())?;
    let recording = match &arguments.trace {
        Some(_) => None,
        None => {
            // What is wrong with the cache is said before the program is started.
            colors(arguments)?;
            Some(record::record(arguments)?)
        }
    };
    if let (Some(recording), Some(kept)) = (&recording, &arguments.keep_trace) {
        keep(&recording.trace, kept)?;
    }
    let recorded = recording.as_ref().map(|recording| &recording.trace);
    let Some(trace) = arguments.trace.as_ref().or(recorded) else {
        return Err(Failure::Usage("no trace and no program".to_owned()));
    };
    let set = read(arguments, trace, colors(arguments)?)?;
    hand_over(arguments.out.as_deref(), &set, || {
        print_results(&set, arguments.format)
    })
}

fn title(arguments: &MrcArguments) -> String {
    format!("Miss-ratio curve of {}", subject(arguments))
}

/// Empty caches of every number of colors.
fn colors(arguments: &MrcArguments) -> Result<Mrc, Failure> {
    let spec = MrcSpec {
        title: title(arguments),
        cache_bytes: arguments.cache_bytes,
        ways: arguments.ways,
        line_bytes: arguments.line_bytes,
        page_bytes: arguments.page_bytes,
        sample_every: arguments.sample,
        exact: arguments.exact,
        stack_distance: arguments.stack_distance,
    };
    Mrc::new(spec).map_err(|error| Failure::Usage(error.to_string()))
}

/// What the curve is of.
fn subject(arguments: &MrcArguments) -> String {
    match &arguments.trace {
        Some(trace) => trace.display().to_string(),
        None => record::title(&arguments.program),
    }
}

fn keep(trace: &Path, kept: &Path) -> Result<(), Failure> {
    std::fs::copy(trace, kept)
        .map(drop)
        .map_err(|error| Failure::Run(format!("cannot write {}: {error}", kept.display())))
}

/// The curves of the trace.
fn read(arguments: &MrcArguments, path: &Path, mut mrc: Mrc) -> Result<ResultSet, Failure> {
    let name = subject(arguments);
    let unreadable = |error: &dyn std::fmt::Display| Failure::Usage(format!("{name}: {error}"));
    let cut = |error: MrcError| Failure::Run(format!("{name}: {error}; no curve was written"));
    let file = File::open(path).map_err(|error| unreadable(&error))?;
    let bytes = file.metadata().map_or(0, |metadata| metadata.len());
    let progress = progress::bar(
        "{bar:40} {bytes}/{total_bytes}, {elapsed} elapsed, {eta} left",
        bytes,
    );
    let format = arguments.format_of_trace();
    let input = progress.wrap_read(file);
    let mut trace = open(input, format).map_err(|error| unreadable(&error))?;
    let mut block = Vec::new();
    loop {
        trace
            .next_block(&mut block)
            .map_err(|error| cut(error.into()))?;
        if block.is_empty() {
            break;
        }
        mrc.touch(&block).map_err(cut)?;
    }
    progress.finish_and_clear();
    mrc.finish().map_err(|error| match error {
        MrcError::Empty if arguments.trace.is_none() => Failure::Run(format!(
            "{name}: no reference was recorded{}",
            if arguments.all_references {
                ""
            } else {
                " (--all-references records those that hit the first cache, too)"
            }
        )),
        error => unreadable(&error),
    })
}
