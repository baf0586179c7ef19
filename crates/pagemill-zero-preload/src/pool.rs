//! The pool as a source of memory.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};

use pagemill_mapping::call::has;
use pagemill_mapping::{BlockId, Call, LentMemory, Source};
use pagemill_zero_client::{Client, Lease, Request, socket_path};

use crate::settings::takes_plain_mappings;

/// What this process has from the pool.
pub static POOL: LentMemory<Pool> = LentMemory::new(Pool::default);

/// The pool, and what it lent.
#[derive(Default)]
pub struct Pool {
    connection: Option<Connection>,
    leases: BTreeMap<BlockId, Lease>,
    /// The pool is not there: it is not looked for at every call.
    has_given_up: bool,
}

struct Connection {
    client: Client,
    /// Device and number of the socket: a program may close descriptors that it does not know, and reuse their numbers.
    identity: Option<(u64, u64)>,
}

impl Source for Pool {
    const GRANULE: usize = 2 << 20;

    fn lend(&mut self, block: BlockId, bytes: usize) -> Option<Range<usize>> {
        let bytes = bytes.checked_next_multiple_of(Self::GRANULE)?;
        let client = &mut self.connection()?.client;
        let lease = client.lease(&Request::bytes(bytes as u64)).ok()?;
        let mapping = lease.map(true).ok()?;
        // The program may close descriptors that it does not know, and the mapping is all that is needed.
        self.leases.insert(block, lease.without_files());
        let (start, bytes) = mapping.into_raw();
        let start = start.expose_provenance();
        Some(start..start + bytes)
    }

    fn release_block(&mut self, block: BlockId) {
        let lease = self.leases.remove(&block);
        if let (Some(lease), Some(connection)) = (lease, self.connection()) {
            // A pool that is gone has nothing to get back.
            let _ = connection.client.give_back(lease);
        }
    }

    /// Anonymous private mappings that are readable and writable, anywhere, and of whole huge pages.
    fn serves(call: &Call) -> bool {
        let [start, bytes, access, flags, ..] = call.arguments;
        const PLACED: c_int = libc::MAP_FIXED | libc::MAP_FIXED_NOREPLACE | libc::MAP_GROWSDOWN;
        let is_private = has(flags, libc::MAP_ANONYMOUS) && has(flags, libc::MAP_PRIVATE);
        let is_shared = has(flags, libc::MAP_SHARED);
        let is_placed = start != 0 || has(flags, PLACED);
        let is_usual = access == (libc::PROT_READ | libc::PROT_WRITE) as usize;
        let is_huge = has(flags, libc::MAP_HUGETLB);
        let huge_size = (flags as c_int >> libc::MAP_HUGE_SHIFT) & libc::MAP_HUGE_MASK;
        let is_2_mib = huge_size == 0 || huge_size == libc::MAP_HUGE_2MB >> libc::MAP_HUGE_SHIFT;
        is_private
            && !is_shared
            && !is_placed
            && is_usual
            && bytes > 0
            && bytes.is_multiple_of(Self::GRANULE)
            && if is_huge {
                is_2_mib
            } else {
                takes_plain_mappings()
            }
    }

    fn reset_in_child(&mut self) {
        if self
            .connection
            .as_ref()
            .is_some_and(Connection::is_replaced)
        {
            std::mem::forget(self.connection.take());
        }
        // Closes this process's descriptor only: the parent's connection lives on.
        *self = Self::default();
    }
}

impl Pool {
    fn connection(&mut self) -> Option<&mut Connection> {
        let connection = self.connection.as_ref();
        if connection.is_some_and(Connection::is_replaced) {
            // The number is another file's now: not ours to close.
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
