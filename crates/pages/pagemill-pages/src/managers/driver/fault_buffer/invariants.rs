//! The tables of the first-level TLBs, the order of the buffer and the lists of the blocks hold the same entries.

use pagemill_policy::residency::BLOCK_PAGES;
use pagemill_types::{Invariants, first_broken};

use super::{FaultBuffer, NONE, Table, Waiter};

impl<W: Waiter> FaultBuffer<W> {
    /// Pages that wait, of all tables.
    fn held(&self) -> usize {
        self.tables.iter().map(|table| table.pages.len()).sum()
    }

    fn is_in_place(&self, table: &Table<W>) -> bool {
        let mut places = table.pages.iter().zip(&table.entries).enumerate();
        table.pages.len() == table.entries.len()
            && places.all(|(slot, (&page, &entry))| {
                let entry = self.entries.get(entry as usize);
                entry.is_some_and(|entry| entry.slot as usize == slot && entry.page() == page)
            })
    }

    fn is_in_order(&self) -> bool {
        let mut places = (self.first_number..).zip(&self.order);
        places.all(|(number, ordered)| {
            let entry = self.entries.get(ordered.id as usize);
            ordered.id == NONE
                || entry.is_some_and(|it| it.number == number && it.page() == ordered.page)
        })
    }

    /// Entries in the lists of blocks; `None` if one is in the list of another block, or a list does not end.
    fn listed(&self) -> Option<usize> {
        let mut listed = 0;
        for (block, first) in self.of_block.iter().enumerate() {
            let mut at = *first;
            while at != NONE {
                let entry = self.entries.get(at as usize)?;
                listed += 1;
                // A list in a circle would never end: more steps than there are entries say so.
                if (entry.page() / BLOCK_PAGES) as usize != block || listed > self.entries.len() {
                    return None;
                }
                at = entry.next_of_block;
            }
        }
        Some(listed)
    }
}

impl<W: Waiter> Invariants for FaultBuffer<W> {
    fn broken_invariant(&self) -> Option<String> {
        let held = self.held();
        first_broken([
            (
                (self.tables.iter()).all(|table| table.pages.len() <= self.limit),
                "the table of a first-level TLB holds more pages than it has room for",
            ),
            (
                self.tables.iter().all(|table| self.is_in_place(table)),
                "an entry is not where the table of its first-level TLB has it",
            ),
            (
                self.is_in_order() && self.order.front().is_none_or(|first| first.id != NONE),
                "the order of the buffer is not that of the entries' numbers",
            ),
            (
                self.in_order().count() == held && self.entries.len() == held + self.free.len(),
                "an entry is neither waiting nor free",
            ),
            (
                self.listed() == Some(held),
                "the lists of the blocks do not hold each entry once",
            ),
        ])
    }
}

#[cfg(test)]
mod tests;
