//! What client and pool say to each other: one JSON object a message, descriptors beside it.
//!
//! | request | reply |
//! |---|---|
//! | `{"op":"lease","bytes":B,"page_bytes":P,"single_file":false,"wait_ms":0,"wait_for":"any"}` | `{"reply":"lease","lease":L,"files":[bytes,...],"more":false}` with one descriptor a file |
//! | `{"op":"return","lease":L}` | `{"reply":"returned","lease":L}` |
//! | `{"op":"status"}` | `{"reply":"status",...}` |
//! | `{"op":"metrics"}` | `{"reply":"metrics","text":"..."}` |
//!
//! Anything may be answered with `{"reply":"refused","reason":R,"message":M}`. A message that is not understood, or that
//! carries a descriptor, is refused and ends the connection. Closing the connection returns all its leases.

use serde::{Deserialize, Serialize};

/// Longest message, in bytes, in either direction.
pub const MESSAGE_BYTES_MAX: usize = 64 << 10;

/// Longest time that a request may wait for pages.
pub const WAIT_MS_MAX: u64 = 3_600_000;

/// What a client asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum Ask {
    /// Clean memory.
    Lease {
        /// How much; rounded up to pages.
        bytes: u64,
        /// Size of its pages.
        page_bytes: u64,
        /// Whether it has to be one file.
        #[serde(default)]
        single_file: bool,
        /// How long to wait where the pool has too little; 0 fails at once.
        #[serde(default)]
        wait_ms: u64,
        /// What to wait for.
        #[serde(default, skip_serializing_if = "WaitFor::is_any")]
        wait_for: WaitFor,
    },
    /// Memory back.
    Return {
        /// Which lease.
        lease: u64,
    },
    /// How the pool stands.
    Status {},
    /// The same in the text format of Prometheus.
    Metrics {},
}

/// What a request waits for where the pool has too little.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitFor {
    /// Any pages, also those that other programs have.
    #[default]
    Any,
    /// Pages that the pool clears now or next. A request that these cannot serve is refused at once.
    Cleaning,
}

impl WaitFor {
    fn is_any(&self) -> bool {
        *self == Self::Any
    }
}

/// What the pool answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum Answer {
    /// Files of a lease, in the order of the descriptors. Lengths are of whole files: the last may be longer than needed.
    Lease {
        /// Its number, for the return.
        lease: u64,
        /// Length of each file.
        files: Vec<u64>,
        /// Whether another message with further files follows.
        more: bool,
    },
    /// The lease is no more.
    Returned {
        /// Which.
        lease: u64,
    },
    /// How the pool stands.
    Status(Status),
    /// Metrics in the text format of Prometheus.
    Metrics {
        /// The text.
        text: String,
    },
    /// No.
    Refused {
        /// For programs.
        reason: Reason,
        /// For people.
        message: String,
    },
}

/// Why the pool says no.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Too few clean pages, now or until the time was up.
    Exhausted,
    /// The user would have more than its share.
    Quota,
    /// More than the pool could ever lend at once.
    TooLarge,
    /// The pool has pages of another size.
    PageSize,
    /// The connection has no such lease.
    UnknownLease,
    /// Not a message of this protocol, or not now.
    Garbage,
    /// The pool itself failed.
    Failed,
}

/// How the pool stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Size of its pages.
    pub page_bytes: u64,
    /// Who clears.
    pub engine: String,
    /// Pages by state, over all shelves.
    pub pages: PageCounts,
    /// Open leases.
    pub leases: u64,
    /// Open connections.
    pub connections: u64,
    /// Requests that wait for pages.
    pub waiting: u64,
    /// Pages that each user is charged for.
    pub users: Vec<UserPages>,
    /// Programs that asked for pages: connected ones, then those that ended last.
    #[serde(default)]
    pub programs: Vec<ProgramUse>,
    /// Events since the pool was started.
    pub counters: Counters,
}

/// Pages by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageCounts {
    /// Ready to be lent.
    pub clean: u64,
    /// Being cleared.
    pub zeroing: u64,
    /// To be cleared.
    pub dirty: u64,
    /// Lent.
    pub lent: u64,
    /// Returned, yet still held by a process.
    pub returned: u64,
}

/// What one user is charged for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserPages {
    /// User number.
    pub user: u32,
    /// Pages lent, or returned and still held.
    pub pages: u64,
}

/// What one connection of a program asked for and got.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramUse {
    /// Process number; 0 where the pool cannot see it.
    pub process: i32,
    /// Its command, in printable ASCII; empty where the pool cannot see it.
    pub command: String,
    /// Whether it is still connected.
    pub is_connected: bool,
    /// Pages lent, returned ones too.
    pub lent_pages: u64,
    /// Pages of refused requests. Unchanged programs took them from the kernel.
    pub refused_pages: u64,
    /// Refused requests by reason.
    pub refused: Refusals,
}

/// Refused requests by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusals {
    /// Too few clean pages.
    pub exhausted: u64,
    /// The user would have passed its quota.
    pub quota: u64,
    /// More than the pool could ever lend.
    pub too_large: u64,
    /// Everything else.
    pub other: u64,
}

impl Refusals {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.exhausted + self.quota + self.too_large + self.other
    }

    /// Counts one more.
    pub fn count(&mut self, reason: Reason) {
        *match reason {
            Reason::Exhausted => &mut self.exhausted,
            Reason::Quota => &mut self.quota,
            Reason::TooLarge => &mut self.too_large,
            _ => &mut self.other,
        } += 1;
    }
}

/// Events since the pool was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Leases given.
    pub leases: u64,
    /// Pages lent.
    pub lent_pages: u64,
    /// Requests refused for want of pages.
    pub exhausted: u64,
    /// Requests refused for a quota.
    pub over_quota: u64,
    /// Connections ended for a message that was not understood.
    pub garbage: u64,
    /// Pages that the kernel cleared for fresh files.
    pub fresh_pages: u64,
    /// Pages that the engine cleared, to be lent to the same user again.
    pub recycled_pages: u64,
    /// Files that the pool could not fill or clear.
    pub failures: u64,
    /// CPU time of the cleaner.
    pub cleaner_cpu_ns: u64,
    /// Elapsed time of clearing.
    pub cleaner_wall_ns: u64,
}
