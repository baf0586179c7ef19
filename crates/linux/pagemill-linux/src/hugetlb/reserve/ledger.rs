//! Who added how many pages to the stock: written down before the stock changes, so that a killed process's pages are found.
//!
//! Each change of the stock is three steps: note the change, change the stock, note that it is done. A process can be killed
//! between any two. The next one finds the noted change and sees from the stock how far it got.

use serde::{Deserialize, Serialize};

use super::super::Stock;
use crate::Result;

/// What is on record for one size of pages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ledger {
    /// Pages of the stock that are not any holder's.
    pub base_pages: usize,
    /// Who added pages.
    pub holders: Vec<Holder>,
    /// A change that was begun, and not noted as done.
    pub change: Option<Change>,
}

/// Pages that a process added and has not given back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Holder {
    /// Process identity, a slash, and a number within it.
    pub name: String,
    pub pages: usize,
}

/// The stock on its way from one total to another, for a holder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Change {
    pub holder: String,
    pub from_pages: usize,
    pub to_pages: usize,
}

/// What the steps below touch. Each call is one step that a kill may come before or after.
pub(super) trait Machine {
    fn stock(&self) -> Result<Stock>;
    /// The kernel may give fewer pages than asked for.
    fn set_total(&mut self, pages: usize) -> Result<()>;
    fn load(&self) -> Result<Ledger>;
    /// Replaces the record as a whole, or fails and leaves it.
    fn save(&mut self, ledger: &Ledger) -> Result<()>;
    fn is_alive(&self, holder: &str) -> bool;
}

/// How many pages a holder needs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Want {
    /// So many that can be allocated now.
    Available(usize),
    /// So many more than there are.
    More(usize),
}

/// Pages that could not be had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lacking {
    pub wanted_pages: usize,
    pub found_pages: usize,
}

/// Adds what lacks for `name`, counting pages that dead processes left. Notes what the user should know.
///
/// `Ok(Err(..))`: the kernel has too little memory; the stock is as it was before, without the dead processes' pages.
pub(super) fn take(
    machine: &mut dyn Machine,
    name: &str,
    want: Want,
    notes: &mut Vec<String>,
) -> Result<std::result::Result<(), Lacking>> {
    let mut ledger = load_finished(machine, notes)?;
    adopt_dead(machine, &mut ledger, name, notes)?;
    let stock = machine.stock()?;
    let adopted_pages = ledger.pages_of(name);
    let own_pages = match want {
        Want::More(pages) => pages,
        Want::Available(pages) => (adopted_pages + pages).saturating_sub(stock.available_pages()),
    };
    let to_pages = (stock.total_pages + own_pages).saturating_sub(adopted_pages);
    let found = change(machine, &mut ledger, name, to_pages)?;
    if found >= to_pages {
        return Ok(Ok(()));
    }
    give_back(machine, name, notes)?;
    Ok(Err(Lacking {
        wanted_pages: own_pages.saturating_sub(adopted_pages),
        found_pages: found.saturating_sub(stock.total_pages),
    }))
}

/// Gives back what `name` added. Never takes what others added, or an explicit setting away.
pub(super) fn give_back(
    machine: &mut dyn Machine,
    name: &str,
    notes: &mut Vec<String>,
) -> Result<()> {
    let mut ledger = load_finished(machine, notes)?;
    let pages = ledger.pages_of(name);
    let total_pages = machine.stock()?.total_pages;
    let others: usize = ledger
        .holders
        .iter()
        .map(|holder| holder.pages)
        .sum::<usize>()
        - pages;
    let floor = ledger.base_pages + others;
    if total_pages > floor && pages > 0 {
        let to_pages = floor.max(total_pages.saturating_sub(pages));
        change(machine, &mut ledger, name, to_pages)?;
    }
    ledger.holders.retain(|holder| holder.name != name);
    machine.save(&ledger)
}

/// Gives back what processes that ended without doing so have added.
pub(super) fn give_back_dead(
    machine: &mut dyn Machine,
    name: &str,
    notes: &mut Vec<String>,
) -> Result<()> {
    let mut ledger = load_finished(machine, notes)?;
    adopt_dead(machine, &mut ledger, name, notes)?;
    give_back(machine, name, notes)
}

