//! A process that borrows from the pool, and what it may do wrong.

use std::collections::{BTreeMap, VecDeque};

use pagemill_testkit::simulated::{Network, Random};
use pagemill_zero_client::protocol::{Answer, Ask, Reason, WaitFor};

use super::kernel::{Content, FilePath, Opening};
use super::plan::{MS, PAGE_BYTES, PAGES_MAX};

/// Users; none is root, and none runs the pool.
pub const USERS: u32 = 3;
pub const FIRST_USER: u32 = 4_000_000_000;

/// A file that a client has open.
struct Held {
    opening: Opening,
    /// What it wrote to all pages, while it relies on that.
    wrote: Option<Content>,
}

/// A lease that a client has asked for.
struct Wish {
    bytes: u64,
    single_file: bool,
}

pub struct Client {
    pub acts_at_ns: u64,
    pub link: Option<usize>,
    /// No other client's, also not that of a former one.
    number: u64,
    user: u32,
    wishes: VecDeque<Wish>,
    /// Whether it waits for another answer.
    asks: bool,
    leases: BTreeMap<u64, Vec<Held>>,
    /// Files of a lease of which more files follow.
    parts: Vec<Held>,
    /// Files of leases that have ended.
    kept: Vec<Held>,
    paths: Vec<FilePath>,
}

impl Client {
    pub fn new(number: u64, random: &mut Random) -> Self {
        Self {
            acts_at_ns: random.below(100 * MS),
            link: None,
            number,
            user: FIRST_USER + random.below(u64::from(USERS)) as u32,
            wishes: VecDeque::new(),
            asks: false,
            leases: BTreeMap::new(),
            parts: Vec::new(),
            kept: Vec::new(),
            paths: Vec::new(),
        }
    }

    /// Looks at its connection, and does the next thing. What the pool did wrong.
    pub fn act(&mut self, network: &mut Network<Opening>) -> Result<(), String> {
        self.acts_at_ns = network.now_ns + MS + network.random.below(30 * MS);
        let held = self.leases.values().flatten();
        let mut held = held.chain(&self.parts).chain(&self.kept);
        let is_kept = |held: &Held| held.wrote.is_none_or(|wrote| held.opening.holds(wrote));
        if !held.all(is_kept) {
            return Err("bytes are lost that a client wrote to pages that it has".to_owned());
        }
        let Some(link) = self.link else {
            self.link = Some(network.connect(self.user));
            return Ok(());
        };
        while let Some((bytes, openings)) = network.take(link) {
            let answer = serde_json::from_slice(&bytes).expect("an answer of the protocol");
            self.hear(answer, openings, &mut network.random)?;
        }
        if network.is_over(link) {
            self.hang_up(network);
            return Ok(());
        }
        if self.wishes.is_empty() && !self.asks {
            self.ask(link, network);
        }
        if network.is_faulty() {
            self.misbehave(link, network);
        }
        Ok(())
    }

    fn hear(
        &mut self,
        answer: Answer,
        openings: Vec<Opening>,
        random: &mut Random,
    ) -> Result<(), String> {
        let Answer::Lease { lease, files, more } = answer else {
            self.hear_other(&answer);
            return Ok(());
        };
        let Some(Wish { bytes, single_file }) = self.wishes.front() else {
            return Err(format!("lease {lease} was not asked for"));
        };
        let (bytes, single_file) = (*bytes, *single_file);
        let lengths = openings.iter().map(|opening| opening.bytes() as u64);
        if lengths.ne(files) {
            return Err(format!("the files of lease {lease} have other lengths"));
        }
        for opening in openings {
            if !opening.holds(Content::Zero) {
                return Err(format!("lease {lease} has pages that are not clean"));
            }
            let wrote = (!random.one_in(4)).then_some(Content::Of(self.number));
            if let Some(content) = wrote {
                opening.write(content);
            }
            self.parts.push(Held { opening, wrote });
        }
        if more {
            return Ok(());
        }
        self.wishes.pop_front();
        let lent: u64 = (self.parts.iter())
            .map(|held| held.opening.bytes() as u64)
            .sum();
        if lent < bytes || single_file && self.parts.len() != 1 {
            return Err(format!("lease {lease} is too small or in pieces"));
        }
        let parts = std::mem::take(&mut self.parts);
        match self.leases.insert(lease, parts) {
            None => Ok(()),
            Some(_) => Err(format!("lease {lease} is given twice")),
        }
    }

    /// Hears what is no lease.
    fn hear_other(&mut self, answer: &Answer) {
        match answer {
            Answer::Returned { .. } | Answer::Status(_) => self.asks = false,
            Answer::Refused { reason, .. } => match reason {
                Reason::UnknownLease => self.asks = false,
                // It ends the connection.
                Reason::Garbage => {}
                _ => drop(self.wishes.pop_front()),
            },
            _ => {}
        }
    }

