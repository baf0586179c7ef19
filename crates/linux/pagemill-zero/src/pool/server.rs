#[cfg(test)]
mod simulated;

use std::io;

use pagemill_linux::OsError;
use pagemill_linux::channel::DESCRIPTORS_MAX;
use pagemill_linux::messages::Incoming;
use pagemill_linux::server::{Limits, Port, Server, SocketPort};
use pagemill_linux::stop::Stopper;
use pagemill_zero_client::protocol::{
    Answer, Ask, MESSAGE_BYTES_MAX, Reason, Status, WAIT_MS_MAX, WaitFor,
};

use super::cleaner::{Cleaner, CleanerThread};
use super::config::{Config, ConfigError};
use super::file::File;
use super::inventory::{Inventory, Lent, Refusal, refusal};
use super::metrics;
use super::programs::{Ended, count_refusal, first_use};
use super::session::{Lending, Session, Waiting, refused};
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

/// The daemon. `P` is where connections and time come from, `C` where clean files do.
pub struct Pool<P: Port = SocketPort, C: Cleaner = CleanerThread> {
    server: Server<P, Lending>,
    next_lease: u64,
    inventory: Inventory<C::File>,
    cleaner: C,
    orders: usize,
    /// Until then nothing is ordered: the last order failed.
    order_again_ns: u64,
    page_bytes: u64,
    /// Programs that have ended.
    ended: Ended,
    /// The last failure, so that it is reported once.
    reported: Option<String>,
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
        let mut port = SocketPort::bind(&config.socket, config.socket_mode)?;
        let (cleaner, wake) = CleanerThread::start(engine)?;
        port.wake_by(wake);
        Ok(Self::over(port, cleaner, config))
    }

    /// What ends it.
    pub fn stopper(&self) -> Stopper {
        self.server.port.stopper()
    }
}