/// The record, with a change that was cut off counted as far as it got.
fn load_finished(machine: &mut dyn Machine, notes: &mut Vec<String>) -> Result<Ledger> {
    let mut ledger = machine.load()?;
    let total_pages = machine.stock()?.total_pages;
    if let Some(change) = ledger.change.take() {
        let (low, high) = (
            change.from_pages.min(change.to_pages),
            change.from_pages.max(change.to_pages),
        );
        if (low..=high).contains(&total_pages) {
            ledger.move_pages(&change.holder, change.from_pages, total_pages);
        } else {
            notes.push(format!(
                "the record of huge pages does not agree with the machine: process {} was changing their number from {} to {}, \
                 and there are {total_pages}; none of them is given back for it, check nr_hugepages",
                process_of(&change.holder),
                change.from_pages,
                change.to_pages
            ));
            ledger.holders.retain(|holder| holder.name != change.holder);
            ledger.base_pages = total_pages.saturating_sub(ledger.held_pages());
        }
        machine.save(&ledger)?;
    }
    // What others added since is theirs; without a record, everything is.
    if ledger.holders.is_empty() || total_pages > ledger.base_pages + ledger.held_pages() {
        ledger.base_pages = total_pages.saturating_sub(ledger.held_pages());
    }
    Ok(ledger)
}

/// Makes the pages of dead processes those of `name`.
fn adopt_dead(
    machine: &mut dyn Machine,
    ledger: &mut Ledger,
    name: &str,
    notes: &mut Vec<String>,
) -> Result<()> {
    let (alive, dead): (Vec<Holder>, Vec<Holder>) = std::mem::take(&mut ledger.holders)
        .into_iter()
        .partition(|holder| machine.is_alive(&holder.name));
    ledger.holders = alive;
    // An operator may have taken away by hand what the dead left.
    let total_pages = machine.stock()?.total_pages;
    let spare_pages = total_pages.saturating_sub(ledger.base_pages + ledger.held_pages());
    let left_pages: usize = dead.iter().map(|holder| holder.pages).sum();
    let adopted_pages = left_pages.min(spare_pages);
    for holder in &dead {
        notes.push(format!(
            "process {} ended without giving back {} huge pages",
            process_of(&holder.name),
            holder.pages
        ));
    }
    if adopted_pages < left_pages {
        notes.push(format!(
            "{} of these {left_pages} huge pages are gone already: the total was lowered to {total_pages} since",
            left_pages - adopted_pages
        ));
    }
    ledger.holders.push(Holder {
        name: name.to_owned(),
        pages: adopted_pages,
    });
    if dead.is_empty() {
        return Ok(());
    }
    machine.save(ledger)
}

/// Changes the total for `name`, with a record before and after. Returns the total found.
fn change(
    machine: &mut dyn Machine,
    ledger: &mut Ledger,
    name: &str,
    to_pages: usize,
) -> Result<usize> {
    let from_pages = machine.stock()?.total_pages;
    if from_pages == to_pages {
        machine.save(ledger)?;
        return Ok(from_pages);
    }
    ledger.change = Some(Change {
        holder: name.to_owned(),
        from_pages,
        to_pages,
    });
    machine.save(ledger)?;
    let changed = machine.set_total(to_pages);
    let found_pages = machine.stock()?.total_pages;
    ledger.change = None;
    ledger.move_pages(name, from_pages, found_pages);
    machine.save(ledger)?;
    changed.map(|()| found_pages)
}

impl Ledger {
    pub fn pages_of(&self, name: &str) -> usize {
        let own = self.holders.iter().find(|holder| holder.name == name);
        own.map_or(0, |holder| holder.pages)
    }

    fn held_pages(&self) -> usize {
        self.holders.iter().map(|holder| holder.pages).sum()
    }

    /// Counts the way of the stock from one total to another for a holder.
    fn move_pages(&mut self, name: &str, from_pages: usize, to_pages: usize) {
        let own = self.holders.iter_mut().find(|holder| holder.name == name);
        if let Some(holder) = own {
            holder.pages = (holder.pages + to_pages).saturating_sub(from_pages);
        }
    }
}

fn process_of(holder: &str) -> &str {
    holder.split(['-', '/']).next().unwrap_or(holder)
}
