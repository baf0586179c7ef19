use std::io::{self, Read};
use std::os::unix::net::UnixStream;

use pagemill_linux::OsError;
use pagemill_linux::clock::monotonic_ns;
use pagemill_linux::messages::Incoming;
use pagemill_linux::server::{Limits, Server, SocketPort};
use pagemill_linux::stop::Stopper;
use pagemill_zero_client::protocol::{
    Answer, Ask, MESSAGE_BYTES_MAX, Reason, Status, WAIT_MS_MAX, WaitFor,
};

use super::books::{Books, refusal};
use super::cleaner::Cleaner;
use super::config::{Config, ConfigError};
use super::metrics;
use super::programs::{Ended, count_refusal, first_use};
use super::session::{Lending, Session, Waiting, hand_out, refuse, refuse_garbage};
use crate::engines::Engine;

/// Orders that the cleaner has at once: one to work on, one so that it need not wait.
const ORDERS_MAX: usize = 2;

/// How often returned files are looked at, and a failed order is tried again.
const LOOK_AGAIN_NS: u64 = 50_000_000;

/// Programs in a status: all fit into one message.
const PROGRAMS_MAX: usize = 128;

const LIMITS: Limits = Limits {
    connections: 512,
    connections_per_user: 64,
};

/// The daemon.
pub struct Pool {
    server: Server<SocketPort, Lending>,
    next_lease: u64,
    books: Books,
    cleaner: Cleaner,
    orders: usize,
    /// Until then nothing is ordered: the last order failed.
    order_again_ns: u64,
    wake: UnixStream,
    page_bytes: u64,
    /// Programs that have ended.
    ended: Ended,
    /// The last failure, so that it is reported once.
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
        for socket in [&wake, &waker] {
            socket.set_nonblocking(true)?;
        }
        let mut port = SocketPort::bind(&config.socket, config.socket_mode)?;
        port.wake_by(wake.try_clone()?.into());
        Ok(Self {
            server: Server::new(port, LIMITS),
            next_lease: 1,
            books: Books::new(config),
            cleaner: Cleaner::start(engine, waker)?,
            orders: 0,
            order_again_ns: 0,
            wake,
            page_bytes: config.size.bytes() as u64,
            ended: Ended::default(),
            told: None,
        })
    }

    /// What ends it.
    pub fn stopper(&self) -> Stopper {
        self.server.port.stopper()
    }

    /// Serves until stopped. `tell` gets what an operator should know.
    ///
    /// # Errors
    /// The kernel no longer lets it wait for messages.
    pub fn run(&mut self, tell: &mut dyn FnMut(&str)) -> Result<(), PoolError> {
        let mut buffer = vec![0; MESSAGE_BYTES_MAX];
        loop {
            self.settle(tell);
            let round = self.server.wait(self.due_ns())?;
            if round.stops {
                return Ok(());
            }
            if round.wakes {
                self.drain_wake();
            }
            if round.connects {
                self.accept();
            }
            for session in round.sessions {
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
                    self.order_again_ns = monotonic_ns() + LOOK_AGAIN_NS;
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
        if self.is_cleaning() {
            let awaited = self.awaited_pages();
            while self.orders < ORDERS_MAX
                && let Some(order) = self.books.order(awaited)
            {
                self.orders += 1;
                self.cleaner.order(order);
            }
        }
    }

    /// Whether returned pages become clean; not for a while after that failed.
    fn is_cleaning(&self) -> bool {
        monotonic_ns() >= self.order_again_ns
    }

    /// Pages of the oldest request that waits.
    fn awaited_pages(&self) -> Option<usize> {
        let mut sessions = self.server.sessions();
        let waiting = sessions.find_map(|(_, session)| session.state.waiting)?;
        Some(waiting.pages())
    }

    /// Pages that requests of others have a claim to: those that wait for cleaning, in sessions before `end`.
    fn claimed_pages(&self, own: u64, end: u64) -> usize {
        let claim = |(number, session): (u64, &Session)| {
            let waiting = session.state.waiting?;
            let counts = number != own && number < end && waiting.wait_for == WaitFor::Cleaning;
            counts.then(|| waiting.pages())
        };
        self.server.sessions().filter_map(claim).sum()
    }

    /// When something has to be done without a message.
    fn due_ns(&self) -> Option<u64> {
        let now_ns = monotonic_ns();
        let waiting =
            |(_, session): (u64, &Session)| Some(session.state.waiting.as_ref()?.until_ns);
        let deadlines = self.server.sessions().filter_map(waiting);
        let look = self.books.awaits_proof().then_some(now_ns + LOOK_AGAIN_NS);
        let order = Some(self.order_again_ns).filter(|again_ns| *again_ns > now_ns);
        deadlines.chain(look).chain(order).min()
    }

    fn drain_wake(&mut self) {
        let mut bytes = [0; 64];
        while matches!(self.wake.read(&mut bytes), Ok(count) if count > 0) {}
    }

    fn accept(&mut self) {
        self.server.accept(Lending::default, |_, channel, most| {
            let message = format!("a user may have {most} connections");
            refuse(channel, refusal(Reason::Quota, message));
        });
    }

    /// Hears one message of a session, so that a busy client does not keep the others waiting.
    fn serve(&mut self, number: u64, buffer: &mut [u8]) {
        let stays = match self.server.take_message(number, buffer) {
            Incoming::Nothing => true,
            Incoming::Closed => false,
            Incoming::Garbage(why) => {
                self.books.counters.garbage += 1;
                if let Some(session) = self.server.get(number) {
                    refuse_garbage(&session.channel, why);
                }
                false
            }
            Incoming::Message(ask) => self.answer(number, ask),
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
                wait_for,
            } => {
                let until_ns = monotonic_ns() + wait_ms.min(WAIT_MS_MAX) * 1_000_000;
                let request = Waiting {
                    bytes,
                    page_bytes,
                    single_file,
                    until_ns,
                    wait_for,
                };
                // Requests that wait were here before.
                return self.lend(number, request, u64::MAX);
            }
            Ask::Return { lease } => {
                let session = self.server.get_mut(number);
                match session.and_then(|session| session.state.leases.remove(&lease)) {
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
        self.server.say(number, &answer)
    }

    /// Lends, or refuses, or lets the request wait. Whether the connection goes on. Requests that wait for cleaning in sessions
    /// before `end` go first.
    fn lend(&mut self, number: u64, request: Waiting, end: u64) -> bool {
        let claimed_pages = self.claimed_pages(number, end);
        let is_cleaning = self.is_cleaning();
        let Some(session) = self.server.get_mut(number) else {
            return false;
        };
        let channel = &session.channel;
        if session.state.waiting.is_some() {
            refuse_garbage(
                channel,
                "a request of this connection waits already".to_owned(),
            );
            self.books.counters.garbage += 1;
            return false;
        }
        let Waiting {
            bytes,
            page_bytes,
            single_file,
            until_ns,
            wait_for,
        } = request;
        let process = session.peer.process;
        let used = (session.state.used).get_or_insert_with(|| first_use(process));
        let books = &mut self.books;
        let places = match books.lend(session.peer, bytes, page_bytes, single_file, claimed_pages) {
            Ok(places) => places,
            Err(refusal) => {
                let is_exhausted = refusal.reason == Reason::Exhausted;
                let wanted_pages = request.pages().saturating_add(claimed_pages);
                let is_hopeful =
                    wait_for == WaitFor::Any || books.idle_pages(is_cleaning) >= wanted_pages;
                if is_exhausted && is_hopeful && monotonic_ns() < until_ns {
                    session.state.waiting = Some(request);
                    return true;
                }
                books.counters.exhausted += u64::from(is_exhausted);
                count_refusal(used, refusal.reason, request.pages() as u64);
                return refuse(channel, refusal);
            }
        };
        used.lent_pages += books.pages_in(&places) as u64;
        let lease = self.next_lease;
        self.next_lease += 1;
        let handed_out = match self.books.hand_out(session.peer, &places) {
            Ok(files) => hand_out(channel, lease, &files),
            Err(message) => {
                self.books.take_back(places);
                return refuse(channel, refusal(Reason::Failed, message));
            }
        };
        // A client that went away meanwhile returns what it got, when its session ends.
        session.state.leases.insert(lease, places);
        handed_out
    }

    /// Tries the requests that wait, in the order in which their connections were made.
    fn serve_waiting(&mut self) {
        let waits =
            |(number, session): (u64, &Session)| session.state.waiting.is_some().then_some(number);
        let waiting: Vec<u64> = self.server.sessions().filter_map(waits).collect();
        for number in waiting {
            let session = self.server.get_mut(number);
            let request = session.and_then(|session| session.state.waiting.take());
            if let Some(request) = request
                && !self.lend(number, request, number)
            {
                self.end(number);
            }
        }
    }

    fn end(&mut self, number: u64) {
        if let Some(session) = self.server.end(number) {
            for places in session.state.leases.into_values() {
                self.books.take_back(places);
            }
            self.ended.remember(session.state.used);
        }
    }

    fn status(&self) -> Status {
        let sessions = || self.server.sessions().map(|(_, session)| &session.state);
        Status {
            page_bytes: self.page_bytes,
            engine: self.cleaner.engine.to_owned(),
            pages: self.books.page_counts(),
            leases: sessions().map(|state| state.leases.len() as u64).sum(),
            connections: sessions().count() as u64,
            waiting: sessions().filter(|state| state.waiting.is_some()).count() as u64,
            users: self.books.users(),
            programs: (sessions().filter_map(|state| state.used.as_ref()))
                .chain(self.ended.programs())
                .take(PROGRAMS_MAX)
                .cloned()
                .collect(),
            counters: self.books.counters,
        }
    }
}
