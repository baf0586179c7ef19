//! What this process has from the pool.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use pagemill_linux::Mapping;
use pagemill_zero_client::{Client, Lease, Request, socket_path};

/// All memory of the pool starts at multiples of this.
pub const PAGE_BYTES: usize = 2 << 20;

pub struct Block {
    /// Unmapped by hand, since a program may have unmapped or replaced a part of it.
    pub bytes: usize,
    /// `None` in a forked child, whose copy the pool knows nothing of.
    lease: Option<Lease>,
}

#[derive(Default)]
pub struct Blocks {
    connection: Option<Connection>,
    blocks: BTreeMap<usize, Block>,
    /// The pool is not there: it is not looked for at every call.
    has_given_up: bool,
}

struct Connection {
    client: Client,
    /// Device and number of the socket: a program may close descriptors that it does not know, and reuse their numbers.
    identity: Option<(u64, u64)>,
}

static BLOCKS: Mutex<Option<Blocks>> = Mutex::new(None);

thread_local! {
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Acts on the blocks, unless this thread does so already: then what it allocates is the C library's business.
pub fn with_blocks<T>(act: impl FnOnce(&mut Blocks) -> T) -> Option<T> {
    if IS_INSIDE.replace(true) {
        return None;
    }
    let mut blocks = BLOCKS.lock().unwrap_or_else(PoisonError::into_inner);
    let result = act(blocks.get_or_insert_with(Blocks::default));
    drop(blocks);
    IS_INSIDE.set(false);
    Some(result)
}

/// Smallest `malloc` that comes from the pool, in bytes.
pub fn least_bytes() -> usize {
    /// 0: not looked up yet.
    static LEAST: AtomicUsize = AtomicUsize::new(0);
    match LEAST.load(Ordering::Relaxed) {
        0 => {
            let set = setting(c"PAGEMILL_ZERO_MIN").unwrap_or(4 << 20).max(1);
            LEAST.store(set, Ordering::Relaxed);
            set
        }
        known => known,
    }
}

/// Whether mappings without `MAP_HUGETLB` come from the pool.
pub fn takes_plain_mappings() -> bool {
    setting(c"PAGEMILL_ZERO_MMAP") == Some(1)
}

/// A number of the environment, read without allocating: it is wanted inside of `malloc`.
fn setting(name: &CStr) -> Option<usize> {
    // SAFETY: the name ends with a zero byte; what is returned is a string of the environment, or null.
    let text = unsafe {
        let text = libc::getenv(name.as_ptr());
        if text.is_null() {
            return None;
        }
        CStr::from_ptr(text)
    };
    text.to_str().ok()?.parse().ok()
}

impl Blocks {
    /// Clean memory, mapped; `None` where the pool has none to give.
    pub fn get(&mut self, bytes: usize) -> Option<usize> {
        let bytes = bytes.checked_next_multiple_of(PAGE_BYTES)?;
        let connection = self.connection()?;
        let lease = connection
            .client
            .lease(&Request::bytes(bytes as u64))
            .ok()?;
        let mapping = lease.map(true).ok()?;
        Some(self.keep(mapping, lease))
    }

    fn keep(&mut self, mapping: Mapping, lease: Lease) -> usize {
        let (start, bytes) = mapping.into_raw();
        let address = start.expose_provenance();
        let lease = Some(lease);
        self.blocks.insert(address, Block { bytes, lease });
        address
    }

    /// Bytes of the block that starts at `address`.
    pub fn bytes_of(&self, address: usize) -> Option<usize> {
        Some(self.blocks.get(&address)?.bytes)
    }

    /// Forgets a block that was unmapped, and gives it back.
    pub fn put(&mut self, address: usize) {
        let lease = self.blocks.remove(&address).and_then(|block| block.lease);
        if let (Some(lease), Some(connection)) = (lease, self.connection()) {
            // A pool that is gone has nothing to get back.
            let _ = connection.client.give_back(lease);
        }
    }

    /// Every block's address and length.
    pub fn all(&self) -> Vec<(usize, usize)> {
        let blocks = self.blocks.iter();
        blocks
            .map(|(&address, block)| (address, block.bytes))
            .collect()
    }

    /// In a forked child: the connection and the leases are the parent's.
    pub fn disown(&mut self) {
        self.connection = None;
        self.has_given_up = false;
        for block in self.blocks.values_mut() {
            block.lease = None;
        }
    }

    fn connection(&mut self) -> Option<&mut Connection> {
        if self
            .connection
            .as_ref()
            .is_some_and(Connection::is_replaced)
        {
            // The number is somebody else's now: not ours to close.
            std::mem::forget(self.connection.take());
        }
        if self.connection.is_none() && !self.has_given_up {
            match Client::connect(&socket_path()) {
                Ok(client) => {
                    let identity = identity(&client);
                    self.connection = Some(Connection { client, identity });
                }
                Err(_) => self.has_given_up = true,
            }
        }
        self.connection.as_mut()
    }
}

impl Connection {
    fn is_replaced(&self) -> bool {
        identity(&self.client) != self.identity
    }
}

fn identity(client: &Client) -> Option<(u64, u64)> {
    let mut stat = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: the kernel fills the structure, or says that it did not.
    let stat = unsafe {
        if libc::fstat(client.as_fd().as_raw_fd(), stat.as_mut_ptr()) != 0 {
            return None;
        }
        stat.assume_init()
    };
    Some((stat.st_dev, stat.st_ino))
}
