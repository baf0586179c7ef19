//! What a page manager is asked, and what it answers.

use pagemill_types::Picos;

/// Where a GPU request comes from and goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asker {
    /// The SM that asks.
    pub sm: u32,
    /// The memory partition of the bytes.
    pub partition: usize,
}

/// A request for managed bytes whose translation is known.
#[derive(Clone, Copy, Debug)]
pub struct PageRequest {
    /// The first byte.
    pub address: u64,
    /// Bytes, all of one page.
    pub bytes: u32,
    /// Who asks.
    pub asker: Asker,
}

/// Answer to a GPU request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// The bytes are in GPU memory; the request goes on at this time.
    Here(Picos),
    /// The bytes arrive at this time.
    Arrives(Picos),
    /// There is no room to bring the bytes: the request asks again at this time.
    LooksUpAgain(Picos),
    /// The bytes are in CPU memory, and the request goes on there at this time.
    InPlace(Picos),
    /// The request sleeps: the page manager hands it back once it may be repeated.
    Waits,
}
