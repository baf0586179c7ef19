//! Growth of faults in Python: a set of pages is an int with a bit for each.

use std::ops::Range;
use std::sync::Arc;

use pagemill_policy::residency::{BLOCK_PAGES, Growth, GrowthContext, GrowthEntry, PageMask};
use pagemill_types::Lent;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt};

use super::around::View;
use super::{Instance, Shared};

const MASK_BYTES: usize = BLOCK_PAGES as usize / 8;

/// The entry under the policy's name.
pub(super) fn entry(shared: Arc<Shared>) -> Lent {
    let name = shared.name;
    let build = move |density_percent: u32| -> Box<dyn Growth> {
        let policy =
            shared.instance(|py| Ok(vec![density_percent.into_pyobject(py)?.into_any().unbind()]));
        let view = View::of(&policy);
        Box::new(Asked { policy, view })
    };
    Box::leak(Box::new(GrowthEntry {
        name,
        summary: "written in Python",
        build: Box::leak(Box::new(build)),
    }))
}

#[derive(Debug)]
struct Asked {
    policy: Instance,
    view: View,
}

impl Growth for Asked {
    fn grow(&self, context: &GrowthContext<'_>) -> PageMask {
        let grown = self.policy.ask("grow", |policy| {
            let py = policy.py();
            let masks = [&context.resident, &context.faulted, &context.barred];
            let [resident, faulted, barred] = masks.map(|mask| int_of(py, mask));
            let around = self.view.see(context.around);
            let answer = policy.call_method1("grow", (resident?, faulted?, barred?, around))?;
            let needed = "an int with a bit for each of 512 pages";
            mask_of(&answer).ok_or_else(|| self.policy.shared.wrong_type("grow", &answer, needed))
        });
        grown.unwrap_or(context.faulted)
    }

    fn tracks_faults(&self) -> bool {
        self.view.tracks_faults
    }
}

fn int_of<'py>(py: Python<'py>, mask: &PageMask) -> PyResult<Bound<'py, PyAny>> {
    let mut bytes = [0u8; MASK_BYTES];
    for Range { start, end } in mask.stretches() {
        for page in start..end {
            bytes[page as usize / 8] |= 1 << (page % 8);
        }
    }
    let bytes = PyBytes::new(py, &bytes);
    py.get_type::<PyInt>()
        .call_method1("from_bytes", (bytes, "little"))
}

/// The set that an int stands for; `None` if it is none.
fn mask_of(answer: &Bound<'_, PyAny>) -> Option<PageMask> {
    let int = answer.cast::<PyInt>().ok()?;
    let bytes = int.call_method1("to_bytes", (MASK_BYTES, "little")).ok()?;
    let bytes: &[u8] = bytes.cast::<PyBytes>().ok()?.as_bytes();
    let is_set = |page: &u32| bytes[*page as usize / 8] >> (page % 8) & 1 != 0;
    Some((0..BLOCK_PAGES).filter(is_set).collect())
}
