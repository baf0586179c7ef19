//! The daemon: hears holders, and tells them their colors.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::Duration;

use pagemill_linux::OsError;
use pagemill_linux::channel::{Channel, Listener, Peer, wait_readable};
use pagemill_linux::clock::monotonic_ns;
use pagemill_linux::messages::Heard;
use pagemill_linux::stop::{StopSignal, Stopper, stopper};
use pagemill_policy::coloring::quota::QuotaPolicyEntry;

use crate::protocol::{
    Answer, Ask, Colors, Counters, MESSAGE_BYTES_MAX, Need, Reason, Status, TaskStatus,
};
use crate::roster::{Roster, Task};

const CONNECTIONS_MAX: usize = 512;
const CONNECTIONS_PER_USER_MAX: usize = 128;

/// How a coordinator is set up.
#[derive(Clone, Debug)]
pub struct CoordinatorConfig {
    /// Where holders connect.
    pub socket: PathBuf,
    /// Who may connect, as the mode of the socket file.
    pub socket_mode: u32,
    /// Colors of the cache; at least 1.
    pub colors: u16,
    /// How they are divided.
    pub policy: &'static QuotaPolicyEntry,
    /// After the start, tasks of a former coordinator are waited for this long before colors change.
    pub grace: Duration,
    /// After the end of a task, another is waited for this long before its colors go to the others.
    pub settle: Duration,
}

