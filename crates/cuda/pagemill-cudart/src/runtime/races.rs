//! Two deeds of which neither knows the other: where they use the same bytes, one of them as a writer.

use pagemill_ptx::{Trace, Traces};

/// Clashes of two deeds that are looked for.
const CLASHES_MAX: usize = 64;

/// Bytes that a deed reads or writes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Use {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Whose bytes these are if a kernel did it.
    pub(super) trace: Option<Trace>,
}

impl Use {
    fn is_strong(&self) -> bool {
        self.trace.is_some_and(|trace| trace.is_strong())
    }
}

/// All that a deed reads and writes, each in the order of addresses.
#[derive(Clone, Debug, Default)]
pub(super) struct Uses {
    pub(super) reads: Vec<Use>,
    pub(super) writes: Vec<Use>,
}

impl Uses {
    pub(super) fn of_kernels(traces: Traces) -> Self {
        let list = |traces: Vec<Trace>| {
            let each = traces.into_iter().map(|trace| Use {
                start: trace.start,
                end: trace.end(),
                trace: Some(trace),
            });
            each.collect()
        };
        Self {
            reads: list(traces.reads),
            writes: list(traces.writes),
        }
    }

    /// How many bytes of `start..end` it writes in a way that nothing else may meet.
    pub(super) fn written(&self, start: u64, end: u64) -> (u64, Option<Use>) {
        let first = self.writes.partition_point(|own| own.end <= start);
        let own = self.writes[first..]
            .iter()
            .take_while(|own| own.start < end);
        own.filter(|own| !own.is_strong())
            .fold((0, None), |(bytes, any), own| {
                let part = own.end.min(end) - own.start.max(start);
                (bytes + part, any.or(Some(*own)))
            })
    }
}

/// Bytes that an earlier and a later deed both use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clash {
    pub(super) earlier: Use,
    pub(super) earlier_writes: bool,
    pub(super) later: Use,
    pub(super) later_writes: bool,
}

impl Clash {
    /// The first byte that both use.
    pub(super) fn address(&self) -> u64 {
        self.earlier.start.max(self.later.start)
    }
}

/// Where the two clash, the first places of each kind.
pub(super) fn clashes(earlier: &Uses, later: &Uses) -> Vec<Clash> {
    let mut found = Vec::new();
    for (olds, earlier_writes, news, later_writes) in [
        (&earlier.writes, true, &later.writes, true),
        (&earlier.writes, true, &later.reads, false),
        (&earlier.reads, false, &later.writes, true),
    ] {
        let clash_of = |later: &Use| {
            let first = olds.partition_point(|old| old.end <= later.start);
            let mut over = olds[first..].iter().take_while(|old| old.start < later.end);
            let earlier = over.find(|old| !(old.is_strong() && later.is_strong()))?;
            Some(Clash {
                earlier: *earlier,
                earlier_writes,
                later: *later,
                later_writes,
            })
        };
        found.extend(news.iter().filter_map(clash_of).take(CLASHES_MAX));
    }
    found
}

#[cfg(test)]
mod tests;
