//! The references of tasks: from built-in programs, and from traces.

use std::fs::File;

use pagemill_pages::shared_cache::{Reference, ReferenceStream, StreamError};
use pagemill_scenario::TaskSource;
use pagemill_trace::{Access, Trace, open};
use pagemill_types::VirtAddr;

use crate::RunOptions;

/// The references of `source`, from its start; they fail once the run is to end.
pub fn stream(
    source: &TaskSource,
    line_bytes: u32,
    options: &RunOptions,
) -> Result<Box<dyn ReferenceStream>, StreamError> {
    Ok(Box::new(Stoppable {
        inner: references(source, line_bytes)?,
        options: options.clone(),
    }))
}

struct Stoppable {
    inner: Box<dyn ReferenceStream>,
    options: RunOptions,
}

impl ReferenceStream for Stoppable {
    fn next_block(&mut self, block: &mut Vec<Reference>) -> Result<(), StreamError> {
        if self.options.is_stopped() {
            return Err(StreamError("stopped on request".to_owned()));
        }
        self.inner.next_block(block)
    }
}

fn references(
    source: &TaskSource,
    line_bytes: u32,
) -> Result<Box<dyn ReferenceStream>, StreamError> {
    match source {
        TaskSource::Program { info, values } => Ok(info.start(values)),
        TaskSource::Trace { path, task } => {
            let failed =
                |error: &dyn std::fmt::Display| StreamError(format!("{}: {error}", path.display()));
            let file = File::open(path).map_err(|error| failed(&error))?;
            let trace = open(file, None).map_err(|error| failed(&error))?;
            Ok(Box::new(TraceStream {
                name: path.display().to_string(),
                trace,
                task: *task,
                line_bytes: line_bytes.into(),
                block: Vec::new(),
            }))
        }
    }
}

/// One task of a trace. A trace does not tell what a task waits for: it waits for what it reads.
struct TraceStream {
    name: String,
    trace: Box<dyn Trace>,
    task: u16,
    line_bytes: u64,
    block: Vec<pagemill_trace::Reference>,
}

impl ReferenceStream for TraceStream {
    fn next_block(&mut self, block: &mut Vec<Reference>) -> Result<(), StreamError> {
        block.clear();
        // A block may be of other tasks only.
        while block.is_empty() {
            self.trace
                .next_block(&mut self.block)
                .map_err(|error| StreamError(format!("{}: {error}", self.name)))?;
            if self.block.is_empty() {
                break;
            }
            for reference in self
                .block
                .iter()
                .filter(|reference| reference.task == self.task)
            {
                let last = reference
                    .address
                    .saturating_add(u64::from(reference.bytes) - 1);
                let lines = reference.address / self.line_bytes..=last / self.line_bytes;
                block.extend(lines.map(|line| Reference {
                    address: VirtAddr((line * self.line_bytes).max(reference.address)),
                    is_write: reference.access == Access::Write,
                    waits: reference.access == Access::Read,
                }));
            }
        }
        Ok(())
    }
}
