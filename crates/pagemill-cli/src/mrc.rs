//! `pagemill mrc`: the miss-ratio curve of a trace, for every number of page colors.

use std::fs::File;
use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressStyle};
use pagemill_report::{OutputDir, ResultSet};
use pagemill_run::mrc::{Mrc, MrcError, MrcSpec};
use pagemill_trace::open;

use crate::args::MrcArguments;
use crate::failure::Failure;
use crate::output::{print_results, write_results};

/// Reads the trace once and tells the misses for every number of colors.
pub fn mrc(arguments: &MrcArguments) -> Result<(), Failure> {
    if let Some(out) = &arguments.out {
        OutputDir::check(out).map_err(Failure::BadOutput)?;
    }
    let spec = MrcSpec {
        title: format!("Miss-ratio curve of {}", arguments.trace.display()),
        cache_bytes: arguments.cache_bytes,
        ways: arguments.ways,
        line_bytes: arguments.line_bytes,
        page_bytes: arguments.page_bytes,
        sample_every: arguments.sample,
        exact: arguments.exact,
        stack_distance: arguments.stack_distance,
    };
    let mrc = Mrc::new(spec).map_err(|error| Failure::Usage(error.to_string()))?;
    let set = read(arguments, mrc)?;
    if let Some(out) = &arguments.out {
        write_results(out, &set)?;
    }
    print_results(&set, arguments.format)
}

/// The curves of the trace.
fn read(arguments: &MrcArguments, mut mrc: Mrc) -> Result<ResultSet, Failure> {
    let name = arguments.trace.display();
    let unreadable = |error: &dyn std::fmt::Display| Failure::Usage(format!("{name}: {error}"));
    let cut = |error: MrcError| Failure::Run(format!("{name}: {error}; no curve was written"));
    let file = File::open(&arguments.trace).map_err(|error| unreadable(&error))?;
    let bytes = file.metadata().map_or(0, |metadata| metadata.len());
    let progress = progress(bytes);
    let format = arguments.trace_format.map(Into::into);
    let input = progress.wrap_read(file);
    let mut trace = open(input, format, mrc.line_bytes()).map_err(|error| unreadable(&error))?;
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
    mrc.finish().map_err(|error| unreadable(&error))
}

fn progress(bytes: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template(
        "{bar:40} {bytes}/{total_bytes}, {elapsed} elapsed, {eta} left",
    );
    ProgressBar::new(bytes).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
}
