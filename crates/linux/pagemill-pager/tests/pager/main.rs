//! Programs over paged memory against the same programs over plain memory.

mod alone;
mod failing;
mod files;
mod forks;
mod in_thread;
mod limits;
mod memory;
mod programs;

use std::num::NonZeroUsize;
use std::path::Path;

use pagemill_pager::store::{Compressed, Directory, Store, Tiered};
use pagemill_pager::{Config, Counters, Pager};

/// A pager with `budget_bytes` of frames, or `None` where this machine has no user faults of system calls.
fn pager(config: &Config, store: Box<dyn Store>) -> Option<Pager> {
    let counters = Counters::new(None).expect("memory");
    match Pager::start(config, store, counters) {
        Ok(pager) => Some(pager),
        Err(error) => {
            let text = error.to_string();
            assert!(text.contains("cannot answer page faults"), "{text}");
            pagemill_testkit::skip("there is no userfaultfd with UFFDIO_MOVE for this user");
            None
        }
    }
}

fn config(budget_bytes: u64, shards: usize) -> Config {
    let mut config = Config::new(budget_bytes);
    config.shards = NonZeroUsize::new(shards).expect("at least one");
    config
}

/// Every kind of store that needs nothing but a folder.
fn stores(folder: &Path) -> Vec<Box<dyn Store>> {
    let file = |bytes| Box::new(Directory::open(folder, bytes).expect("a store"));
    vec![
        Box::new(Compressed::new(u64::MAX)),
        file(1 << 30),
        Box::new(Tiered::new(
            Box::new(Compressed::new(100 << 10)),
            file(1 << 30),
        )),
    ]
}
