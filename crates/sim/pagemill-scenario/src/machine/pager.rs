//! What the parts of the pager cost on a computer: files that `pagemill doctor pager` writes.

use pagemill_sim::paging::{BatchCost, PagerMachine, StoreCost};
use pagemill_types::Picos;

use super::{Machine, MachineFile};
use crate::document::{Node, Reader};
use crate::kind_names;
use crate::quantity::{self, Wrong};
use crate::sourced::SourcedSection;

/// The stores that a machine may describe.
pub(crate) const STORES: &[&str] = &[COMPRESSED, "folder", "server"];

/// The store that checks what it returns, by a hash of the compressed bytes.
const COMPRESSED: &str = "compressed";

/// Reads and checks the costs of `file`.
pub(crate) fn read(file: &MachineFile, reader: &Reader) -> Option<Machine<PagerMachine>> {
    Machine::read(file, kind_names::PAGER, reader, read_machine)
}

fn read_machine(root: &mut SourcedSection<'_>) -> Option<PagerMachine> {
    // Every section is read before the first `?`, so that all of its problems are reported at once.
    let fault = root.section("fault").map(|mut section| {
        let round_trip = section.value("round_trip", cost);
        let decide = section.value("decide", cost);
        (round_trip, decide)
    });
    let unit = root.section("unit").map(|mut section| {
        let hash = section.value("hash", cost);
        let zero = section.value("zero", cost);
        (hash, zero)
    });
    let take = root.section("take").and_then(read_batch);
    let give = root.section("give").and_then(read_batch);
    let stores = root.section("stores").and_then(read_stores);
    let ((round_trip, decide), (hash, zero)) = (fault?, unit?);
    Some(PagerMachine {
        round_trip: round_trip?,
        decide: decide?,
        take: take?,
        give: give?,
        hash: hash?,
        zero: zero?,
        stores: stores?,
    })
}

fn read_batch(mut section: SourcedSection<'_>) -> Option<BatchCost> {
    let call = section.value("call", cost);
    let unit = section.value("unit", cost);
    Some(BatchCost {
        call: call?,
        unit: unit?,
    })
}

/// The stores that the file describes: a computer may have no page server.
fn read_stores(mut stores: SourcedSection<'_>) -> Option<Vec<StoreCost>> {
    let read: Vec<Option<StoreCost>> = (STORES.iter())
        .filter_map(|name| {
            let present = stores.contains(name);
            present.then(|| {
                stores
                    .section(name)
                    .and_then(|found| read_store(name, found))
            })
        })
        .collect();
    read.into_iter().collect()
}

fn read_store(name: &str, mut store: SourcedSection<'_>) -> Option<StoreCost> {
    let put = store.section("put").and_then(read_batch);
    let get = store.section("get").and_then(read_batch);
    Some(StoreCost {
        name: name.to_owned(),
        put: put?,
        get: get?,
        checks_itself: name == COMPRESSED,
    })
}

fn cost(node: &Node) -> Result<Picos, Wrong> {
    match quantity::time(node)? {
        span if span <= Picos(1_000_000_000_000) => Ok(span),
        _ => Err(Wrong::new("it has to be at most 1 s")),
    }
}
