use super::sets::{Lookup, Sets};
use super::{CacheSpec, CacheSpecError, Keeps, Replacement, ReplacementEntry, Request};

/// A line that is expected last; values have two bits.
const DISTANT: u8 = 3;
/// Where a new line starts.
const LONG: u8 = 2;
/// One of so many lines of the bimodal policy starts as `LONG`, the others as `DISTANT`.
const BIMODAL_EVERY: u32 = 32;
/// Sets that always have one of the two policies.
const LEADERS: usize = 32;
/// The selector has ten bits.
const SELECTOR_MAX: u16 = 1023;

/// What decides where a new line of a set starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Always static.
    StaticLeader,
    /// Always bimodal.
    BimodalLeader,
    /// What misses less among the leaders.
    Follower,
}

/// Dynamic re-reference interval prediction (Jaleel et al., ISCA 2010), for last-level caches: a scan does not displace
/// what is used again. Leader sets compare two ways to place a new line, and the others follow.
#[derive(Debug)]
pub struct Drrip {
    sets: Sets,
    /// The predicted interval of each way of each set, 0 for soon.
    intervals: Vec<u8>,
    /// Above the middle, the static leaders miss more.
    selector: u16,
    /// Lines that were placed by the bimodal policy, modulo `BIMODAL_EVERY`.
    bimodal: u32,
    leaders: usize,
}

impl Drrip {
    /// How this policy is found.
    pub const ENTRY: ReplacementEntry = ReplacementEntry {
        name: "drrip",
        summary: "predicts when a line is used again, and compares two predictions in some sets, as last-level caches do",
        keeps: Keeps::Lines,
        build: |spec| Ok(Box::new(Self::new(spec)?)),
    };

    fn new(spec: &CacheSpec) -> Result<Self, CacheSpecError> {
        let sets = Sets::new(spec)?;
        Ok(Self {
            intervals: vec![DISTANT; sets.count() * sets.ways()],
            selector: SELECTOR_MAX / 2,
            bimodal: 0,
            leaders: LEADERS.min(sets.count() / 2),
            sets,
        })
    }

    /// Leaders are spread evenly: the first set of each of `leaders` groups is static, the one in the middle bimodal.
    fn role(&self, set: usize) -> Role {
        if self.leaders == 0 {
            return Role::Follower;
        }
        let group = self.sets.count() / self.leaders;
        match (set / group < self.leaders, set % group) {
            (true, 0) => Role::StaticLeader,
            (true, place) if place == group / 2 => Role::BimodalLeader,
            _ => Role::Follower,
        }
    }

    /// Where a new line of `set` starts. A miss of a leader moves the selector.
    fn first_interval(&mut self, set: usize) -> u8 {
        let is_bimodal = match self.role(set) {
            Role::StaticLeader => {
                self.selector = (self.selector + 1).min(SELECTOR_MAX);
                false
            }
            Role::BimodalLeader => {
                self.selector = self.selector.saturating_sub(1);
                true
            }
            Role::Follower => self.selector > SELECTOR_MAX / 2,
        };
        if !is_bimodal {
            return LONG;
        }
        self.bimodal = (self.bimodal + 1) % BIMODAL_EVERY;
        if self.bimodal == 0 { LONG } else { DISTANT }
    }

    /// The first way that is expected last. All of the set age until there is one.
    fn victim(&mut self, set: usize) -> usize {
        let ways = self.sets.ways();
        let intervals = &mut self.intervals[set * ways..][..ways];
        let mut last = (0, 0);
        for (way, interval) in intervals.iter().enumerate() {
            if *interval > last.1 || way == 0 {
                last = (way, *interval);
            }
        }
        let age = DISTANT - last.1;
        intervals.iter_mut().for_each(|interval| *interval += age);
        last.0
    }
}

impl Replacement for Drrip {
    fn request(&mut self, request: Request) -> bool {
        let set = self.sets.set_of(request.line);
        let ways = self.sets.ways();
        let way = match self.sets.find(set, request.line) {
            Lookup::Hit(way) => {
                self.intervals[set * ways + way] = 0;
                return true;
            }
            Lookup::Free(way) => way,
            Lookup::Full => self.victim(set),
        };
        self.intervals[set * ways + way] = self.first_interval(set);
        self.sets.fill(set, way, request.line);
        false
    }

    fn bytes(&self) -> u64 {
        self.sets.bytes()
    }
}
