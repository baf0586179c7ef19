//! The daemon: receives reports of holders, and assigns their colors.

use std::path::PathBuf;
use std::time::Duration;

use pagemill_linux::OsError;
use pagemill_linux::messages::Incoming;
use pagemill_linux::server::{Limits, Port, Server, Session, SocketPort};
use pagemill_linux::stop::Stopper;
use pagemill_policy::coloring::quota::QuotaPolicyEntry;
use pagemill_types::{Invariants, first_broken};

use crate::protocol::{
    Answer, Ask, Colors, Counters, MESSAGE_BYTES_MAX, Need, Reason, Status, TaskStatus,
};
use crate::task_table::{Task, TaskTable};

const LIMITS: Limits = Limits {
    connections: 512,
    connections_per_user: 128,
};

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

/// What a holder said of its task.
#[derive(Debug)]
struct Member {
    name: String,
    process: u32,
    wish: Need,
    has: Option<Colors>,
    /// Its last orders, which it may not have followed yet.
    ordered: Option<Colors>,
    planned: u64,
}

/// The daemon. `P` is where connections and time come from.
pub struct Coordinator<P: Port = SocketPort> {
    /// A connection has no member until its task joins.
    server: Server<P, Option<Member>>,
    task_table: TaskTable,
    counters: Counters,
    settle_ns: u64,
    /// Colors do not change before.
    frozen_until_ns: u64,
    /// When colors are to be given anew.
    reassign_at_ns: Option<u64>,
    /// Done after a task has left, however it ended.
    after_leave: Option<Box<dyn FnMut() + Send>>,
}

impl Coordinator {
    /// A coordinator that listens.
    ///
    /// # Errors
    /// The socket cannot be made.
    pub fn new(config: &CoordinatorConfig) -> Result<Self, OsError> {
        let port = SocketPort::bind(&config.socket, config.socket_mode)?;
        Ok(Self::over(port, config))
    }

    /// What ends it.
    pub fn stopper(&self) -> Stopper {
        self.server.port.stopper()
    }
}

impl<P: Port> Coordinator<P> {
    /// A coordinator of what connects through `port`.
    pub fn over(port: P, config: &CoordinatorConfig) -> Self {
        Self {
            frozen_until_ns: port.now_ns() + config.grace.as_nanos() as u64,
            server: Server::new(port, LIMITS),
            task_table: TaskTable::new(config.colors, config.policy),
            counters: Counters::default(),
            settle_ns: config.settle.as_nanos() as u64,
            reassign_at_ns: None,
            after_leave: None,
        }
    }

    /// Does `action` whenever a task has left, as when its holder was killed.
    pub fn after_leave(&mut self, action: impl FnMut() + Send + 'static) {
        self.after_leave = Some(Box::new(action));
    }

    /// Where it listens.
    pub fn port(&mut self) -> &mut P {
        &mut self.server.port
    }

    /// Who has which colors.
    pub fn task_table(&self) -> &TaskTable {
        &self.task_table
    }

    /// Serves until stopped. Tasks run on without it, with the colors that they have.
    ///
    /// # Errors
    /// The kernel no longer lets it wait for messages.
    pub fn run(&mut self) -> Result<(), OsError> {
        let mut buffer = vec![0; MESSAGE_BYTES_MAX];
        while self.round(&mut buffer)? {}
        Ok(())
    }

    /// Waits for something to do, and does it. Whether it goes on.
    ///
    /// # Errors
    /// As [`Coordinator::run`].
    pub fn round(&mut self, buffer: &mut [u8]) -> Result<bool, OsError> {
        self.reassign_if_due();
        let due_ns = self
            .reassign_at_ns
            .map(|at_ns| at_ns.max(self.frozen_until_ns));
        let round = self.server.wait(due_ns)?;
        if round.stops {
            return Ok(false);
        }
        if round.connects {
            self.server.accept(
                || None,
                |port, channel, most| {
                    let message = format!("a user may have {most} connections");
                    port.say(channel, &refusal(Reason::Quota, message));
                },
            );
        }
        for number in round.sessions {
            if !self.serve(number, buffer) {
                self.end(number);
            }
        }
        self.debug_check();
        Ok(true)
    }

    /// Hears one message of a session. Whether the connection goes on.
    fn serve(&mut self, number: u64, buffer: &mut [u8]) -> bool {
        let answered = match self.server.take_message(number, buffer) {
            Incoming::Nothing => return true,
            Incoming::Closed => return false,
            Incoming::Garbage(why) => Err(why),
            Incoming::Message(ask) => self.answer(number, ask),
        };
        answered.unwrap_or_else(|why| {
            self.counters.garbage += 1;
            self.server.say(number, &refusal(Reason::Garbage, why));
            false
        })
    }

