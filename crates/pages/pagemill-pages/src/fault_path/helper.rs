use std::collections::VecDeque;

use pagemill_policy::zeroing::{JobId, Ledger, Refused};
use pagemill_types::Picos;

use super::machine::{EngineSpec, HelperSpec};

/// An order that the engine works on, or will.
#[derive(Clone, Copy, Debug)]
struct Order {
    job: JobId,
    done_at: Picos,
}

/// The helper: orders one after the other, in the order in which they came.
pub(super) struct Helper<'a> {
    spec: HelperSpec,
    engine: &'a EngineSpec,
    orders: VecDeque<Order>,
    free_at: Picos,
    pub pages: u64,
}

impl<'a> Helper<'a> {
    pub fn new(spec: HelperSpec, engine: &'a EngineSpec) -> Self {
        Self {
            spec,
            engine,
            orders: VecDeque::new(),
            free_at: Picos::ZERO,
            pages: 0,
        }
    }

    /// Orders the pages of `job` at a time; returns when they are clean.
    pub fn order(&mut self, at: Picos, job: JobId, pages: u64) -> Picos {
        // A helper at work takes the next order by itself; only one that sleeps has to be woken.
        let start = if self.free_at > at {
            self.free_at
        } else {
            at + self.spec.wake
        };
        let done_at = start + self.engine.launch + Picos(self.engine.page.0 * pages);
        self.free_at = done_at;
        self.pages += pages;
        self.orders.push_back(Order { job, done_at });
        done_at
    }

    /// When the first order is done, if there is one.
    pub fn next_done(&self) -> Option<Picos> {
        self.orders.front().map(|order| order.done_at)
    }

    /// Takes back the last order, of one page, at a time before it is done.
    pub fn take_back(&mut self, at: Picos) {
        self.orders.pop_back();
        // The CPU waited for this order, so none came after it: time goes back to where the one before ends.
        let before = self.orders.back().map_or(at, |order| order.done_at);
        self.free_at = before.max(at);
        self.pages -= 1;
    }

    /// Reports what is done by `now` to `ledger`, and asks it for more whenever the engine is idle.
    pub fn advance(&mut self, now: Picos, ledger: &mut Ledger) -> Result<(), Refused> {
        while let Some(order) = self.orders.front().copied() {
            if order.done_at > now {
                return Ok(());
            }
            self.orders.pop_front();
            ledger.done(order.job)?;
            if self.orders.is_empty() {
                // From then on, and not from `now`: the engine does not wait for a fault to look for work.
                self.refill(order.done_at, ledger);
            }
        }
        self.refill(now, ledger);
        Ok(())
    }

    /// Works until there is nothing to do; returns when that is.
    pub fn drain(&mut self, now: Picos, ledger: &mut Ledger) -> Result<Picos, Refused> {
        self.advance(now, ledger)?;
        let mut end = now;
        while let Some(order) = self.orders.back().copied() {
            end = end.max(order.done_at);
            self.advance(order.done_at, ledger)?;
        }
        Ok(end)
    }

    /// Its CPU time over `elapsed`.
    pub fn cpu(&self, elapsed: Picos) -> Picos {
        // A daemon that busy-waits, as the document's does (section 2), uses its core whether there is work or not.
        if self.spec.busy {
            elapsed
        } else {
            Picos(self.engine.cpu.0 * self.pages)
        }
    }

    fn refill(&mut self, at: Picos, ledger: &mut Ledger) {
        if !self.orders.is_empty() {
            return;
        }
        if let Some(batch) = ledger.take_batch() {
            self.order(at, batch.job, batch.pages.len() as u64);
        }
    }
}