impl<P, C> Pool<P, C>
where
    C: Cleaner,
    P: Port<Descriptor = <C::File as File>::Lent>,
{
    /// A pool of what connects through `port`, with nothing clean yet.
    fn over(port: P, cleaner: C, config: &Config) -> Self {
        Self {
            server: Server::new(port, LIMITS),
            next_lease: 1,
            inventory: Inventory::new(config),
            cleaner,
            orders: 0,
            order_again_ns: 0,
            page_bytes: config.size.bytes() as u64,
            ended: Ended::default(),
            reported: None,
        }
    }

    /// Serves until stopped. `report` gets what an operator should know.
    ///
    /// # Errors
    /// The kernel no longer lets it wait for messages.
    pub fn run(&mut self, report: &mut dyn FnMut(&str)) -> Result<(), PoolError> {
        let mut buffer = vec![0; MESSAGE_BYTES_MAX];
        while self.round(&mut buffer, report)? {}
        Ok(())
    }

    /// Does what is due, waits for something to do, and does it. Whether it goes on.
    fn round(
        &mut self,
        buffer: &mut [u8],
        report: &mut dyn FnMut(&str),
    ) -> Result<bool, PoolError> {
        self.advance(report);
        let round = self.server.wait(self.due_ns())?;
        if round.stops {
            return Ok(false);
        }
        if round.connects {
            self.accept();
        }
        for session in round.sessions {
            self.serve(session, buffer);
        }
        Ok(true)
    }

    /// Everything that needs no message: finished files, proofs, orders, requests that wait.
    fn advance(&mut self, report: &mut dyn FnMut(&str)) {
        while let Some(finished) = self.cleaner.next_finished() {
            self.orders -= 1;
            match self.inventory.finish(finished) {
                Ok(()) => self.reported = None,
                Err(why) => {
                    self.order_again_ns = self.server.port.now_ns() + LOOK_AGAIN_NS;
                    if self.reported.as_ref() != Some(&why) {
                        report(&why);
                        self.reported = Some(why);
                    }
                }
            }
        }
        if self.inventory.awaits_proof() {
            self.inventory.prove();
        }
        self.serve_waiting();
        if self.is_cleaning() {
            let awaited = self.awaited_pages();
            while self.orders < ORDERS_MAX
                && let Some(order) = self.inventory.order(awaited)
            {
                self.orders += 1;
                self.cleaner.order(order);
            }
        }
    }

    /// Whether returned pages become clean; not for a while after that failed.
    fn is_cleaning(&self) -> bool {
        self.server.port.now_ns() >= self.order_again_ns
    }

    /// Pages of the oldest request that waits.
    fn awaited_pages(&self) -> Option<usize> {
        let mut sessions = self.server.sessions();
        let waiting = sessions.find_map(|(_, session)| session.state.waiting)?;
        Some(waiting.pages())
    }

    /// Pages that requests of others have a claim to: those that wait for cleaning, in sessions before `end`.
    fn claimed_pages(&self, own: u64, end: u64) -> usize {
        let claim = |(number, session): (u64, &Session<P::Channel>)| {
            let waiting = session.state.waiting?;
            let counts = number != own && number < end && waiting.wait_for == WaitFor::Cleaning;
            counts.then(|| waiting.pages())
        };
        self.server.sessions().filter_map(claim).sum()
    }

    /// When something has to be done without a message.
    fn due_ns(&self) -> Option<u64> {
        let now_ns = self.server.port.now_ns();
        let waiting = |(_, session): (u64, &Session<P::Channel>)| {
            Some(session.state.waiting.as_ref()?.until_ns)
        };
        let deadlines = self.server.sessions().filter_map(waiting);
        let look = self
            .inventory
            .awaits_proof()
            .then_some(now_ns + LOOK_AGAIN_NS);
        let order = Some(self.order_again_ns).filter(|again_ns| *again_ns > now_ns);
        deadlines.chain(look).chain(order).min()
    }

    fn accept(&mut self) {
        self.server.accept(Lending::default, |port, channel, most| {
            let message = format!("a user may have {most} connections");
            port.say(channel, &refused(refusal(Reason::Quota, message)));
        });
    }

    /// Hears one message of a session, so that a busy client does not keep the others waiting.
    fn serve(&mut self, number: u64, buffer: &mut [u8]) {
        let stays = match self.server.take_message(number, buffer) {
            Incoming::Nothing => true,
            Incoming::Closed => false,
            Incoming::Garbage(why) => self.refuse_garbage(number, why),
            Incoming::Message(ask) => self.answer(number, ask),
        };
        if !stays {
            self.end(number);
        }
    }

    /// Refuses. Whether the connection goes on.
    fn refuse(&self, number: u64, refusal: Refusal) -> bool {
        self.server.say(number, &refused(refusal))
    }

    /// Refuses a message that makes no sense, which ends the connection.
    fn refuse_garbage(&mut self, number: u64, why: String) -> bool {
        self.inventory.counters.garbage += 1;
        self.refuse(number, refusal(Reason::Garbage, why));
        false
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
                let until_ns = self.server.port.now_ns() + wait_ms.min(WAIT_MS_MAX) * 1_000_000;
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
                        self.inventory.take_back(places);
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
        let now_ns = self.server.port.now_ns();
        let Some(session) = self.server.get_mut(number) else {
            return false;
        };
        if session.state.waiting.is_some() {
            let why = "a request of this connection waits already";
            return self.refuse_garbage(number, why.to_owned());
        }
        let Waiting {
            bytes,
            page_bytes,
            single_file,
            until_ns,
            wait_for,
        } = request;
        let peer = session.peer;
        let used = (session.state.used).get_or_insert_with(|| first_use(peer.process));
        let inventory = &mut self.inventory;
        let places = match inventory.lend(peer, bytes, page_bytes, single_file, claimed_pages) {
            Ok(places) => places,
            Err(refusal) => {
                let is_exhausted = refusal.reason == Reason::Exhausted;
                let wanted_pages = request.pages().saturating_add(claimed_pages);
                let is_hopeful =
                    wait_for == WaitFor::Any || inventory.idle_pages(is_cleaning) >= wanted_pages;
                if is_exhausted && is_hopeful && now_ns < until_ns {
                    session.state.waiting = Some(request);
                    return true;
                }
                inventory.counters.exhausted += u64::from(is_exhausted);
                count_refusal(used, refusal.reason, request.pages() as u64);
                return self.refuse(number, refusal);
            }
        };
        used.lent_pages += inventory.pages_in(&places) as u64;
        let lease = self.next_lease;
        self.next_lease += 1;
        let handed_out = match self.inventory.hand_out(peer, &places) {
            Ok(lent) => self.hand_out(number, lease, &lent),
            Err(message) => {
                self.inventory.take_back(places);
                return self.refuse(number, refusal(Reason::Failed, message));
            }
        };
        // A client that went away meanwhile returns what it got, when its session ends.
        if let Some(session) = self.server.get_mut(number) {
            session.state.leases.insert(lease, places);
        }
        handed_out
    }

    /// Hands a lease out, with as many descriptors a message as fit. `false` where the other end is gone, or does not read.
    fn hand_out(&self, number: u64, lease: u64, (lengths, lent): &Lent<C::File>) -> bool {
        let mut left = lent.len();
        let parts = lengths.chunks(DESCRIPTORS_MAX);
        parts
            .zip(lent.chunks(DESCRIPTORS_MAX))
            .all(|(lengths, lent)| {
                left -= lent.len();
                let answer = Answer::Lease {
                    lease,
                    files: lengths.to_vec(),
                    more: left > 0,
                };
                self.server.send(number, &answer, lent)
            })
    }

    /// Tries the requests that wait, in the order in which their connections were made.
    fn serve_waiting(&mut self) {
        let waits = |(number, session): (u64, &Session<P::Channel>)| {
            session.state.waiting.is_some().then_some(number)
        };
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
                self.inventory.take_back(places);
            }
            self.ended.remember(session.state.used);
        }
    }

    fn status(&self) -> Status {
        let sessions = || self.server.sessions().map(|(_, session)| &session.state);
        Status {
            page_bytes: self.page_bytes,
            engine: self.cleaner.engine().to_owned(),
            pages: self.inventory.page_counts(),
            leases: sessions().map(|state| state.leases.len() as u64).sum(),
            connections: sessions().count() as u64,
            waiting: sessions().filter(|state| state.waiting.is_some()).count() as u64,
            users: self.inventory.users(),
            programs: (sessions().filter_map(|state| state.used.as_ref()))
                .chain(self.ended.programs())
                .take(PROGRAMS_MAX)
                .cloned()
                .collect(),
            counters: self.inventory.counters,
        }
    }
}
