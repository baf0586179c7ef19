//! Changes to a program that are tried, and the calls that they stand for.

use pagemill_policy::residency::{Action, BLOCK_BYTES, Mechanism, Placement, STRATEGIES, Side};
use pagemill_wire::{Hint, Plan, SiteHint};

use super::Allocation;

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// A call for every allocation of a site.
    Hint(SiteHint),
    /// Calls for all managed memory, by the name of their transfer mode.
    Mode(&'static str),
}

/// A program with changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration {
    /// Calls for all managed memory.
    pub mode: Option<&'static str>,
    /// Calls for single sites.
    pub hints: Vec<SiteHint>,
    /// Whether the GPU is slower, which shows what of the output is about time.
    pub is_slower: bool,
}

impl Configuration {
    /// This with one more change.
    pub fn with(&self, change: &Change) -> Self {
        let mut changed = self.clone();
        match change {
            Change::Hint(hint) => changed.hints.push(hint.clone()),
            Change::Mode(mode) => changed.mode = Some(mode),
        }
        changed
    }

    /// What the runtime gives to the page manager.
    pub fn plan(&self) -> Plan {
        Plan {
            hints: self.hints.clone(),
        }
    }

    /// Whether `change` could add anything: a hint that is there already, or contradicts one, does not.
    pub fn allows(&self, change: &Change) -> bool {
        let Change::Hint(new) = change else {
            return self.hints.is_empty();
        };
        if new.hint == Hint::LeaveAlone && self.mode.is_none() {
            return false;
        }
        let mut own = self.hints.iter().filter(|hint| hint.site == new.site);
        own.all(|hint| {
            use Hint::{PreferGpu, Prefetch, ReadMostly, StayOnCpu};
            matches!(
                (&hint.hint, &new.hint),
                (ReadMostly | PreferGpu, Prefetch(_)) | (Prefetch(_), ReadMostly | PreferGpu)
            )
            // What stays on the CPU is neither copied nor brought.
            && !matches!((&hint.hint, &new.hint), (StayOnCpu, _) | (_, StayOnCpu))
        })
    }
}

/// The hints to try for an allocation, the most likely first.
pub fn for_site(allocation: &Allocation) -> Vec<Change> {
    let prefetch = Hint::Prefetch(allocation.first_launches.clone());
    let hints = [
        Hint::StayOnCpu,
        Hint::ReadMostly,
        prefetch,
        Hint::PreferGpu,
        Hint::LeaveAlone,
    ];
    let site = allocation.key;
    let changes = hints.into_iter().filter(|hint| match hint {
        Hint::Prefetch(launches) => launches.iter().any(Option::is_some),
        _ => true,
    });
    changes
        .map(|hint| Change::Hint(SiteHint { site, hint }))
        .collect()
}

/// The changes to the whole program, where its mode is `mode`.
pub fn for_program(mode: &str) -> Vec<Change> {
    let driven = STRATEGIES
        .iter()
        .filter(|entry| (entry.build)().mechanism() == Mechanism::Driver);
    let names: Vec<&'static str> = driven.map(|entry| entry.name).collect();
    if !names.contains(&mode) {
        return Vec::new();
    }
    let others = names.into_iter().filter(|name| *name != mode);
    others.map(Change::Mode).collect()
}

impl Change {
    /// What it is called in rows.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Mode(mode) => mode,
            Self::Hint(hint) => match hint.hint {
                Hint::ReadMostly => "read mostly",
                Hint::StayOnCpu => "stay on the CPU, accessed by the GPU",
                Hint::PreferGpu => "prefer the GPU",
                Hint::Prefetch(_) => "prefetch",
                Hint::LeaveAlone => "leave alone",
            },
        }
    }

    /// The calls to add to the program; `p` and `bytes` stand for the allocation.
    pub fn calls(&self) -> String {
        match self {
            Self::Mode(mode) => all_memory(mode),
            Self::Hint(hint) => {
                let actions: &[Action] = match hint.hint {
                    Hint::LeaveAlone => return LEFT_OUT.to_owned(),
                    Hint::ReadMostly => &[Action::ReadMostly],
                    Hint::PreferGpu => &[Action::PreferredLocation(Side::Gpu)],
                    Hint::StayOnCpu => {
                        &[Action::PreferredLocation(Side::Cpu), Action::AccessedByGpu]
                    }
                    Hint::Prefetch(_) => &[Action::Prefetch(Side::Gpu)],
                };
                let calls: Vec<String> = actions.iter().map(|&action| call_text(action)).collect();
                calls.join(" ")
            }
        }
    }
}

/// What stands where calls would.
const LEFT_OUT: &str = "none: the placement leaves it out";

/// The calls of a mode for a program that has more memory than the GPU.
fn all_memory(mode: &str) -> String {
    let Some(strategy) = STRATEGIES.iter().find(|entry| entry.name == mode) else {
        return String::new();
    };
    // A sample of it: eight stripes, six of which fit.
    let sample = Placement {
        allocation_bytes: 8 * BLOCK_BYTES,
        gpu_bytes: 6 * BLOCK_BYTES,
        stripe_bytes: BLOCK_BYTES,
    };
    let (mut calls, mut divides) = (Vec::new(), false);
    (strategy.build)().calls(&sample, &mut |call| {
        divides |= call.bytes != (0..sample.allocation_bytes);
        let text = call_text(call.action);
        if !calls.contains(&text) {
            calls.push(text);
        }
    });
    let each = match divides {
        true => format!("for the {mode} ranges of all managed memory"),
        false => "for each managed p".to_owned(),
    };
    format!("{each}: {}", calls.join(" "))
}

/// A call in the words of CUDA.
fn call_text(action: Action) -> String {
    let location = |side| match side {
        Side::Cpu => "cpu",
        Side::Gpu => "device",
    };
    let (what, side) = match action {
        Action::Prefetch(side) => {
            let side = location(side);
            return format!("cudaMemPrefetchAsync(p, bytes, {side}, stream);");
        }
        Action::Discard => return "cudaMemDiscardBatchAsync(&p, &bytes, 1, 0, stream);".to_owned(),
        Action::PreferredLocation(side) => ("SetPreferredLocation", location(side)),
        Action::NoPreferredLocation => ("UnsetPreferredLocation", "device"),
        Action::AccessedByGpu => ("SetAccessedBy", "device"),
        Action::NotAccessedByGpu => ("UnsetAccessedBy", "device"),
        Action::ReadMostly => ("SetReadMostly", "device"),
        Action::NotReadMostly => ("UnsetReadMostly", "device"),
    };
    format!("cudaMemAdvise(p, bytes, cudaMemAdvise{what}, {side});")
}

#[cfg(test)]
mod tests;
