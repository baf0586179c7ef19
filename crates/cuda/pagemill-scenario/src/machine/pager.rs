//! What the parts of the pager cost on a computer: files that `pagemill doctor pager` writes.

use pagemill_pages::paging::{BatchCost, PagerMachine, StoreCost};
use pagemill_types::Picos;

use super::Machine;
use crate::document::{Node, Reader};
use crate::keys::{keys, optional_section, read_key, section};
use crate::kind_names;
use crate::machine_files::MachineFile;
use crate::quantity::{Wrong, time};
use crate::sourced::SourcedSection;

/// The stores that a machine may describe.
pub(crate) const STORES: &[&str] = &[COMPRESSED, "folder", "server"];

/// The store that checks what it returns, by a hash of the compressed bytes.
const COMPRESSED: &str = "compressed";

/// Reads and checks the costs of `file`.
pub(crate) fn read(file: &MachineFile, reader: &Reader) -> Option<Machine<PagerMachine>> {
    Machine::read(file, kind_names::PAGER, reader, pager, |_| Ok(()))
}

keys! {
    fn pager() -> PagerMachine {
        round_trip = "fault.round_trip", decide = "fault.decide": cost,
        hash = "unit.hash", zero = "unit.zero": cost,
        take, give: section(batch),
        stores: section(stores),
    }

    fn batch() -> BatchCost {
        call, unit: cost,
    }
}

/// The stores that the file describes: a computer may have no page server.
fn stores(all: &mut SourcedSection<'_>) -> Option<Vec<StoreCost>> {
    let store = |name: &&str| {
        let costs = keys!(StoreCost {
            put, get: section(batch),
        } with { name: (*name).to_owned(), checks_itself: *name == COMPRESSED });
        read_key(all, name, optional_section(costs))
    };
    let read: Vec<Option<Option<StoreCost>>> = STORES.iter().map(store).collect();
    let described: Option<Vec<Option<StoreCost>>> = read.into_iter().collect();
    Some(described?.into_iter().flatten().collect())
}

fn cost(node: &Node) -> Result<Picos, Wrong> {
    match time(node)? {
        span if span <= Picos(1_000_000_000_000) => Ok(span),
        _ => Err(Wrong::new("it has to be at most 1 s")),
    }
}
