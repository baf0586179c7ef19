//! The program's memory, as the interface reads and writes it.

/// Reads and writes bytes of the program. The provider's is the process' own memory; a test's is a table.
pub trait Memory: Send {
    /// Appends `bytes` bytes from `address` on to `to`.
    fn load(&self, address: u64, bytes: usize, to: &mut Vec<u8>);

    /// Writes `from` to `address`.
    fn store(&mut self, address: u64, from: &[u8]);
}

/// Linux maps nothing lower (`vm.mmap_min_addr`).
const FIRST_PAGE_BYTES: u64 = 4096;

/// The pieces of a buffer, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buffer {
    pieces: Vec<(u64, usize)>,
}

impl Buffer {
    /// A buffer in one piece.
    pub fn new(address: u64, bytes: usize) -> Self {
        Self {
            pieces: vec![(address, bytes)],
        }
    }

    /// A buffer of several pieces: address and length of each.
    pub fn of(pieces: impl IntoIterator<Item = (u64, usize)>) -> Self {
        Self {
            pieces: pieces.into_iter().collect(),
        }
    }

    /// Its length.
    pub fn bytes(&self) -> usize {
        self.pieces.iter().map(|(_, bytes)| bytes).sum()
    }

    /// Whether no piece lies on the first page of memory, which no program has. A null pointer with a length ends here.
    pub fn is_plausible(&self) -> bool {
        let mut pieces = self.pieces.iter();
        pieces.all(|(address, bytes)| *bytes == 0 || *address >= FIRST_PAGE_BYTES)
    }

    /// Where it starts.
    pub fn address(&self) -> u64 {
        self.pieces.first().map_or(0, |(address, _)| *address)
    }

    /// All of its bytes.
    pub fn load(&self, memory: &dyn Memory) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.bytes());
        for (address, length) in &self.pieces {
            memory.load(*address, *length, &mut bytes);
        }
        bytes
    }

    /// Fills it from its start on with `bytes`, as far as it goes.
    pub fn store(&self, memory: &mut dyn Memory, mut bytes: &[u8]) {
        for (address, length) in &self.pieces {
            let (now, later) = bytes.split_at(bytes.len().min(*length));
            memory.store(*address, now);
            bytes = later;
        }
    }
}
