//! Connections of a server whose threads take turns with the world, so that a seed gives the same run.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Read, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pagemill_testkit::simulated::Random;

use super::plan::{Defect, QUIET};
use crate::remote::host::Host;
use crate::remote::stream::Connection;

/// Bytes that a connection holds unread.
const UNREAD_MAX: usize = 16 << 10;

/// What a server's thread waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    ToRead,
    ToWrite,
    /// It does not: it is new.
    No,
}

struct Link {
    to_server: VecDeque<u8>,
    to_client: VecDeque<u8>,
    client_is_open: bool,
    /// What the client sent and that it hung up arrive then.
    stalled_until: Duration,
    waits: Waits,
    /// A wait that has begun ends then.
    until: Option<Duration>,
    patience: Option<Duration>,
    /// When the server's thread has ended.
    ended: Option<Duration>,
    turned: Arc<Condvar>,
}

impl Link {
    /// Whether a read of the server returns.
    fn has_arrived(&self, now: Duration) -> bool {
        now >= self.stalled_until && !(self.to_server.is_empty() && self.client_is_open)
    }
}

struct State {
    /// The connection whose thread runs; without one, the world does.
    turn: Option<usize>,
    links: Vec<Link>,
    now: Duration,
    random: Random,
    defect: Option<Defect>,
}

/// Clock, chance, and connections.
pub struct Board {
    state: Mutex<State>,
    /// No thread of the server has the turn.
    world_turned: Condvar,
}

impl fmt::Debug for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Board")
    }
}

impl Board {
    pub fn new(seed: u64, defect: Option<Defect>) -> Self {
        let state = State {
            turn: None,
            links: Vec::new(),
            now: Duration::ZERO,
            random: Random(seed),
            defect,
        };
        Self {
            state: Mutex::new(state),
            world_turned: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn below(&self, limit: u64) -> u64 {
        self.state().random.below(limit)
    }

    pub fn one_in(&self, many: u64) -> bool {
        self.below(many) == 0
    }

    pub fn time(&self) -> Duration {
        self.state().now
    }

    pub fn pass(&self, time: Duration) {
        self.state().now += time;
    }

    /// A new connection.
    pub fn connect(self: &Arc<Self>) -> ServerEnd {
        let mut state = self.state();
        state.links.push(Link {
            to_server: VecDeque::new(),
            to_client: VecDeque::new(),
            client_is_open: true,
            stalled_until: Duration::ZERO,
            waits: Waits::No,
            until: None,
            patience: None,
            ended: None,
            turned: Arc::default(),
        });
        ServerEnd {
            board: Arc::clone(self),
            link: state.links.len() - 1,
        }
    }

    /// A client sends.
    pub fn send(&self, link: usize, bytes: impl Iterator<Item = u8>) {
        self.state().links[link].to_server.extend(bytes);
    }

    /// A client reads `bytes` bytes, if so many are there.
    pub fn take(&self, link: usize, bytes: usize) -> Option<Vec<u8>> {
        let unread = &mut self.state().links[link].to_client;
        (unread.len() >= bytes).then(|| unread.drain(..bytes).collect())
    }

    /// A client looks at the first byte.
    pub fn peek(&self, link: usize) -> Option<u8> {
        self.look(link, 1).map(|bytes| bytes[0])
    }

    /// A client looks at the first `bytes` bytes, if so many are there.
    pub fn look(&self, link: usize, bytes: usize) -> Option<Vec<u8>> {
        let unread = &self.state().links[link].to_client;
        (unread.len() >= bytes).then(|| unread.iter().copied().take(bytes).collect())
    }

    /// A client closes its end. What it sent may arrive long after.
    pub fn hang_up(&self, link: usize) {
        let mut state = self.state();
        let is_slow = state.now < QUIET && state.random.one_in(3);
        let late = Duration::from_millis(if is_slow {
            state.random.below(4_000)
        } else {
            0
        });
        let stalled_until = state.now + late;
        let link = &mut state.links[link];
        if link.client_is_open {
            link.stalled_until = stalled_until;
        }
        link.client_is_open = false;
        link.to_client.clear();
    }

    /// When the server's thread has ended.
    pub fn ended(&self, link: usize) -> Option<Duration> {
        self.state().links[link].ended
    }

    /// Connections whose threads have something to do.
    pub fn ready(&self) -> Vec<usize> {
        let state = self.state();
        let is_ready = |link: &Link| {
            let is_late = link.until.is_some_and(|until| until <= state.now);
            let goes_on = match link.waits {
                Waits::ToRead => link.has_arrived(state.now),
                Waits::ToWrite => !link.client_is_open || link.to_client.len() < UNREAD_MAX,
                Waits::No => true,
            };
            link.ended.is_none() && (is_late || goes_on)
        };
        let links = state.links.iter().enumerate();
        links
            .filter_map(|(link, one)| is_ready(one).then_some(link))
            .collect()
    }

    /// Lets the thread of a connection run until it waits or ends.
    pub fn run(&self, link: usize) {
        let mut state = self.state();
        state.turn = Some(link);
        state.links[link].turned.notify_one();
        while state.turn.is_some() {
            state = wait(&self.world_turned, state);
        }
    }

    fn await_turn<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        link: usize,
    ) -> MutexGuard<'a, State> {
        let turned = Arc::clone(&state.links[link].turned);
        while state.turn != Some(link) {
            state = wait(&turned, state);
        }
        state
    }

