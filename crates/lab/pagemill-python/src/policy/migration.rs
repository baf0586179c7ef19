//! Migration in Python. The answers of a policy that does not look around depend on the page's ranges and the request alone: they are
//! remembered, and most requests do not go through the interpreter.

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex};

use pagemill_policy::migration::{MigrationPolicy, MigrationSpec, PolicyEntry};
use pagemill_policy::surroundings::Surroundings;
use pagemill_types::{Lent, PageRange, RangeSet};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::around::View;
use super::ranges::Ranges;
use super::{Instance, Shared};
use crate::loaded::locked;

/// Answers that are remembered at most.
const ANSWERS_MAX: usize = 1 << 16;

/// The entry under the policy's name.
pub(super) fn entry(shared: Arc<Shared>) -> Lent {
    let name = shared.name;
    let build = move |spec: &MigrationSpec| -> Box<dyn MigrationPolicy> {
        Box::new(Asked::build(&shared, spec))
    };
    Box::leak(Box::new(PolicyEntry {
        name,
        summary: "written in Python",
        parameters: &["unit", "gap_threshold", "range_slots", "when_full"],
        build: Box::leak(Box::new(build)),
    }))
}

/// A policy object for pages of one size.
struct Asked {
    policy: Instance,
    /// What it sees around a page; `None` if it does not look.
    view: Option<View>,
    range_limit: Option<u32>,
    unit_bytes: u32,
    answers: Mutex<Answers>,
}

/// What was planned for ranges and a request, by their digest.
#[derive(Default)]
struct Answers {
    count: usize,
    by_digest: HashMap<u64, Vec<Answer>>,
}

struct Answer {
    valid: Box<[PageRange]>,
    request: PageRange,
    planned: Box<[PageRange]>,
}

impl Answers {
    fn digest(valid: &RangeSet, request: PageRange) -> u64 {
        let mut hasher = DefaultHasher::new();
        (valid.as_slice(), request).hash(&mut hasher);
        hasher.finish()
    }

    fn find(&self, digest: u64, valid: &RangeSet, request: PageRange) -> Option<&[PageRange]> {
        let same = |it: &&Answer| it.request == request && *it.valid == *valid.as_slice();
        let answers = self.by_digest.get(&digest)?;
        answers.iter().find(same).map(|it| &*it.planned)
    }

    fn keep(&mut self, digest: u64, valid: &RangeSet, request: PageRange, planned: &[PageRange]) {
        if self.count == ANSWERS_MAX {
            *self = Self::default();
        }
        self.count += 1;
        self.by_digest.entry(digest).or_default().push(Answer {
            valid: valid.as_slice().into(),
            request,
            planned: planned.into(),
        });
    }
}

impl fmt::Debug for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.policy.fmt(f)
    }
}

impl Asked {
    fn build(shared: &Arc<Shared>, spec: &MigrationSpec) -> Self {
        let policy = shared.instance(|py| {
            let keys = PyDict::new(py);
            keys.set_item("page_bytes", spec.page.bytes())?;
            keys.set_item("unit_bytes", spec.unit_bytes)?;
            keys.set_item("gap_threshold_bytes", spec.gap_threshold_bytes)?;
            keys.set_item("range_slots", spec.range_slots)?;
            Ok(vec![keys.into_any().unbind()])
        });
        let looks_around: bool = policy.attribute("looks_around", "True or False");
        Self {
            view: looks_around.then(|| View::of(&policy)),
            range_limit: policy.attribute("range_limit", "a number of ranges or None"),
            policy,
            unit_bytes: spec.unit_bytes,
            answers: Mutex::default(),
        }
    }

    fn ask(
        &self,
        page_bytes: u32,
        valid: &RangeSet,
        request: PageRange,
        around: &dyn Surroundings,
    ) -> Option<Vec<PageRange>> {
        self.policy.ask("plan", |policy| {
            let known = Ranges(valid.clone());
            let asked = (request.start, request.end);
            let answer = match self.view {
                None => policy.call_method1("plan", (page_bytes, known, asked)),
                Some(view) => {
                    let around = view.see(around);
                    policy.call_method1("plan", (page_bytes, known, asked, around))
                }
            }?;
            let needed = "a list of pairs (start, end) of bytes in the page";
            let wrong = |_| self.policy.shared.wrong_type("plan", &answer, needed);
            let ranges: Vec<(u32, u32)> = answer.extract().map_err(wrong)?;
            self.check(page_bytes, valid, request, &ranges)
                .map_err(|what| {
                    let asked =
                        format!("{ranges:?} for request {request} of a page of {page_bytes} B");
                    self.policy.shared.breach("plan", asked, what)
                })
        })
    }

    /// Holds the answer against the contract.
    fn check(
        &self,
        page_bytes: u32,
        valid: &RangeSet,
        request: PageRange,
        ranges: &[(u32, u32)],
    ) -> Result<Vec<PageRange>, String> {
        let unit_bytes = self.unit_bytes;
        let mut last_end = 0;
        let mut planned = Vec::with_capacity(ranges.len());
        for &(start, end) in ranges {
            let range = PageRange { start, end };
            if start >= end || end > page_bytes {
                return Err(format!("({start}, {end}) is no range within the page"));
            }
            if start < last_end {
                return Err("ranges must be ascending and disjoint".to_owned());
            }
            if !start.is_multiple_of(unit_bytes) || !end.is_multiple_of(unit_bytes) {
                return Err(format!("ranges must be whole units of {unit_bytes} B"));
            }
            if valid.overlaps(range) {
                return Err(format!(
                    "({start}, {end}) holds bytes that are valid already"
                ));
            }
            last_end = end;
            planned.push(range);
        }
        let moves = |missing: PageRange| {
            let mut reached = missing.start;
            for range in &planned {
                if range.start <= reached && reached < range.end {
                    reached = range.end;
                }
            }
            reached >= missing.end
        };
        match valid.missing(request).all(moves) {
            true => Ok(planned),
            false => Err("part of the request would stay in CPU memory".to_owned()),
        }
    }
}

impl MigrationPolicy for Asked {
    fn plan(
        &self,
        page_bytes: u32,
        valid: &RangeSet,
        request: PageRange,
        around: &dyn Surroundings,
        fetch: &mut Vec<PageRange>,
    ) {
        let digest = Answers::digest(valid, request);
        if self.view.is_none()
            && let Some(planned) = locked(&self.answers).find(digest, valid, request)
        {
            return fetch.extend_from_slice(planned);
        }
        // What keeps a run that is stopped sound until it ends.
        let Some(planned) = self.ask(page_bytes, valid, request, around) else {
            return fetch.extend(valid.missing(request));
        };
        if self.view.is_none() {
            locked(&self.answers).keep(digest, valid, request, &planned);
        }
        fetch.extend(planned);
    }

    fn tracks_faults(&self) -> bool {
        self.view.is_some_and(|view| view.tracks_faults)
    }

    fn range_limit(&self) -> Option<u32> {
        self.range_limit
    }
}