    /// Whether the connection goes on, or why the message makes no sense.
    fn answer(&mut self, number: u64, ask: Ask) -> Result<bool, String> {
        match ask {
            Ask::Status {} => Ok(self.server.say(number, &Answer::Status(self.status()))),
            Ask::Holds {
                has,
                pages,
                planned,
            } => {
                let session = self.server.get_mut(number);
                let Some(member) = session.and_then(|session| session.state.as_mut()) else {
                    return Err("no task has joined on this connection".to_owned());
                };
                member.has = Some(has);
                member.planned = planned;
                self.task_table.note_pages(number, pages);
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
                    ordered: has,
                    planned: 0,
                };
                self.join(number, member, pages)
            }
        }
    }

    fn join(&mut self, number: u64, member: Member, pages: u64) -> Result<bool, String> {
        let Some(session) = self.server.get_mut(number) else {
            return Ok(false);
        };
        if session.state.is_some() {
            return Err("a task has joined on this connection already".to_owned());
        }
        let task = Task {
            wish: member.wish.wish(self.task_table.colors())?,
            colors: member.has.and_then(Colors::range),
            pages,
        };
        if let Err(error) = self.task_table.join(number, task) {
            self.counters.refused += 1;
            let full = refusal(Reason::Full, error.to_string());
            return Ok(self.server.say(number, &full));
        }
        session.state = Some(member);
        self.counters.joined += 1;
        self.reassign_at_ns = Some(self.server.port.now_ns());
        Ok(true)
    }

    /// Gives colors anew, when it is time.
    fn reassign_if_due(&mut self) {
        let now_ns = self.server.port.now_ns();
        let is_due = |at_ns: u64| now_ns >= at_ns.max(self.frozen_until_ns);
        if !self.reassign_at_ns.is_some_and(is_due) {
            return;
        }
        self.reassign_at_ns = None;
        self.task_table.reassign();
        for (number, colors) in self.news() {
            self.counters.changes += 1;
            if !self.server.say(number, &Answer::Colors(colors)) {
                self.end(number);
            } else if let Some(session) = self.server.get_mut(number)
                && let Some(member) = session.state.as_mut()
            {
                member.ordered = Some(colors);
            }
        }
    }

    /// Members whose colors differ from their last orders.
    fn news(&self) -> Vec<(u64, Colors)> {
        let of_member = |(number, session): (u64, &Session<P::Channel, Option<Member>>)| {
            let member = session.state.as_ref()?;
            let colors = Colors::from(self.task_table.task(number)?.colors?);
            (member.ordered != Some(colors)).then_some((number, colors))
        };
        self.server.sessions().filter_map(of_member).collect()
    }

    fn end(&mut self, number: u64) {
        self.server.end(number);
        if self.task_table.leave(number) {
            self.counters.left += 1;
            if let Some(action) = &mut self.after_leave {
                action();
            }
            let at_ns = self.server.port.now_ns() + self.settle_ns;
            self.reassign_at_ns = Some(self.reassign_at_ns.map_or(at_ns, |due| due.min(at_ns)));
        }
    }

    fn status(&self) -> Status {
        let of_member = |(number, session): (u64, &Session<P::Channel, Option<Member>>)| {
            let member = session.state.as_ref()?;
            let task = self.task_table.task(number)?;
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
        let mut tasks: Vec<TaskStatus> = self.server.sessions().filter_map(of_member).collect();
        tasks.sort_by_key(|task| task.given.map(|colors| colors.first));
        Status {
            colors: self.task_table.colors(),
            policy: self.task_table.policy().to_owned(),
            tasks,
            counters: self.counters,
        }
    }
}

impl<P: Port> Invariants for Coordinator<P> {
    fn broken_invariant(&self) -> Option<String> {
        let joined = self.server.sessions();
        let joined =
            joined.filter_map(|(number, session)| session.state.is_some().then_some(number));
        first_broken([(
            self.task_table.numbers().eq(joined),
            "the tasks are not those that joined on a connection",
        )])
        .or_else(|| self.task_table.broken_invariant())
    }
}

fn refusal(reason: Reason, message: String) -> Answer {
    Answer::Refused { reason, message }
}

#[cfg(test)]
mod tests {
    use pagemill_policy::coloring::Wish;
    use pagemill_policy::coloring::quota::QUOTA_POLICIES;

    use super::*;

    #[test]
    fn a_task_without_a_connection_is_noticed() {
        let folder = tempfile::tempdir().expect("a folder");
        let config = CoordinatorConfig {
            socket: folder.path().join("socket"),
            socket_mode: 0o600,
            colors: 8,
            policy: QUOTA_POLICIES.find("best-quota").expect("it is there"),
            grace: Duration::ZERO,
            settle: Duration::ZERO,
        };
        let mut coordinator = Coordinator::new(&config).expect("it listens");
        assert_eq!(coordinator.broken_invariant(), None);
        let task = Task {
            wish: Wish::Colors(1),
            colors: None,
            pages: 0,
        };
        coordinator.task_table.join(1, task).expect("room");
        let broken = coordinator.broken_invariant().expect("noticed");
        assert!(broken.contains("joined on a connection"), "{broken}");
    }
}
