//! The table of stations: one for each process, with what the others must know of its time.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use super::Board;
use super::layout::{COUNTERS, Layout, STATIONS_MAX};
use super::lock::{Guard, is_alive};

/// A time that does not come.
pub const NEVER: u64 = u64::MAX;

const FREE: u64 = 0;
const JOINED: u64 = 1;
const GONE: u64 = 2;

/// Why a process has no station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinError {
    /// Every station is taken.
    Full,
    /// The rank that the launcher gave to this process has a station already.
    RankTaken {
        /// The rank.
        rank: u32,
    },
}

/// What is known of a station from the outside.
#[derive(Clone, Debug)]
pub struct StationView {
    /// Its number: the rank that the launcher gave, otherwise in the order of joining.
    pub index: u32,
    /// The process that has it, or had it last.
    pub process: u32,
    /// Whether its process has left in good order.
    pub is_gone: bool,
    /// Its clock when it last told, in picoseconds.
    pub clock_ps: u64,
    /// What it counted.
    pub counters: Vec<u64>,
}

/// What a station learns when it says how far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bases {
    /// The earliest time at which any other station can still send something that is not in a ring yet.
    pub others_ps: u64,
    /// Before this time, no other station of the node asks anything of the interface that they share. At the same time, the station
    /// with the lower number is the first.
    pub mates_ps: u64,
    /// Stations that wait and can go on now, a bit for each.
    pub can_go_on: u64,
}

/// The earliest base, whose it is, and the earliest among the rest.
struct TwoEarliest {
    first: (u64, u32),
    second_ps: u64,
}

impl TwoEarliest {
    fn of_others(&self, own: u32) -> u64 {
        match self.first.1 == own {
            true => self.second_ps,
            false => self.first.0,
        }
    }
}

/// The stations of a set.
fn bits(mut stations: u64) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let lowest = (stations != 0).then(|| stations.trailing_zeros())?;
        stations &= stations - 1;
        Some(lowest)
    })
}

impl Board {
    /// Takes a station. `rank` asks for that number; `expected` says how many the job will have.
    ///
    /// # Errors
    /// If there is none left, or the number is taken.
    pub fn join(&self, rank: Option<u32>, expected: Option<u32>) -> Result<u32, JoinError> {
        let _held = self.lock();
        let index = match rank {
            Some(rank) if rank as usize >= STATIONS_MAX => return Err(JoinError::Full),
            Some(rank) => rank,
            None => (0..STATIONS_MAX as u32)
                .find(|&index| self.state(index) == FREE)
                .ok_or(JoinError::Full)?,
        };
        if self.state(index) == JOINED {
            return Err(JoinError::RankTaken { rank: index });
        }
        self.set(index, Layout::PROCESS, u64::from(std::process::id()));
        self.set(index, Layout::BASE, 0);
        self.set(index, Layout::STATE, JOINED);
        let joined = self.words[Layout::JOINED].load(Ordering::Relaxed);
        self.words[Layout::JOINED].store(joined.max(u64::from(index) + 1), Ordering::Relaxed);
        if let Some(expected) = expected {
            let expected = u64::from(expected).min(STATIONS_MAX as u64);
            self.words[Layout::EXPECTED].store(expected, Ordering::Relaxed);
        }
        Ok(index)
    }

    /// Gives a station back: it sends nothing any more.
    pub fn leave(&self, index: u32) {
        let held = self.lock();
        self.set(index, Layout::BASE, NEVER);
        self.set(index, Layout::STATE, GONE);
        drop(held);
        self.notify_all();
    }

    /// Stations there are or will be.
    pub fn stations(&self) -> u32 {
        let count = |at: usize| self.words[at].load(Ordering::Relaxed) as u32;
        let stations = count(Layout::JOINED).max(count(Layout::EXPECTED));
        // Whatever a broken process wrote there.
        stations.min(STATIONS_MAX as u32)
    }

    /// Whether `index` is a station that a process holds.
    pub fn is_joined(&self, index: u32) -> bool {
        (index as usize) < STATIONS_MAX && self.state(index) == JOINED
    }

    /// Publishes which endpoints a station has, a bit for each.
    pub fn set_ports(&self, index: u32, ports: u32) {
        self.set(index, Layout::PORTS, u64::from(ports));
    }

    /// Whether a station has an endpoint.
    pub fn has_port(&self, index: u32, port: u32) -> bool {
        self.is_joined(index)
            && port < u64::BITS
            && self.get(index, Layout::PORTS) & (1 << port) != 0
    }

    /// Says that `own` sends nothing new before `at_ps`, and looks how far the others are. Held: so that a sender cannot lower
    /// the base in between. Stations that are expected and have not come count as at time 0.
    pub fn set_base(&self, _held: &Guard, own: u32, at_ps: u64, lookahead_ps: u64) -> Bases {
        let before_ps = self.get(own, Layout::BASE);
        self.set(own, Layout::BASE, at_ps);
        let earliest = self.two_earliest();
        let may_wake = if at_ps > before_ps {
            // A station that begins to wait after this look sees the new base before it sleeps.
            fence(Ordering::SeqCst);
            self.waiters().load(Ordering::SeqCst) & !(1 << own)
        } else {
            0
        };
        Bases {
            others_ps: earliest.of_others(own),
            mates_ps: self.mates(own),
            can_go_on: bits(may_wake)
                .filter(|index| self.can_go_on(*index, &earliest, lookahead_ps))
                .fold(0, |all, index| all | 1 << index),
        }
    }

