//! A kernel as its users see it: what it computes, and what its launches have made and shown.

use pagemill_ptx_ir::code::entry::Entry;
use pagemill_ptx_native::Compiled;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// One `.entry`, ready to launch.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub(crate) entry: Entry,
    pub(crate) compiled: Arc<Compiled>,
    pub(crate) seen: Arc<Seen>,
}

impl Deref for Kernel {
    type Target = Entry;
    fn deref(&self) -> &Entry {
        &self.entry
    }
}

impl From<Entry> for Kernel {
    fn from(entry: Entry) -> Self {
        Self {
            entry,
            compiled: Arc::default(),
            seen: Arc::default(),
        }
    }
}

/// What launches of a kernel have shown.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Whether blocks that ran apart have met.
    pub have_met: AtomicBool,
    /// Whether steps of a warp, or what remains of its stores, may depend on when it makes them.
    pub depends_on_order: AtomicBool,
}
