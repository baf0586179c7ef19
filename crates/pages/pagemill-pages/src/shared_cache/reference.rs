use pagemill_types::VirtAddr;

/// One access of a task to its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The first byte. What lies on the next line too is a reference of its own.
    pub address: VirtAddr,
    /// Whether it writes.
    pub is_write: bool,
    /// Whether the task goes on only when the data is there, as with a pointer that is followed. Otherwise it goes on
    /// until the miss registers of its core are full.
    pub waits: bool,
}

/// The references of a task, in their order.
pub trait ReferenceStream {
    /// Replaces `block` by the next references; at the end it stays empty.
    ///
    /// # Errors
    /// What the references come from cannot be read.
    fn next_block(&mut self, block: &mut Vec<Reference>) -> Result<(), StreamError>;
}

/// Why a stream of references stops before its end.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StreamError(pub String);
