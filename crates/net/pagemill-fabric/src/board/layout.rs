/// Says that the memory is a board, and of which version.
pub const MAGIC: u64 = u64::from_le_bytes(*b"pgmfab07");

/// Processes that one job can have.
pub const STATIONS_MAX: usize = 64;

/// Counters that each station keeps on the board, so that they outlive it.
pub const COUNTERS: usize = 88;

/// Where things lie, in 64-bit words.
pub struct Layout;

impl Layout {
    pub const MAGIC: usize = 0;
    pub const LOCK: usize = 8;
    /// Stations that were ever given out.
    pub const JOINED: usize = 16;
    /// Stations that the job will have; 0 if unknown.
    pub const EXPECTED: usize = 17;
    /// Stations that have passed the start line.
    pub const STARTED: usize = 18;
    pub const MACHINE_LEN: usize = 24;
    /// Stations whose processes wait until there is news for them, a bit for each. Not in the lock's cache line.
    pub const WAITERS: usize = 26;
    /// Those of them that sleep, a bit for each.
    pub const SLEEPERS: usize = 27;
    /// Stations that share an interface, and how long a message between them takes in picoseconds.
    pub const NODE_RANKS: usize = 28;
    pub const NODE_LATENCY: usize = 29;
    pub const MACHINE: usize = 32;
    pub const MACHINE_BYTES: usize = 32 << 10;

    /// The pipe of each station, as a descriptor of the process that made the board; 0 if there is none.
    pub const BELLS: usize = Self::MACHINE + Self::MACHINE_BYTES / 8;
    const STATIONS: usize = Self::BELLS + STATIONS_MAX;
    const STATION_WORDS: usize = 128;
    pub const STATE: usize = 0;
    pub const PROCESS: usize = 1;
    /// No message that is not in a ring yet leaves this station before, in picoseconds.
    pub const BASE: usize = 2;
    pub const CLOCK: usize = 3;
    /// Endpoints that are open, a bit for each.
    pub const PORTS: usize = 4;
    /// Changes with every change that this station may wait for.
    pub const NEWS: usize = 5;
    pub const FIRST_COUNTER: usize = 8;

    const RINGS: usize = Self::STATIONS + STATIONS_MAX * Self::STATION_WORDS;
    /// Head, tail, and 256 KiB of data.
    pub const RING_WORDS: usize = 16 + (32 << 10);
    pub const WORDS: usize = Self::RINGS + STATIONS_MAX * STATIONS_MAX * Self::RING_WORDS;

    /// Where station `index` starts.
    pub fn station(index: u32) -> usize {
        assert!((index as usize) < STATIONS_MAX, "station {index}");
        Self::STATIONS + index as usize * Self::STATION_WORDS
    }

    /// Where the ring of a pair starts.
    pub fn ring(source: u32, dest: u32) -> usize {
        let (source, dest) = (source as usize, dest as usize);
        assert!(
            source < STATIONS_MAX && dest < STATIONS_MAX,
            "ring {source} -> {dest}"
        );
        Self::RINGS + (dest * STATIONS_MAX + source) * Self::RING_WORDS
    }
}

const _: () = assert!(Layout::FIRST_COUNTER + COUNTERS <= Layout::STATION_WORDS);
// One word has a bit for each station.
const _: () = assert!(STATIONS_MAX <= u64::BITS as usize);
