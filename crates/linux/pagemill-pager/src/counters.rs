use std::os::fd::BorrowedFd;
use std::sync::atomic::Ordering;

use pagemill_linux::SharedWords;

macro_rules! counters {
    ($($name:ident $text:literal $help:literal),* $(,)?) => {
        /// What is counted. Its number is its place in the shared memory.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Count { $(#[doc = $help] $name),* }

        /// Every counter, its name in results, and what it is.
        pub const COUNTERS: &[(Count, &str, &str)] = &[$((Count::$name, $text, $help)),*];
    };
}

counters! {
    ReadFaults "read_faults" "Faults by reads.",
    WriteFaults "write_faults" "Faults by writes.",
    RepeatedFaults "repeated_faults" "Faults at units that another fault had brought meanwhile.",
    FetchedUnits "fetched_units" "Units read from the store.",
    ZeroUnits "zero_units" "Units of zeros that were made rather than read.",
    EvictedUnits "evicted_units" "Units that left their frames.",
    WrittenUnits "written_units" "Units written to the store, because they had changed.",
    WrittenBytes "written_bytes" "Bytes handed to the store.",
    SentBytes "sent_bytes" "Bytes that went to the store for them: of units that a page server has, only the lines of 64 bytes that changed.",
    CleanUnits "clean_units" "Units that left unchanged: nothing was written.",
    HeldUnits "held_units" "Units that could not leave, because a device or the kernel held them.",
    EvictedPages "evicted_pages" "Pages that were evicted.",
    ServiceNs "service_ns" "Time from the handler's reading of a fault to its end.",
    HandlerCpuNs "handler_cpu_ns" "CPU time of the handlers.",
    RecordedNs "recorded_ns" "Time that a page trace covers: from the pager's start until its last fault was answered.",
    MappedBytes "mapped_bytes" "Paged memory that the program has.",
    MappedBytesMax "mapped_bytes_max" "The most paged memory that the program had at a time.",
    ResidentUnits "resident_units" "Units in frames.",
    ResidentUnitsMax "resident_units_max" "The most units in frames at a time.",
    StoredUnits "stored_units" "Units in the store.",
    StoredBytes "stored_bytes" "Bytes that the store takes up.",
    StoredBytesMax "stored_bytes_max" "The most bytes that the store took up at a time.",
    StoreFailures "store_failures" "Calls of the store that failed.",
    Forks "forks" "Children of this process that have its paged memory.",
}

/// Counts of a pager, which other processes may look at.
#[derive(Debug)]
pub struct Counters {
    words: SharedWords,
}

impl Counters {
    /// Bytes of a file that holds them.
    pub const FILE_BYTES: u64 = 4096;

    /// Counters in `file`, of [`Counters::FILE_BYTES`], or of this process alone.
    ///
    /// # Errors
    /// The kernel refuses to map them.
    pub fn new(file: Option<BorrowedFd<'_>>) -> pagemill_linux::Result<Self> {
        let words = SharedWords::new(file, Self::FILE_BYTES as usize / 8)?;
        Ok(Self { words })
    }

    /// The value.
    pub fn get(&self, count: Count) -> u64 {
        self.words.words()[count as usize].load(Ordering::Relaxed)
    }

    pub(crate) fn add(&self, count: Count, more: u64) {
        self.words.words()[count as usize].fetch_add(more, Ordering::Relaxed);
    }

    pub(crate) fn subtract(&self, count: Count, less: u64) {
        self.words.words()[count as usize].fetch_sub(less, Ordering::Relaxed);
    }

    pub(crate) fn set(&self, count: Count, value: u64) {
        self.words.words()[count as usize].store(value, Ordering::Relaxed);
    }

    pub(crate) fn raise(&self, count: Count, value: u64) {
        self.words.words()[count as usize].fetch_max(value, Ordering::Relaxed);
    }
}
