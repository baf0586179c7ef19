//! Rows and page map of a profiled run, from events that Python reads.

use pagemill_run::profile::{self, Event, Recorded, Source, What, Why};
use pyo3::prelude::*;

use crate::error;
use crate::result_set::ResultSet;

/// An event: kind, start, end, address, amount, cause and name.
type Fields = (String, u64, u64, u64, u64, u32, Option<String>);

/// The results of `events`, which gives an iterator of them each time that it is called.
#[pyfunction]
pub fn profiled(
    of: &str,
    by: &str,
    title: String,
    recorded: [bool; 5],
    warnings: Vec<String>,
    events: &Bound<'_, PyAny>,
) -> PyResult<ResultSet> {
    let [kernels, copies, gpu_faults, cpu_faults, allocations] = recorded;
    let source = Source {
        of,
        by,
        recorded: Recorded {
            kernels,
            copies,
            gpu_faults,
            cpu_faults,
            allocations,
        },
    };
    let set = profile::results(source, |take| {
        for fields in events.call0()?.try_iter()? {
            take(event(fields?.extract()?)?)?;
        }
        Ok(())
    });
    let mut set = set.map_err(|refused| match refused {
        Refused::Said(reason) => error::InputError::new_err(reason),
        Refused::Raised(error) => error,
    })?;
    set.scenario = "nsight".to_owned();
    set.title = title;
    set.summary.warnings = warnings;
    Ok(ResultSet::new(set))
}

/// Why there are no results.
enum Refused {
    /// Something that events say.
    Said(String),
    /// What reading them raised.
    Raised(PyErr),
}

impl From<String> for Refused {
    fn from(reason: String) -> Self {
        Self::Said(reason)
    }
}

impl From<PyErr> for Refused {
    fn from(error: PyErr) -> Self {
        Self::Raised(error)
    }
}

fn event((kind, start_ns, end_ns, address, amount, cause, name): Fields) -> Result<Event, Refused> {
    let why = Why::of_cupti(cause);
    let what = match kind.as_str() {
        "allocated" => What::Allocated(address, amount, name),
        "kernel" => What::Kernel(name.unwrap_or_default()),
        "gpu fault" => What::GpuFault(address, amount),
        "cpu fault" => What::CpuFault(address),
        "to gpu" => What::Came(address, amount, why),
        "to cpu" => What::Left(address, amount, why),
        "copied" => What::Copied,
        "freed" => What::Freed(address, amount),
        other => return Err(Refused::Said(format!("{other} is no kind of event"))),
    };
    Ok(Event {
        start_ns,
        end_ns,
        what,
    })
}
