//! What a station counts, on the board, so that it can be read after the process has ended.

use std::sync::atomic::Ordering;

pub use pagemill_nic::Cause;
use pagemill_nic::NicCounts;

use crate::board::Board;

macro_rules! counters {
    ($($name:ident = $text:literal, $help:literal;)*) => {
        /// Something that is counted.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub enum Counter { $(#[doc = $help] $name,)* }

        impl Counter {
            /// All of them, in the order of the board.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Its name in reports.
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

counters! {
    Sends = "sends", "Messages that the program sent.";
    SentBytes = "sent_bytes", "Their bytes.";
    Receives = "receives", "Messages that the program received.";
    ReceivedBytes = "received_bytes", "Their bytes.";
    Writes = "rma_writes", "Writes to memory of others.";
    WrittenBytes = "rma_written_bytes", "Their bytes.";
    Reads = "rma_reads", "Reads of memory of others.";
    ReadBytes = "rma_read_bytes", "Their bytes.";
    TransfersOut = "transfers_out", "Transfers of the interface to others: messages, their protocol, RMA.";
    TransfersOutBytes = "transfers_out_bytes", "Their bytes.";
    TransfersIn = "transfers_in", "Transfers of others to the interface.";
    TransfersInBytes = "transfers_in_bytes", "Their bytes.";
    AttLookups = "att_lookups", "Look-ups of the address translation table.";
    AttMisses = "att_misses", "Look-ups that had to read the table in memory.";
    AttPrefetches = "att_prefetches", "Groups of the table that were read before they were needed.";
    AttWaitPs = "att_wait_ps", "Time from look-up to physical address, summed.";
    PortMisses = "port_misses", "Port states that had to be read from memory.";
    ErrorCompletions = "error_completions", "Operations of the program that ended with an error.";
    RejectedUnregistered = "rejected_unregistered", "Accesses of others with a key of no registration.";
    RejectedOutOfBounds = "rejected_out_of_bounds", "Accesses of others outside of the registration.";
    RejectedWrongKey = "rejected_wrong_key", "Accesses of others with the key of an earlier registration.";
    RejectedForeignPort = "rejected_foreign_port", "Accesses of others through a port that is not theirs.";
    SendSoftwarePs = "send_software_ps", "Virtual time in the library for sends.";
    ReceiveSoftwarePs = "receive_software_ps", "The same for receives.";
    WriteSoftwarePs = "write_software_ps", "The same for writes to memory of others.";
    ReadSoftwarePs = "read_software_ps", "The same for reads of memory of others.";
    SendWaitPs = "send_wait_ps", "Virtual time in which the program waited until a send was over.";
    ReceiveWaitPs = "receive_wait_ps", "The same for receives.";
    WriteWaitPs = "write_wait_ps", "The same for writes to memory of others.";
    ReadWaitPs = "read_wait_ps", "The same for reads of memory of others.";
    ProbeWaitPs = "probe_wait_ps", "Virtual time until a message arrived that the program looked for.";
    ClockPs = "clock_ps", "Virtual time that passed because the program read its clock and did nothing else.";
    StartPs = "start_ps", "Virtual time from the own end of MPI_Init to that of the last rank.";
    ComputePs = "compute_ps", "Virtual time between calls, for what the program computed.";
    ComputeLeftOutNs = "compute_left_out_ns", "CPU time between calls that took no virtual time.";
    ComputeUnreached = "compute_unreached", "Recorded charges for computing that the program did not reach.";
    ClockReadings = "clock_readings", "Times that the program read the virtual clock.";
    LateSteps = "late_steps", "Events that were seen after a later one had been processed.";
    ForcedSteps = "forced_steps", "Times that the order was given up because others made no progress.";
}

/// The counters of waits. Each has a share for each cause beside it.
pub const WAITS: [Counter; 5] = [
    Counter::SendWaitPs,
    Counter::ReceiveWaitPs,
    Counter::WriteWaitPs,
    Counter::ReadWaitPs,
    Counter::ProbeWaitPs,
];

/// Where the shares begin on the board.
const FIRST_SHARE: usize = 48;

const _: () = assert!(Counter::ALL.len() <= FIRST_SHARE);
const _: () = assert!(FIRST_SHARE + WAITS.len() * Cause::ALL.len() <= crate::board::COUNTERS);

/// The place on the board of the share that `cause` has in one of the [`WAITS`]; `None` for other counters.
pub fn share(wait: Counter, cause: Cause) -> Option<usize> {
    let place = WAITS.iter().position(|counter| *counter == wait)?;
    Some(FIRST_SHARE + place * Cause::ALL.len() + cause as usize)
}

/// The counters of one station.
#[derive(Clone, Copy)]
pub struct Counters {
    board: Board,
    station: u32,
}

impl Counters {
    /// Those of `station`.
    pub fn new(board: Board, station: u32) -> Self {
        Self { board, station }
    }

    /// Adds to one.
    pub fn add(&self, counter: Counter, amount: u64) {
        let word = self.board.counter(self.station, counter as usize);
        word.fetch_add(amount, Ordering::Relaxed);
    }

    /// Adds to the share that `cause` has in one of the [`WAITS`].
    pub fn add_share(&self, wait: Counter, cause: Cause, amount: u64) {
        if let Some(place) = share(wait, cause) {
            let word = self.board.counter(self.station, place);
            word.fetch_add(amount, Ordering::Relaxed);
        }
    }

    /// Replaces one.
    pub fn set(&self, counter: Counter, value: u64) {
        let word = self.board.counter(self.station, counter as usize);
        word.store(value, Ordering::Relaxed);
    }

    /// Takes over what the interface counted.
    pub fn set_all(&self, counts: &NicCounts) {
        let values = [
            (Counter::TransfersOut, counts.sent),
            (Counter::TransfersOutBytes, counts.sent_bytes),
            (Counter::TransfersIn, counts.received),
            (Counter::TransfersInBytes, counts.received_bytes),
            (Counter::AttLookups, counts.translation.lookups),
            (Counter::AttMisses, counts.translation.misses),
            (Counter::AttPrefetches, counts.translation.prefetches),
            (Counter::AttWaitPs, counts.translation.waited.0),
            (Counter::PortMisses, counts.port_misses),
            (Counter::RejectedUnregistered, counts.rejected.unregistered),
            (Counter::RejectedOutOfBounds, counts.rejected.out_of_bounds),
            (Counter::RejectedWrongKey, counts.rejected.wrong_key),
            (Counter::RejectedForeignPort, counts.rejected.foreign_port),
        ];
        for (counter, value) in values {
            self.set(counter, value);
        }
    }
}
