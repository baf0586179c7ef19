//! Which warps stand still while a request waits for bytes on the link.

use pagemill_types::Picos;

/// Who stands still while a request waits for bytes on their way to the GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StallScope {
    /// The warp that needs the bytes; all others go on, also those that miss meanwhile.
    #[default]
    Requester,
    /// All warps of its SM. Requests that left the SM before go on.
    Sm,
    /// All warps of the GPU.
    Gpu,
}

/// Until when the warps of each SM stand still.
#[derive(Clone, Debug)]
pub(crate) struct Stall {
    scope: StallScope,
    until: Vec<Picos>,
}

impl Stall {
    pub(crate) fn new(scope: StallScope, sms: u32) -> Self {
        let clocks = match scope {
            // No clock: a warp that waits is not in the heap, and holds up none.
            StallScope::Requester => 0,
            StallScope::Sm => sms as usize,
            StallScope::Gpu => 1,
        };
        Self {
            scope,
            until: vec![Picos::ZERO; clocks],
        }
    }

    /// A request of `sm` waits until `arrival`.
    pub(crate) fn wait(&mut self, sm: u32, arrival: Picos) {
        if let Some(until) = self.until.get_mut(index(self.scope, sm)) {
            *until = arrival.max(*until);
        }
    }

    /// The first time from `now` on at which warps of `sm` may go on.
    #[inline]
    pub(crate) fn resumes(&self, sm: u32, now: Picos) -> Picos {
        let until = self.until.get(index(self.scope, sm));
        until.map_or(now, |&until| until.max(now))
    }
}

#[inline]
fn index(scope: StallScope, sm: u32) -> usize {
    match scope {
        StallScope::Sm => sm as usize,
        StallScope::Requester | StallScope::Gpu => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_stands_still_until_its_last_bytes_are_there() {
        let resumes = |scope| {
            let mut stall = Stall::new(scope, 2);
            stall.wait(1, Picos(70));
            stall.wait(1, Picos(50));
            [(0, 10), (1, 10), (1, 90)].map(|(sm, now)| stall.resumes(sm, Picos(now)).0)
        };
        assert_eq!(resumes(StallScope::Requester), [10, 10, 90]);
        assert_eq!(resumes(StallScope::Sm), [10, 70, 90]);
        assert_eq!(resumes(StallScope::Gpu), [70, 70, 90]);
    }
}
