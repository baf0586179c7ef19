//! Prefetch in Python: which blocks come once faults in another were served.

use std::sync::Arc;

use pagemill_policy::residency::{Ahead, AheadEntry};
use pagemill_policy::surroundings::Surroundings;
use pagemill_types::Lent;
use pyo3::prelude::*;

use super::around::View;
use super::{Instance, Shared};

/// The entry under the policy's name.
pub(super) fn entry(shared: Arc<Shared>) -> Lent {
    let name = shared.name;
    let build = move || -> Option<Box<dyn Ahead>> {
        let policy = shared.instance(|_| Ok(Vec::new()));
        let view = View::of(&policy);
        Some(Box::new(Asked { policy, view }))
    };
    Box::leak(Box::new(AheadEntry {
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

impl Ahead for Asked {
    fn blocks(&self, around: &dyn Surroundings, ahead: &mut Vec<u32>) {
        let blocks = self.policy.ask("blocks", |policy| {
            let answer = policy.call_method1("blocks", (self.view.see(around),))?;
            let needed = "a list of numbers of blocks";
            let wrong = |_| self.policy.shared.wrong_type("blocks", &answer, needed);
            let blocks: Vec<u32> = answer.extract().map_err(wrong)?;
            let allocation = around.allocation();
            match blocks.iter().find(|block| !allocation.contains(block)) {
                None => Ok(blocks),
                Some(block) => Err(self.policy.shared.breach(
                    "blocks",
                    format!("{blocks:?}"),
                    format!(
                        "block {block} is not in the allocation of block {}, blocks {allocation:?}",
                        around.page()
                    ),
                )),
            }
        });
        let is_away = |block: &u32| around.valid_bytes(*block) == 0;
        ahead.extend(blocks.into_iter().flatten().filter(is_away));
    }

    fn tracks_faults(&self) -> bool {
        self.view.tracks_faults
    }
}