/// Why a coordinator does not start, or ends.
#[derive(Debug, thiserror::Error)]
pub enum CoordinatorError {
    /// The kernel refuses.
    #[error(transparent)]
    Os(#[from] OsError),
    /// No socket pair.
    #[error("cannot start the coordinator: {0}")]
    Start(#[from] io::Error),
}

/// One connection.
struct Session {
    channel: Channel,
    peer: Peer,
    /// `None` until it joins.
    member: Option<Member>,
}

/// What a holder said of its task.
struct Member {
    name: String,
    process: u32,
    wish: Need,
    has: Option<Colors>,
    /// What it was told last, which it may not have done yet.
    told: Option<Colors>,
    planned: u64,
}

/// The daemon.
pub struct Coordinator {
    listener: Listener,
    roster: Roster,
    sessions: BTreeMap<u64, Session>,
    next_session: u64,
    counters: Counters,
    settle: Duration,
    /// Colors do not change before.
    frozen_until_ns: u64,
    /// When colors are to be given anew.
    settle_at_ns: Option<u64>,
    stop: StopSignal,
    stopper: Stopper,
}

impl Coordinator {
    /// A coordinator that listens.
    ///
    /// # Errors
    /// The socket cannot be had.
    pub fn new(config: &CoordinatorConfig) -> Result<Self, CoordinatorError> {
        let (stopper, stop) = stopper()?;
        Ok(Self {
            listener: Listener::bind(&config.socket, config.socket_mode)?,
            roster: Roster::new(config.colors, config.policy),
            sessions: BTreeMap::new(),
            next_session: 0,
            counters: Counters::default(),
            settle: config.settle,
            frozen_until_ns: monotonic_ns() + config.grace.as_nanos() as u64,
            settle_at_ns: None,
            stop,
            stopper,
        })
    }

    /// What ends it.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Serves until stopped. Tasks run on without it, with the colors that they have.
    ///
    /// # Errors
    /// The kernel no longer lets it wait for messages.
    pub fn run(&mut self) -> Result<(), CoordinatorError> {
        let mut buffer = vec![0; MESSAGE_BYTES_MAX];
        loop {
            self.settle_if_due();
            let (stops, comes, ready) = self.wait()?;
            if stops {
                return Ok(());
            }
            if comes {
                self.accept();
            }
            for number in ready {
                if !self.serve(number, &mut buffer) {
                    self.end(number);
                }
            }
        }
    }

    /// Waits for the stopper, a connection, or messages.
    fn wait(&self) -> Result<(bool, bool, Vec<u64>), CoordinatorError> {
        let mut descriptors = vec![self.stop.as_fd()];
        let lets_in = self.sessions.len() < CONNECTIONS_MAX;
        if lets_in {
            descriptors.push(self.listener.as_fd());
        }
        let fixed = descriptors.len();
        let sessions = self.sessions.values();
        descriptors.extend(sessions.map(|session| session.channel.as_fd()));
        let patience = self.settle_at_ns.map(|at_ns| {
            let left_ns = at_ns
                .max(self.frozen_until_ns)
                .saturating_sub(monotonic_ns());
            // A millisecond more than asked, so that the time has passed.
            Duration::from_nanos(left_ns) + Duration::from_millis(1)
        });
        let readable = wait_readable(&descriptors, patience)?;
        let ready = self.sessions.keys().zip(&readable[fixed..]);
        Ok((
            readable[0],
            lets_in && readable[1],
            ready
                .filter_map(|(number, is_ready)| is_ready.then_some(*number))
                .collect(),
        ))
    }

    fn accept(&mut self) {
        let Ok(channel) = self.listener.accept() else {
            // No descriptor is left, or the other end is gone: the loop comes round again.
            std::thread::sleep(Duration::from_millis(5));
            return;
        };
        let Ok(peer) = channel.peer() else {
            return;
        };
        let same_user = |session: &&Session| session.peer.user == peer.user;
        if self.sessions.values().filter(same_user).count() >= CONNECTIONS_PER_USER_MAX {
            let message = format!("a user may have {CONNECTIONS_PER_USER_MAX} connections");
            refuse(&channel, Reason::Quota, message);
            return;
        }
        let session = Session {
            channel,
            peer,
            member: None,
        };
        self.sessions.insert(self.next_session, session);
        self.next_session += 1;
    }

    /// Hears one message of a session. Whether the connection goes on.
    fn serve(&mut self, number: u64, buffer: &mut [u8]) -> bool {
        let Some(session) = self.sessions.get(&number) else {
            return true;
        };
        let answered = match session.channel.hear(buffer) {
            Heard::Nothing => return true,
            Heard::Closed => return false,
            Heard::Garbage(why) => Err(why),
            Heard::Message(ask) => self.answer(number, ask),
        };
        answered.unwrap_or_else(|why| {
            self.counters.garbage += 1;
            if let Some(session) = self.sessions.get(&number) {
                refuse(&session.channel, Reason::Garbage, why);
            }
            false
        })
    }

    /// Whether the connection goes on, or why the message makes no sense.
    fn answer(&mut self, number: u64, ask: Ask) -> Result<bool, String> {
        match ask {
            Ask::Status {} => {
                let status = Answer::Status(self.status());
                let session = self.sessions.get(&number);
                Ok(session.is_some_and(|session| session.channel.say(&status, &[]).is_ok()))
            }
            Ask::Holds {
                has,
                pages,
                planned,
            } => {
                let session = self.sessions.get_mut(&number);
                let Some(member) = session.and_then(|session| session.member.as_mut()) else {
                    return Err("no task has joined on this connection".to_owned());
                };
                member.has = Some(has);
                member.planned = planned;
                self.roster.note_pages(number, pages);
                Ok(true)
            }
            Ask::Join {
                name,
                process,
                wish,
                has,
                pages,
            } => {
                let member = Member {
                    name: name.chars().take(100).collect(),
                    process,
                    wish,
                    has,
                    told: has,
                    planned: 0,
                };
                self.join(number, member, pages)
            }
        }
    }

    fn join(&mut self, number: u64, member: Member, pages: u64) -> Result<bool, String> {
        let Some(session) = self.sessions.get_mut(&number) else {
            return Ok(false);
        };
        if session.member.is_some() {
            return Err("a task has joined on this connection already".to_owned());
        }
        let task = Task {
            wish: member.wish.wish(self.roster.colors())?,
            colors: member.has.and_then(Colors::range),
            pages,
        };
        if let Err(error) = self.roster.join(number, task) {
            self.counters.refused += 1;
            return Ok(refuse(&session.channel, Reason::Full, error.to_string()));
        }
        session.member = Some(member);
        self.counters.joined += 1;
        self.settle_at_ns = Some(monotonic_ns());
        Ok(true)
    }

    /// Gives colors anew, when it is time.
    fn settle_if_due(&mut self) {
        let now_ns = monotonic_ns();
        let is_due = |at_ns: u64| now_ns >= at_ns.max(self.frozen_until_ns);
        if !self.settle_at_ns.is_some_and(is_due) {
            return;
        }
        self.settle_at_ns = None;
        self.roster.settle();
        let mut gone = Vec::new();
        for (number, session) in &mut self.sessions {
            let range = self.roster.task(*number).and_then(|task| task.colors);
            let (Some(range), Some(member)) = (range, session.member.as_mut()) else {
                continue;
            };
            let colors = Colors::from(range);
            if member.told == Some(colors) {
                continue;
            }
            member.told = Some(colors);
            self.counters.changes += 1;
            if session.channel.say(&Answer::Colors(colors), &[]).is_err() {
                gone.push(*number);
            }
        }
        for number in gone {
            self.end(number);
        }
    }

    fn end(&mut self, number: u64) {
        self.sessions.remove(&number);
        if self.roster.leave(number) {
            self.counters.left += 1;
            let at_ns = monotonic_ns() + self.settle.as_nanos() as u64;
            self.settle_at_ns = Some(self.settle_at_ns.map_or(at_ns, |due| due.min(at_ns)));
        }
    }

    fn status(&self) -> Status {
        let told = |(number, session): (&u64, &Session)| {
            let member = session.member.as_ref()?;
            let task = self.roster.task(*number)?;
            Some(TaskStatus {
                name: member.name.clone(),
                process: member.process,
                user: session.peer.user,
                wish: member.wish.clone(),
                given: task.colors.map(Colors::from),
                has: member.has,
                pages: task.pages,
                planned: member.planned,
            })
        };
        let mut tasks: Vec<TaskStatus> = self.sessions.iter().filter_map(told).collect();
        tasks.sort_by_key(|task| task.given.map(|colors| colors.first));
        Status {
            colors: self.roster.colors(),
            policy: self.roster.policy().to_owned(),
            tasks,
            counters: self.counters,
        }
    }
}

/// Whether the other end could be told.
fn refuse(channel: &Channel, reason: Reason, message: String) -> bool {
    let answer = Answer::Refused { reason, message };
    channel.say(&answer, &[]).is_ok()
}