    /// Lets the world go on until this thread may again. `Err` says that its patience is over.
    fn give_turn<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        number: usize,
        waits: Waits,
    ) -> io::Result<MutexGuard<'a, State>> {
        let now = state.now;
        let link = &mut state.links[number];
        if link.until.is_some_and(|until| until <= now) {
            link.until = None;
            return Err(io::ErrorKind::WouldBlock.into());
        }
        link.waits = waits;
        link.until = link.until.or(link.patience.map(|patience| now + patience));
        state.turn = None;
        self.world_turned.notify_one();
        Ok(self.await_turn(state, number))
    }
}

fn wait<'a>(turned: &Condvar, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
    turned.wait(state).unwrap_or_else(PoisonError::into_inner)
}

impl Host for Arc<Board> {
    fn now(&self) -> Duration {
        let state = self.state();
        if state.defect == Some(Defect::ClockStands) {
            Duration::ZERO
        } else {
            state.now
        }
    }

    fn fill_random(&self, bytes: &mut [u8]) -> io::Result<()> {
        let mut state = self.state();
        if state.defect == Some(Defect::RepeatsRandomNumbers) {
            bytes.fill(7);
        } else {
            bytes.fill_with(|| state.random.next_u64() as u8);
        }
        Ok(())
    }
}

/// The server's end of a connection.
pub struct ServerEnd {
    board: Arc<Board>,
    pub link: usize,
}

impl ServerEnd {
    /// Runs a server's thread from its first turn to its end.
    pub fn serve(self, serve: impl FnOnce(Self)) {
        let (board, link) = (Arc::clone(&self.board), self.link);
        drop(board.await_turn(board.state(), link));
        let _ended = Ended { board, link };
        serve(self);
    }
}

/// Gives the turn back at the end of a thread, also by a panic.
struct Ended {
    board: Arc<Board>,
    link: usize,
}

impl Drop for Ended {
    fn drop(&mut self) {
        let mut state = self.board.state();
        state.links[self.link].ended = Some(state.now);
        state.turn = None;
        self.board.world_turned.notify_one();
    }
}

impl Connection for ServerEnd {
    fn prepare(&self, patience: Option<Duration>) -> io::Result<()> {
        let mut state = self.board.state();
        let is_kept = state.defect != Some(Defect::IsPatient);
        state.links[self.link].patience = patience.filter(|_| is_kept);
        Ok(())
    }

    fn duplicate(&self) -> io::Result<Self> {
        Ok(Self {
            board: Arc::clone(&self.board),
            link: self.link,
        })
    }
}

impl Read for ServerEnd {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut state = self.board.state();
        loop {
            let part = 1 + state.random.below(6000) as usize;
            let now = state.now;
            let link = &mut state.links[self.link];
            if link.has_arrived(now) {
                link.until = None;
                let bytes = part.min(buffer.len()).min(link.to_server.len());
                // Never a byte at a time: tests are little optimized.
                return link.to_server.read(&mut buffer[..bytes]);
            }
            state = self.board.give_turn(state, self.link, Waits::ToRead)?;
        }
    }
}

impl Write for ServerEnd {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.board.state();
        loop {
            let link = &mut state.links[self.link];
            if !link.client_is_open {
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            let room = UNREAD_MAX.saturating_sub(link.to_client.len());
            if room > 0 {
                link.until = None;
                let sent = room.min(bytes.len());
                link.to_client.extend(&bytes[..sent]);
                return Ok(sent);
            }
            state = self.board.give_turn(state, self.link, Waits::ToWrite)?;
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
