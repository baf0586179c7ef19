//! Miss-ratio curves.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pagemill_run::mrc::{Mrc, MrcError, MrcSpec};
use pagemill_trace::{Access, Reference, open};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

use crate::result_set::ResultSet;
use crate::{error, interrupt};

/// References between two looks at the stop flag.
const BLOCK: usize = 1 << 16;

#[pyfunction]
#[allow(
    clippy::too_many_arguments,
    reason = "the border to Python, which has keywords"
)]
pub fn mrc(
    py: Python<'_>,
    path: Option<String>,
    addresses: Option<Vec<u8>>,
    cache_bytes: u64,
    ways: u32,
    line_bytes: u64,
    page_bytes: u64,
    sample: u32,
    access_bytes: u32,
    stack_distance: bool,
) -> PyResult<ResultSet> {
    let title = path.as_deref().unwrap_or("an array of addresses");
    let spec = MrcSpec {
        title: format!("Miss-ratio curve of {title}"),
        cache_bytes,
        ways,
        line_bytes,
        page_bytes,
        sample_every: sample,
        exact: false,
        stack_distance,
    };
    let mut mrc = Mrc::new(spec).map_err(raised)?;
    let input = match &path {
        Some(path) => {
            Some(File::open(path).map_err(|error| PyOSError::new_err(format!("{path}: {error}")))?)
        }
        None => None,
    };
    let stop = interrupt::new_stop();
    let watched = Arc::clone(&stop);
    let work = move || {
        match input {
            Some(file) => read(&mut mrc, file, &watched)?,
            None => touch(
                &mut mrc,
                &addresses.unwrap_or_default(),
                access_bytes,
                &watched,
            )?,
        }
        mrc.finish()
    };
    let set = interrupt::run(py, &stop, work, |_| Ok(()))?.map_err(raised)?;
    Ok(ResultSet::new(set))
}

fn raised(error: MrcError) -> PyErr {
    match error {
        MrcError::Spec(message) => PyValueError::new_err(message),
        other => error::run(other),
    }
}

fn read(mrc: &mut Mrc, file: File, stop: &AtomicBool) -> Result<(), MrcError> {
    let mut trace = open(file, None)?;
    let mut block = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        trace.next_block(&mut block)?;
        if block.is_empty() {
            return Ok(());
        }
        mrc.touch(&block)?;
    }
    Ok(())
}

fn touch(mrc: &mut Mrc, addresses: &[u8], bytes: u32, stop: &AtomicBool) -> Result<(), MrcError> {
    let mut block = Vec::with_capacity(BLOCK);
    for chunk in addresses.chunks(8 * BLOCK) {
        block.clear();
        block.extend(chunk.as_chunks::<8>().0.iter().map(|address| Reference {
            address: u64::from_le_bytes(*address),
            bytes,
            task: 0,
            access: Access::Read,
        }));
        mrc.touch(&block)?;
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok(())
}
