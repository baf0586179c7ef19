use std::collections::BTreeMap;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use pagemill_linux::OsError;
use pagemill_linux::channel::{Listener, wait_readable};
use pagemill_linux::clock::monotonic_ns;
use pagemill_linux::messages::Heard;
use pagemill_linux::stop::{StopSignal, Stopper, stopper};
use pagemill_zero_client::protocol::{Answer, Ask, MESSAGE_BYTES_MAX, Reason, Status, WAIT_MS_MAX};

use super::books::{Books, refusal};
use super::cleaner::Cleaner;
use super::config::{Config, ConfigError};
use super::metrics;
use super::session::{Session, Waiting};
use crate::engines::Engine;

/// Orders that the cleaner has at once: one to work on, one so that it need not wait.
const ORDERS_MAX: usize = 2;

/// How often returned files are looked at, and a failed order is tried again.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

const CONNECTIONS_MAX: usize = 512;
const CONNECTIONS_PER_USER_MAX: usize = 64;

/// The daemon.
pub struct Pool {
    listener: Listener,
    sessions: BTreeMap<u64, Session>,
    next_session: u64,
    next_lease: u64,
    books: Books,
    cleaner: Cleaner,
    orders: usize,
    /// Until then nothing is ordered: the last order failed.
    order_again_ns: u64,
    /// Until then nobody is let in: there was no descriptor left.
    accept_again_ns: u64,
    wake: UnixStream,
    stop: StopSignal,
    stopper: Stopper,
    page_bytes: u64,
    /// The last failure, so that it is told once.
    told: Option<String>,
}

