//! The pool as a source of memory.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};

use pagemill_linux::{Mapping, OsError};
use pagemill_mapping::call::{PAGE_BYTES, has};
use pagemill_mapping::plain;
use pagemill_mapping::{BlockId, Call, Kind, LentMemory, Source};
use pagemill_zero_client::{Client, ClientError, Exhausted, Lease, Request, socket_path};

use crate::allocator::OWN;
use crate::origin::Origin;
use crate::settings::{takes_plain_mappings, wait_ms};
use crate::warning;

/// What this process has from the pool.
pub static POOL: LentMemory<Pool> = LentMemory::new(Pool::default);

/// The pool, and what it lent.
pub struct Pool {
    origin: Origin,
    connection: Option<Connection>,
    leases: BTreeMap<BlockId, Lease>,
    /// The pool is not there: it is not looked for at every call.
    has_given_up: bool,
}

impl Default for Pool {
    fn default() -> Self {
        Self {
            origin: Origin::chosen(),
            connection: None,
            leases: BTreeMap::new(),
            has_given_up: false,
        }
    }
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
        let lent = match self.origin {
            Origin::Pool => self.borrow(block, bytes, |lease| {
                let (start, bytes) = lease.map(true)?.into_raw();
                let start = start.expose_provenance();
                Ok(start..start + bytes)
            }),
            origin => origin.map(bytes, Self::GRANULE),
        };
        self.or_kernel(bytes, lent)
    }

    fn lend_at(&mut self, block: BlockId, place: Range<usize>) -> bool {
        let bytes = place.len();
        let lent = match self.origin {
            Origin::Pool => self.borrow(block, bytes, |lease| {
                let mut start = place.start;
                for file in lease.files() {
                    let part = file.bytes.min(place.end - start);
                    // SAFETY: the place is mapped afresh and without access, so that no reference leads there.
                    unsafe { Mapping::map_over(file.descriptor.as_fd(), start, part, true)? };
                    start += part;
                }
                Ok(place)
            }),
            // The kernel's own answer is the one that is compared.
            _ => return false,
        };
        self.or_kernel(bytes, lent).is_some()
    }

    /// The kernel's private memory is copied by a fork as ever.
    fn is_native(&self, kind: Kind) -> bool {
        kind == Kind::Fork && self.origin.is_private()
    }

    fn make_plain(&mut self, extent: Range<usize>) -> Result<(), i32> {
        match self.origin.is_private() {
            // It always was.
            true => Ok(()),
            false => plain::copy_out(extent),
        }
    }

    fn discard(&mut self, part: Range<usize>) -> Result<(), i32> {
        self.origin.discard(part)
    }

    fn release_block(&mut self, block: BlockId) {
        let Some(lease) = self.leases.remove(&block) else {
            return;
        };
        if let Ok(connection) = self.connection() {
            // A pool that is gone has nothing to get back.
            let _ = connection.client.give_back(lease);
        }
    }

    /// Anonymous mappings that are readable and writable, and of whole huge pages: private ones anywhere, shared ones where the pool chooses.
    fn serves(call: &Call) -> bool {
        let [start, bytes, access, flags, _, offset] = call.arguments;
        const OTHERS: c_int = libc::MAP_FIXED_NOREPLACE | libc::MAP_GROWSDOWN | libc::MAP_32BIT;
        let is_shared = has(flags, libc::MAP_SHARED);
        let is_placed = has(flags, libc::MAP_FIXED);
        let is_where_asked = match is_placed {
            true => !is_shared && start.is_multiple_of(Self::GRANULE),
            false => start == 0,
        };
        let is_usual = access == (libc::PROT_READ | libc::PROT_WRITE) as usize;
        let is_huge = has(flags, libc::MAP_HUGETLB);
        let huge_size = (flags as c_int >> libc::MAP_HUGE_SHIFT) & libc::MAP_HUGE_MASK;
        let is_2_mib = huge_size == 0 || huge_size == libc::MAP_HUGE_2MB >> libc::MAP_HUGE_SHIFT;
        has(flags, libc::MAP_ANONYMOUS)
            && is_shared != has(flags, libc::MAP_PRIVATE)
            && flags as c_int & OTHERS == 0
            && offset.is_multiple_of(PAGE_BYTES)
            && is_where_asked
            && is_usual
            && bytes > 0
            && bytes.is_multiple_of(Self::GRANULE)
            && match (is_huge, is_shared) {
                (true, false) => is_2_mib && Origin::chosen().is_hugetlb(),
                (true, true) => is_2_mib && Origin::chosen() == Origin::Pool,
                (false, _) => !is_shared && takes_plain_mappings(),
            }
    }

    fn hold_heap() {
        OWN.hold();
    }

    fn let_go_heap() {
        OWN.let_go();
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
    /// What was lent, or a word about why the kernel's memory takes its place.
    fn or_kernel(&self, bytes: usize, lent: Result<Range<usize>, String>) -> Option<Range<usize>> {
        let counted_by = match self.origin {
            Origin::Pool => "; `pagemill zero status` counts such requests",
            _ => "",
        };
        lent.inspect_err(|why| warning::fell_back(bytes, why, counted_by))
            .ok()
    }

    /// Memory of the pool, mapped by `map`.
    ///
    /// # Errors
    /// Why there is none, for people.
    fn borrow(
        &mut self,
        block: BlockId,
        bytes: usize,
        map: impl FnOnce(&Lease) -> Result<Range<usize>, OsError>,
    ) -> Result<Range<usize>, String> {
        let client = &mut self.connection()?.client;
        // Clearing is faster than the kernel's faults; waiting for other programs might not be.
        let request =
            Request::bytes(bytes as u64).when_exhausted(Exhausted::WaitForCleaning(wait_ms()));
        let lease = match client.lease(&request) {
            Ok(lease) => lease,
            Err(error) => {
                if !matches!(error, ClientError::Refused { .. }) {
                    self.disconnect();
                }
                return Err(error.to_string());
            }
        };
        let mapped = match map(&lease) {
            Ok(mapped) => mapped,
            Err(error) => {
                let _ = client.give_back(lease);
                return Err(error.to_string());
            }
        };
        // The program may close descriptors that it does not know, and the mapping is all that is needed.
        self.leases.insert(block, lease.without_files());
        Ok(mapped)
    }

    /// Leases end with their connection: their numbers mean nothing to the next one.
    fn disconnect(&mut self) -> Option<Connection> {
        self.leases.clear();
        self.connection.take()
    }

    fn connection(&mut self) -> Result<&mut Connection, String> {
        let connection = self.connection.as_ref();
        if connection.is_some_and(Connection::is_replaced) {
            // The number is another file's now: not ours to close.
            std::mem::forget(self.disconnect());
        }
        if self.connection.is_none() {
            if self.has_given_up {
                return Err("there is no pool".to_owned());
            }
            // Looked for once.
            self.has_given_up = true;
            let client = Client::connect(&socket_path()).map_err(|error| error.to_string())?;
            self.has_given_up = false;
            let identity = identity(&client);
            self.connection = Some(Connection { client, identity });
        }
        (self.connection.as_mut()).ok_or_else(|| "there is no pool".to_owned())
    }
}

impl Connection {
    fn is_replaced(&self) -> bool {
        identity(&self.client) != self.identity
    }
}

fn identity(client: &Client) -> Option<(u64, u64)> {
    warning::identity(client.as_fd().as_raw_fd())
}