    fn ask(&mut self, link: usize, network: &mut Network<Opening>) {
        let random = &mut network.random;
        let kept = random.below(1 + self.kept.len() as u64) as usize;
        if random.one_in(8) && kept < self.kept.len() {
            self.kept.swap_remove(kept);
        }
        match random.below(6) {
            0 | 1 => self.ask_lease(link, network),
            2 | 3 => self.give_back(link, network),
            4 => {
                self.asks = true;
                network.ask(link, &Ask::Status {});
            }
            _ => {}
        }
    }

    fn ask_lease(&mut self, link: usize, network: &mut Network<Opening>) {
        let random = &mut network.random;
        let pages = 1 + random.below(PAGES_MAX);
        let bytes = pages * PAGE_BYTES as u64 - random.below(2) * random.below(PAGE_BYTES as u64);
        let single_file = random.one_in(4);
        let (page_bytes, wait_ms) = match random.below(12) {
            0 => (4096, 0),
            1..4 => (PAGE_BYTES as u64, 0),
            _ => (PAGE_BYTES as u64, random.below(600)),
        };
        let wait_for = match random.below(2) {
            0 => WaitFor::Any,
            _ => WaitFor::Cleaning,
        };
        self.wishes.push_back(Wish { bytes, single_file });
        let ask = Ask::Lease {
            bytes,
            page_bytes,
            single_file,
            wait_ms,
            wait_for,
        };
        network.ask(link, &ask);
    }

    /// Returns a lease; sometimes its memory stays mapped for a while.
    fn give_back(&mut self, link: usize, network: &mut Network<Opening>) {
        let Some((lease, held)) = self.leases.pop_first() else {
            return;
        };
        if network.random.one_in(3) {
            self.kept.extend(held);
        }
        self.asks = true;
        network.ask(link, &Ask::Return { lease });
    }

    /// Closes its connection, and goes on with what it has.
    fn hang_up(&mut self, network: &mut Network<Opening>) {
        if let Some(link) = self.link.take() {
            network.hang_up(link);
        }
        self.asks = false;
        self.wishes.clear();
        let leases = std::mem::take(&mut self.leases);
        self.kept.extend(leases.into_values().flatten());
        self.kept.append(&mut self.parts);
    }

    /// Ends, with all that it has.
    pub fn leave(&mut self, network: &mut Network<Opening>) {
        self.hang_up(network);
        self.kept.clear();
        self.paths.clear();
        self.acts_at_ns = u64::MAX;
    }

    fn misbehave(&mut self, link: usize, network: &mut Network<Opening>) {
        let random = &mut network.random;
        match random.below(80) {
            // Another process takes the place of the killed one; a child may have what it had.
            0 => {
                let child = random.one_in(2);
                self.hang_up(network);
                if !child {
                    self.kept.clear();
                    self.paths.clear();
                }
            }
            1 => self.hang_up(network),
            2 => network.send_bytes(link, b"{\"op\":\"nonsense\"}".to_vec()),
            3 => (0..20).for_each(|_| network.ask(link, &Ask::Metrics {})),
            4 => self.acts_at_ns = network.now_ns + random.below(1000 * MS),
            // The clock jumps: the machine slept.
            5 => network.jump(300 * MS),
            6 => self.ask_lease(link, network),
            7 => {
                let lease = random.below(40);
                if !self.leases.contains_key(&lease) {
                    network.ask(link, &Ask::Return { lease });
                }
            }
            8..16 => self.misuse(network),
            _ => {}
        }
    }

    /// Does with a file what the pool has to be prepared for.
    fn misuse(&mut self, network: &mut Network<Opening>) {
        let random = &mut network.random;
        let (paths, user) = (&self.paths, self.user);
        let openings = paths.iter().filter_map(|path| path.open(user));
        let reopened = openings.map(|opening| Held {
            opening,
            wrote: None,
        });
        let choice = random.below(5);
        if choice == 4 {
            self.kept.extend(reopened);
            return;
        }
        let held = self.leases.values_mut().flatten().chain(&mut self.kept);
        let mut held: Vec<&mut Held> = held.collect();
        if held.is_empty() {
            return;
        }
        let one = held.swap_remove(random.below(held.len() as u64) as usize);
        match choice {
            0 => one.opening.punch(),
            1 => one.opening.resize(),
            2 => self.paths.push(one.opening.path()),
            _ => {
                if let Some(content) = one.wrote {
                    one.opening.write(content);
                }
            }
        }
    }
}