/// Why a pool does not start, or ends.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    /// It is set up wrongly.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The kernel refuses.
    #[error(transparent)]
    Os(#[from] OsError),
    /// No thread, or no socket pair.
    #[error("cannot start the cleaner: {0}")]
    Start(#[from] io::Error),
}

impl Pool {
    /// A pool that listens, with nothing clean yet.
    ///
    /// # Errors
    /// The configuration makes no sense, or the socket cannot be had.
    pub fn new(config: &Config, engine: Box<dyn Engine>) -> Result<Self, PoolError> {
        config.check()?;
        let (wake, waker) = UnixStream::pair()?;
        let (stopper, stop) = stopper()?;
        for socket in [&wake, &waker] {
            socket.set_nonblocking(true)?;
        }
        Ok(Self {
            listener: Listener::bind(&config.socket, config.socket_mode)?,
            sessions: BTreeMap::new(),
            next_session: 0,
            next_lease: 1,
            books: Books::new(config),
            cleaner: Cleaner::start(engine, waker)?,
            orders: 0,
            order_again_ns: 0,
            accept_again_ns: 0,
            wake,
            stop,
            stopper,
            page_bytes: config.size.bytes() as u64,
            told: None,
        })
    }

    /// What ends it.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Serves until stopped. `tell` gets what an operator should know.
    ///
    /// # Errors
    /// The kernel no longer lets it wait for messages.
    pub fn run(&mut self, tell: &mut dyn FnMut(&str)) -> Result<(), PoolError> {
        let mut buffer = vec![0; MESSAGE_BYTES_MAX];
        loop {
            self.settle(tell);
            let ready = self.wait()?;
            if ready.stop {
                return Ok(());
            }
            if ready.wake {
                self.drain_wake();
            }
            if ready.listener {
                self.accept();
            }
            for session in ready.sessions {
                self.serve(session, &mut buffer);
            }
        }
    }

    /// Everything that needs no message: finished files, proofs, orders, requests that wait.
    fn settle(&mut self, tell: &mut dyn FnMut(&str)) {
        while let Some(finished) = self.cleaner.next_finished() {
            self.orders -= 1;
            match self.books.finish(finished) {
                Ok(()) => self.told = None,
                Err(why) => {
                    self.order_again_ns = monotonic_ns() + LOOK_AGAIN.as_nanos() as u64;
                    if self.told.as_ref() != Some(&why) {
                        tell(&why);
                        self.told = Some(why);
                    }
                }
            }
        }
        if self.books.awaits_proof() {
            self.books.prove();
        }
        self.serve_waiting();
        if monotonic_ns() >= self.order_again_ns {
            while self.orders < ORDERS_MAX
                && let Some(order) = self.books.order()
            {
                self.orders += 1;
                self.cleaner.order(order);
            }
        }
    }

    fn wait(&self) -> Result<Ready, PoolError> {
        let now_ns = monotonic_ns();
        let lets_in = now_ns >= self.accept_again_ns && self.sessions.len() < CONNECTIONS_MAX;
        let mut descriptors = vec![self.stop.as_fd(), self.wake.as_fd()];
        if lets_in {
            descriptors.push(self.listener.as_fd());
        }
        let fixed = descriptors.len();
        descriptors.extend(
            self.sessions
                .values()
                .map(|session| session.channel.as_fd()),
        );
        let readable = wait_readable(&descriptors, self.patience(now_ns))?;
        let sessions = self.sessions.keys().zip(&readable[fixed..]);
        Ok(Ready {
            stop: readable[0],
            wake: readable[1],
            listener: lets_in && readable[2],
            sessions: sessions
                .filter_map(|(&number, &is_ready)| is_ready.then_some(number))
                .collect(),
        })
    }

    /// How long nothing has to be done without a message.
    fn patience(&self, now_ns: u64) -> Option<Duration> {
        let deadlines = self
            .sessions
            .values()
            .filter_map(|session| session.waiting.as_ref());
        let mut until_ns: Option<u64> = deadlines.map(|waiting| waiting.until_ns).min();
        let mut earlier = |ns: u64| until_ns = Some(until_ns.map_or(ns, |until| until.min(ns)));
        if self.books.awaits_proof() {
            earlier(now_ns + LOOK_AGAIN.as_nanos() as u64);
        }
        for again_ns in [self.order_again_ns, self.accept_again_ns] {
            if again_ns > now_ns {
                earlier(again_ns);
            }
        }
        // A millisecond more than asked, so that the deadline has passed.
        until_ns
            .map(|ns| Duration::from_nanos(ns.saturating_sub(now_ns)) + Duration::from_millis(1))
    }

    fn drain_wake(&mut self) {
        let mut bytes = [0; 64];
        while matches!(self.wake.read(&mut bytes), Ok(count) if count > 0) {}
    }

    fn accept(&mut self) {
        let session = match self.listener.accept().and_then(Session::new) {
            Ok(session) => session,
            Err(_) => {
                self.accept_again_ns = monotonic_ns() + LOOK_AGAIN.as_nanos() as u64;
                return;
            }
        };
        let same_user = |other: &&Session| other.peer.user == session.peer.user;
        if self.sessions.values().filter(same_user).count() >= CONNECTIONS_PER_USER_MAX {
            session.refuse(refusal(
                Reason::Quota,
                format!("a user may have {CONNECTIONS_PER_USER_MAX} connections"),
            ));
            return;
        }
        self.sessions.insert(self.next_session, session);
        self.next_session += 1;
    }

    /// Hears one message of a session, so that a busy client does not keep the others waiting.
    fn serve(&mut self, number: u64, buffer: &mut [u8]) {
        let Some(session) = self.sessions.get(&number) else {
            return;
        };
        let stays = match session.hear(buffer) {
            Heard::Nothing => true,
            Heard::Closed => false,
            Heard::Garbage(why) => {
                session.refuse_garbage(why);
                self.books.counters.garbage += 1;
                false
            }
            Heard::Message(ask) => self.answer(number, ask),
        };
        if !stays {
            self.end(number);
        }
    }

    /// Whether the connection goes on.
    fn answer(&mut self, number: u64, ask: Ask) -> bool {
        let answer = match ask {
            Ask::Lease {
                bytes,
                page_bytes,
                single_file,
                wait_ms,
            } => {
                let until_ns = monotonic_ns() + wait_ms.min(WAIT_MS_MAX) * 1_000_000;
                let request = Waiting {
                    bytes,
                    page_bytes,
                    single_file,
                    until_ns,
                };
                return self.lend(number, request);
            }
            Ask::Return { lease } => {
                let session = self.sessions.get_mut(&number);
                match session.and_then(|session| session.leases.remove(&lease)) {
                    Some(places) => {
                        self.books.take_back(places);
                        Answer::Returned { lease }
                    }
                    None => Answer::Refused {
                        reason: Reason::UnknownLease,
                        message: format!("this connection has no lease {lease}"),
                    },
                }
            }
            Ask::Status {} => Answer::Status(self.status()),
            Ask::Metrics {} => Answer::Metrics {
                text: metrics::text(&self.status()),
            },
        };
        let session = self.sessions.get(&number);
        session.is_some_and(|session| session.answer(&answer))
    }

    /// Lends, or refuses, or lets the request wait. Whether the connection goes on.
    fn lend(&mut self, number: u64, request: Waiting) -> bool {
        let Some(session) = self.sessions.get_mut(&number) else {
            return false;
        };
        if session.waiting.is_some() {
            session.refuse_garbage("a request of this connection waits already".to_owned());
            self.books.counters.garbage += 1;
            return false;
        }
        let Waiting {
            bytes,
            page_bytes,
            single_file,
            until_ns,
        } = request;
        let places = match self
            .books
            .lend(session.peer, bytes, page_bytes, single_file)
        {
            Ok(places) => places,
            Err(refusal) if refusal.reason == Reason::Exhausted && monotonic_ns() < until_ns => {
                session.waiting = Some(request);
                return true;
            }
            Err(refusal) => {
                self.books.counters.exhausted += u64::from(refusal.reason == Reason::Exhausted);
                return session.refuse(refusal);
            }
        };
        let lease = self.next_lease;
        self.next_lease += 1;
        let handed_out = match self.books.hand_out(session.peer, &places) {
            Ok(files) => session.hand_out(lease, &files),
            Err(message) => {
                session.refuse(refusal(Reason::Failed, message)) && {
                    self.books.take_back(places);
                    return true;
                }
            }
        };
        // A client that went away meanwhile returns what it got, when its session ends.
        session.leases.insert(lease, places);
        handed_out
    }

    /// Tries the requests that wait, in the order in which their connections were made.
    fn serve_waiting(&mut self) {
        let waits =
            |(number, session): (&u64, &Session)| session.waiting.is_some().then_some(*number);
        let waiting: Vec<u64> = self.sessions.iter().filter_map(waits).collect();
        for number in waiting {
            let request =
                (self.sessions.get_mut(&number)).and_then(|session| session.waiting.take());
            if let Some(request) = request
                && !self.lend(number, request)
            {
                self.end(number);
            }
        }
    }

    fn end(&mut self, number: u64) {
        if let Some(session) = self.sessions.remove(&number) {
            for places in session.leases.into_values() {
                self.books.take_back(places);
            }
        }
    }

    fn status(&self) -> Status {
        let sessions = self.sessions.values();
        Status {
            page_bytes: self.page_bytes,
            engine: self.cleaner.engine.to_owned(),
            pages: self.books.page_counts(),
            leases: sessions
                .clone()
                .map(|session| session.leases.len() as u64)
                .sum(),
            connections: self.sessions.len() as u64,
            waiting: sessions.filter(|session| session.waiting.is_some()).count() as u64,
            users: self.books.users(),
            counters: self.books.counters,
        }
    }
}

struct Ready {
    stop: bool,
    wake: bool,
    listener: bool,
    sessions: Vec<u64>,
}
