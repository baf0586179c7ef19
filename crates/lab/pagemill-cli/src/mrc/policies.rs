//! `pagemill mrc --policy`: miss curves of replacement policies.

use std::fs::File;
use std::path::Path;

use pagemill_report::ResultSet;
use pagemill_run::mrc::MrcError;
use pagemill_run::mrc::policies::{
    CacheSize, DEFAULT_SHARES, PolicyMrc, PolicyMrcSpec, Survey, Watch,
};
use pagemill_trace::{Format, Reference, View, detect, open};

use super::arguments::MrcArguments;
use super::{progress, subject};
use crate::failure::Failure;

/// The curves of the trace at `path`. It is read twice where sizes are shares or the sample is of a number of objects.
pub fn curves(arguments: &MrcArguments, path: &Path, title: String) -> Result<ResultSet, Failure> {
    let format = match arguments.format_of_trace() {
        Some(format) => format,
        None => {
            check_regular(
                arguments,
                path,
                "a pipe cannot be read twice, so its format is not looked for: name it with --trace-format",
            )?;
            let file = File::open(path).map_err(|error| unreadable(arguments, &error))?;
            detect(file).map_err(|error| unreadable(arguments, &error))?
        }
    };
    let spec = spec(arguments, format, title);
    let refused = |error: MrcError| Failure::Usage(error.to_string());
    spec.check().map_err(refused)?;
    let mut survey = None;
    if spec.needs_survey() {
        check_regular(
            arguments,
            path,
            "shares of all bytes, the default sizes and --sample-objects read the trace twice, which a pipe does not allow; give --sizes in bytes, and --sample-rate, or a file",
        )?;
        let mut first = Survey::new(&spec);
        read(arguments, path, format, |block| {
            first.touch(block);
            Ok(())
        })?;
        survey = Some(first);
    }
    let mut mrc = PolicyMrc::new(spec, survey).map_err(refused)?;
    read(arguments, path, format, |block| mrc.touch(block))?;
    mrc.finish().map_err(|error| unreadable(arguments, &error))
}

fn spec(arguments: &MrcArguments, format: Format, title: String) -> PolicyMrcSpec {
    let sizes = if arguments.sizes.is_empty() {
        DEFAULT_SHARES.map(CacheSize::Share).to_vec()
    } else {
        arguments.sizes.clone()
    };
    let watch = match (arguments.sample_rate, arguments.sample_objects) {
        (Some(rate), _) => Watch::Rate(rate),
        (None, Some(objects)) => Watch::Objects(objects.get()),
        (None, None) => Watch::All,
    };
    PolicyMrcSpec {
        title,
        policies: arguments.policies.clone(),
        sizes,
        ways: arguments.ways,
        // A size that does not fit is no power of two, and refused.
        line_bytes: u32::try_from(arguments.line_bytes).unwrap_or(0),
        are_objects: format.holds_objects(),
        ignore_sizes: arguments.ignore_sizes,
        watch,
        exact: arguments.exact,
        jobs: pagemill_run::available_cores(),
    }
}

fn unreadable(arguments: &MrcArguments, error: &dyn std::fmt::Display) -> Failure {
    Failure::Usage(format!("{}: {error}", subject(arguments)))
}

/// A pipe cannot be read twice.
fn check_regular(arguments: &MrcArguments, path: &Path, why: &str) -> Result<(), Failure> {
    let metadata = std::fs::metadata(path).map_err(|error| unreadable(arguments, &error))?;
    if metadata.is_file() {
        return Ok(());
    }
    Err(unreadable(arguments, &why))
}

fn read(
    arguments: &MrcArguments,
    path: &Path,
    format: Format,
    mut touch: impl FnMut(&[Reference]) -> Result<(), MrcError>,
) -> Result<(), Failure> {
    let cut = |error: &dyn std::fmt::Display| {
        Failure::Run(format!(
            "{}: {error}; no curve was written",
            subject(arguments)
        ))
    };
    let file = File::open(path).map_err(|error| unreadable(arguments, &error))?;
    let bytes = file.metadata().map_or(0, |metadata| metadata.len());
    let progress = progress(bytes);
    let mut trace = open(progress.wrap_read(file), Some(format), View::Objects)
        .map_err(|error| unreadable(arguments, &error))?;
    let mut block = Vec::new();
    loop {
        trace.next_block(&mut block).map_err(|error| cut(&error))?;
        if block.is_empty() {
            progress.finish_and_clear();
            return Ok(());
        }
        touch(&block).map_err(|error| cut(&error))?;
    }
}