    /// Whether what `index` waits for has come: the others are far enough for its earliest event. Before the start line, every
    /// change may be what it waits for.
    pub fn is_due(&self, index: u32, lookahead_ps: u64) -> bool {
        !self.has_started() || self.can_go_on(index, &self.two_earliest(), lookahead_ps)
    }

    /// Whether `index` can go on, and could not while the others were at `others_ps` only.
    pub(super) fn has_become_due(&self, index: u32, others_ps: u64, lookahead_ps: u64) -> bool {
        let earliest = self.two_earliest();
        earliest.of_others(index) > others_ps && self.can_go_on(index, &earliest, lookahead_ps)
    }

    fn can_go_on(&self, index: u32, earliest: &TwoEarliest, lookahead_ps: u64) -> bool {
        let horizon_ps = earliest.of_others(index).saturating_add(lookahead_ps);
        self.get(index, Layout::BASE) < horizon_ps.min(self.mates(index))
    }

    /// Before this time, no other station acts; at the same time, the one with the lower number is the first. Held: so that no base is
    /// lowered in between.
    pub fn turn(&self, _held: &Guard, own: u32) -> u64 {
        self.first_of(0..self.stations(), own)
    }

    fn mates(&self, own: u32) -> u64 {
        let node = self.node();
        match node.is_shared() {
            true => self.first_of(node.mates(own), own),
            false => NEVER,
        }
    }

    fn first_of(&self, stations: Range<u32>, own: u32) -> u64 {
        let others = stations.filter(|other| *other != own && *other < self.stations());
        let bounds = others.map(|other| {
            let base_ps = self.get(other, Layout::BASE);
            base_ps.saturating_add(u64::from(other > own))
        });
        bounds.min().unwrap_or(NEVER)
    }

    fn two_earliest(&self) -> TwoEarliest {
        let mut found = TwoEarliest {
            first: (NEVER, u32::MAX),
            second_ps: NEVER,
        };
        for index in 0..self.stations() {
            let base_ps = self.get(index, Layout::BASE);
            if base_ps < found.first.0 {
                found.second_ps = found.first.0;
                found.first = (base_ps, index);
            } else {
                found.second_ps = found.second_ps.min(base_ps);
            }
        }
        found
    }

    /// Says that something reaches `index` at `at_ps` and may make it act then.
    pub fn lower_base(&self, _held: &Guard, index: u32, at_ps: u64) {
        let base = self.get(index, Layout::BASE);
        if self.state(index) == JOINED && at_ps < base {
            self.set(index, Layout::BASE, at_ps);
        }
    }

    /// Crosses the start line with the clock at `clock_ps`.
    pub fn start(&self, index: u32, clock_ps: u64) {
        let held = self.lock();
        self.publish_clock(index, clock_ps);
        let started = self.words[Layout::STARTED].load(Ordering::Relaxed);
        self.words[Layout::STARTED].store(started + 1, Ordering::Release);
        drop(held);
        self.notify_all();
    }

    /// Once all stations have crossed the start line: the latest clock among them.
    pub fn started(&self) -> Option<u64> {
        if !self.has_started() {
            return None;
        }
        let clocks = (0..self.stations()).map(|index| self.get(index, Layout::CLOCK));
        Some(clocks.max().unwrap_or(0))
    }

    /// Whether all stations have crossed the start line.
    pub fn has_started(&self) -> bool {
        let expected = self.words[Layout::EXPECTED].load(Ordering::Relaxed);
        self.words[Layout::STARTED].load(Ordering::Acquire) >= expected
    }

    /// Leaves the clock for readers of the board.
    pub fn publish_clock(&self, index: u32, clock_ps: u64) {
        self.set(index, Layout::CLOCK, clock_ps);
    }

    /// One of a station's counters.
    pub fn counter(&self, index: u32, counter: usize) -> &'static AtomicU64 {
        assert!(counter < COUNTERS, "counter {counter}");
        &self.words[Layout::station(index) + Layout::FIRST_COUNTER + counter]
    }

    /// Every station that was ever joined.
    pub fn views(&self) -> Vec<StationView> {
        let joined = (0..self.stations()).filter(|&index| self.state(index) != FREE);
        joined.map(|index| self.view(index)).collect()
    }

    /// Whether the process of a station lives.
    pub fn is_alive(&self, index: u32) -> bool {
        is_alive(self.get(index, Layout::PROCESS))
    }

    fn view(&self, index: u32) -> StationView {
        let counter = |counter| self.counter(index, counter).load(Ordering::Relaxed);
        StationView {
            index,
            process: self.get(index, Layout::PROCESS) as u32,
            is_gone: self.state(index) == GONE,
            clock_ps: self.get(index, Layout::CLOCK),
            counters: (0..COUNTERS).map(counter).collect(),
        }
    }

    fn state(&self, index: u32) -> u64 {
        self.get(index, Layout::STATE)
    }

    fn get(&self, index: u32, field: usize) -> u64 {
        self.words[Layout::station(index) + field].load(Ordering::Acquire)
    }

    fn set(&self, index: u32, field: usize, value: u64) {
        self.words[Layout::station(index) + field].store(value, Ordering::Release);
    }
}
