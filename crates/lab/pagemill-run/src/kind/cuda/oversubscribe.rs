//! GPU memory that follows from what a program allocates.

use std::io::{Read, Seek, Write};

use pagemill_report::{ColumnKind, human};
use pagemill_scenario::{CudaPoint, CudaRun};
use pagemill_sim::{Allocated, Report};

use super::child;
use super::streams::Streams;
use crate::pool::PointError;

/// A factor may differ by so much from what was asked for, because GPU memory is given out in pages.
const TOLERANCE: f64 = 0.1;

/// GPU memory for the program of `spec`, which is run once without time to see what it allocates. `None` where the point asks
/// for no factor.
pub fn memory(spec: &CudaPoint) -> Result<Option<u64>, PointError> {
    let Some(factor) = spec.oversubscribe else {
        return Ok(None);
    };
    let program = &spec.command[0];
    note(&format!(
        "{program} runs twice: first without time, to see how much memory it allocates"
    ));
    let peak = measure(spec)?;
    let page_bytes = spec.transfer.page.bytes();
    let bytes = divide(&peak, factor, page_bytes)
        .map_err(|reason| PointError::Refused(format!("{program}: {reason}")))?;
    let real = peak.peak_bytes as f64 / bytes as f64;
    note(&format!(
        "{program} has {} at its peak, so it gets a GPU with {}: factor {real:.3}",
        human(&peak.peak_bytes.into(), ColumnKind::Bytes),
        human(&bytes.into(), ColumnKind::Bytes)
    ));
    if (real / factor - 1.0).abs() > TOLERANCE {
        note(&format!(
            "factor {real:.3} instead of {factor}: GPU memory is given out in pages of {}, and the program has \
             few; larger data come closer",
            human(&page_bytes.into(), ColumnKind::Bytes)
        ));
    }
    Ok(Some(bytes))
}

/// Runs the program without time, unseen, and says what it allocated.
fn measure(spec: &CudaPoint) -> Result<Allocated, PointError> {
    let failed = |error: std::io::Error| PointError::Failed(error.to_string());
    let mut errors = tempfile::tempfile().map_err(failed)?;
    let run = CudaRun {
        functional: true,
        ..CudaRun::default()
    };
    let streams = Streams::hidden(None, errors.try_clone().map_err(failed)?);
    let finished = child::run(spec, &run, None, streams)?;
    if finished.exit_code != 0 {
        let mut text = Vec::new();
        errors.rewind().map_err(failed)?;
        errors.read_to_end(&mut text).map_err(failed)?;
        // With standard error closed there is no reader left.
        let _ = std::io::stderr().write_all(&text);
        return Err(PointError::Failed(format!(
            "{} ended with exit code {} when it was run to see how much memory it allocates",
            spec.command[0], finished.exit_code
        )));
    }
    let reports = finished.results.iter().map(|results| &results.report);
    Ok(largest(reports))
}

/// Of several processes, each of which has the GPU for itself, what the largest has.
fn largest<'a>(reports: impl Iterator<Item = &'a Report>) -> Allocated {
    reports
        .map(|report| report.allocated)
        .max_by_key(|allocated| allocated.peak_bytes)
        .unwrap_or_default()
}

/// The GPU memory that `peak` is `factor` times of, in whole pages.
pub fn divide(peak: &Allocated, factor: f64, page_bytes: u64) -> Result<u64, String> {
    let Allocated {
        peak_bytes,
        fixed_peak_bytes: fixed,
        ..
    } = *peak;
    if peak_bytes == 0 {
        return Err(
            "it allocates no GPU memory, so there is nothing to divide by the factor: leave the factor out, or allocate with \
             cudaMallocManaged"
                .to_owned(),
        );
    }
    if fixed == peak_bytes {
        return Err(format!(
            "all of its {fixed} bytes are from cudaMalloc, which stay on the GPU and cannot exceed it: run it with --managed, or allocate them with \
             cudaMallocManaged"
        ));
    }
    let pages = (peak_bytes as f64 / factor / page_bytes as f64).round();
    let bytes = (pages as u64).max(1).saturating_mul(page_bytes);
    let least = fixed.saturating_add(page_bytes);
    if bytes < least && fixed > 0 {
        return Err(format!(
            "{fixed} of its {peak_bytes} bytes are from cudaMalloc and cannot leave the GPU; with factor {factor} GPU memory would \
             be {bytes} bytes: use a factor of at most {:.2}, --managed, or cudaMallocManaged",
            (peak_bytes as f64 / least as f64 * 100.0).floor() / 100.0
        ));
    }
    Ok(bytes)
}

fn note(text: &str) {
    // With standard error closed there is no reader left.
    let _ = writeln!(std::io::stderr(), "pagemill: {text}");
}

#[cfg(test)]
mod tests;
