//! A pager: one session, two connections with slots of their own, and what the server may hold in each slot.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::board::Board;
use super::plan::{Defect, GRACE, NAMES, token};
use super::surroundings::Surroundings;
use crate::UNIT_BYTES;
use crate::record;
use crate::remote::auth::Token;
use crate::remote::protocol::{
    BYE, CHANGE, CUT, DIFFERS, FAILED, FREE, FULL, GET, LINE_BYTES, METRICS, OK, PUT, REFUSED,
    SessionId,
};
use crate::store::{Slot, Unit};

const LANES: usize = 2;
const LANE_SLOTS: u64 = 5;
/// Requests that were not answered.
const ASKED_MAX: usize = 4;
/// Units of a request: the answer fits into what a connection holds unread.
const UNITS_MAX: u64 = 3;

/// What a slot may hold: a unit, or none.
type Possible = Vec<Option<Arc<Unit>>>;

pub fn hello(id: &SessionId, token: &Token, challenge: &[u8], name: &str) -> Vec<u8> {
    let proof = token.proof(challenge, name);
    [&id[..], &proof, &[name.len() as u8], name.as_bytes()].concat()
}

/// Lines of a unit that change.
struct Change {
    slot: Slot,
    lines: u64,
    hash: [u64; 2],
    bytes: Vec<u8>,
}

enum Request {
    Put(Vec<(Slot, Arc<Unit>)>),
    Get(Vec<Slot>),
    Free(Vec<Slot>),
    Change(Vec<Change>),
    Metrics,
    Cut,
    Bye,
}

#[derive(PartialEq, Eq)]
enum Stage {
    Greeted,
    /// When sessions had been examined when all was sent that says who this is.
    Introduced(Option<Duration>),
    /// In a session, under this number.
    Open(u64),
}

struct Connection {
    link: usize,
    stage: Stage,
    unsent: VecDeque<u8>,
    asked: VecDeque<Request>,
}

#[derive(Default)]
struct Lane {
    number: u64,
    connection: Option<Connection>,
    slots: BTreeMap<Slot, Possible>,
    /// Connections that broke and were not cut.
    broken: Vec<u64>,
}

/// What became of a connection.
enum Outcome {
    GoesOn,
    Broke,
    /// The server has this session no longer.
    Lost,
    /// The session has ended.
    Ended,
    /// It is in a session, under this number.
    In(SessionId, u64),
}

pub struct Client {
    pub tenant: usize,
    id: Option<SessionId>,
    /// All connections to the session, and whether it is known that the server let them in.
    links: BTreeMap<usize, bool>,
    lanes: [Lane; LANES],
    is_ending: bool,
    /// The last session that ended, and its connections.
    ended: Option<(SessionId, BTreeMap<usize, bool>)>,
}

impl Client {
    pub fn new(tenant: usize) -> Self {
        let lane = |number| Lane {
            number,
            ..Lane::default()
        };
        Self {
            tenant,
            id: None,
            links: BTreeMap::new(),
            lanes: [lane(0), lane(1)],
            is_ending: false,
            ended: None,
        }
    }

    pub fn session(&self) -> Option<SessionId> {
        self.id
    }

    /// A session that has ended with all its connections.
    pub fn ended_session(&self, board: &Board) -> Option<SessionId> {
        let (id, links) = self.ended.as_ref()?;
        let are_over = links.keys().all(|link| board.ended(*link).is_some());
        are_over.then_some(*id)
    }

    fn forget(&mut self, board: &Board) {
        for lane in &mut self.lanes {
            if let Some(connection) = lane.connection.take() {
                board.hang_up(connection.link);
            }
            lane.slots.clear();
            lane.broken.clear();
        }
        self.id = None;
        self.links.clear();
        self.is_ending = false;
    }

    /// Leaves its session to itself.
    pub fn leave(&mut self, around: &Surroundings) {
        self.forget(&around.board);
    }

    pub fn act(&mut self, around: &mut Surroundings) -> Result<(), String> {
        for number in 0..LANES {
            let lane = &mut self.lanes[number];
            let outcome = lane.act(around, self.tenant, self.id)?;
            self.become_of(number, outcome, around)?;
            self.go_on(number, around);
        }
        Ok(())
    }

    fn become_of(
        &mut self,
        number: usize,
        outcome: Outcome,
        around: &mut Surroundings,
    ) -> Result<(), String> {
        match outcome {
            Outcome::GoesOn => {}
            Outcome::Broke => self.break_off(number, &around.board),
            Outcome::Lost => {
                self.judge_loss(number, around)?;
                self.forget(&around.board);
            }
            Outcome::Ended => {
                let id = self.id.unwrap_or_default();
                self.ended = Some((id, std::mem::take(&mut self.links)));
                self.forget(&around.board);
            }
            Outcome::In(id, connection) => {
                if self.id.is_none() && (id == SessionId::default() || !around.ids.insert(id)) {
                    return Err("a session has a name that it must not have".to_owned());
                }
                if self.id.is_some_and(|own| own != id) {
                    return Err("a client gets into a session that it did not ask for".to_owned());
                }
                self.judge_stay(number, around)?;
                self.id = Some(id);
                self.lanes[number].open(connection, &mut self.links);
            }
        }
        Ok(())
    }

    /// One that is about to end its session leaves it to itself then.
    fn break_off(&mut self, number: usize, board: &Board) {
        if self.is_ending {
            self.forget(board);
        } else {
            self.lanes[number].give_up(board);
        }
    }

    /// Since when the session has had no connection but that of lane `number`; none if it has one. Of the others, those count that
    /// the server let in, or may have let in.
    fn left(&self, number: usize, may: bool, board: &Board) -> Option<Duration> {
        let own = self.lanes[number].connection.as_ref().map(|own| own.link);
        let links = self.links.iter().filter(|(_, is_known)| may || **is_known);
        let others = links.filter(|(link, _)| Some(**link) != own);
        let ends: Option<Vec<Duration>> = others.map(|(link, _)| board.ended(*link)).collect();
        Some(ends?.into_iter().max().unwrap_or_default())
    }

    fn judge_loss(&self, number: usize, around: &Surroundings) -> Result<(), String> {
        let now = around.board.time();
        match self.left(number, false, &around.board) {
            Some(left) if now >= left + GRACE => Ok(()),
            left => Err(format!("a session left at {left:?} is lost at {now:?}")),
        }
    }

    fn judge_stay(&self, number: usize, around: &Surroundings) -> Result<(), String> {
        let connection = self.lanes[number].connection.as_ref();
        let stage = connection.map(|connection| &connection.stage);
        let (Some(Stage::Introduced(Some(reaped))), true) = (stage, self.id.is_some()) else {
            return Ok(());
        };
        match self.left(number, true, &around.board) {
            Some(left) if *reaped >= left + GRACE => Err(format!(
                "a session left at {left:?} is there after {reaped:?}"
            )),
            _ => Ok(()),
        }
    }

    /// Connects, asks, or breaks off.
    fn go_on(&mut self, number: usize, around: &mut Surroundings) {
        let lane = &mut self.lanes[number];
        let Some(connection) = &mut lane.connection else {
            let may_open = number == 0 || self.id.is_some();
            if may_open && !self.is_ending && around.board.one_in(3) {
                let link = around.connect();
                self.links.insert(link, false);
                lane.connection = Some(Connection::new(link));
            }
            return;
        };
        if around.is_faulty() && around.board.one_in(25) {
            self.break_off(number, &around.board);
            return;
        }
        let Stage::Open(_) = connection.stage else {
            return;
        };
        if !lane.broken.is_empty() && connection.asked.is_empty() {
            match around.defect {
                Some(Defect::CutsNothing) => lane.broken.clear(),
                _ => lane.ask(Request::Cut),
            }
        }
        let connection = lane.connection.as_ref();
        let has_room = connection.is_some_and(|one| one.asked.len() < ASKED_MAX);
        if !has_room || self.is_ending || around.board.one_in(3) {
            return;
        }
        if number == 0 && around.board.one_in(60) {
            lane.ask(Request::Bye);
            self.is_ending = true;
        } else {
            let request = lane.invent(&around.board);
            lane.ask(request);
        }
    }
}

impl Connection {
    fn new(link: usize) -> Self {
        Self {
            link,
            stage: Stage::Greeted,
            unsent: VecDeque::new(),
            asked: VecDeque::new(),
        }
    }

    /// Sends a part of what there is.
    fn send(&mut self, around: &Surroundings) {
        let all = self.unsent.len() as u64;
        let bytes = match around.board.one_in(3) {
            true => around.board.below(all + 1),
            false => all,
        };
        let sent = self.unsent.drain(..bytes as usize);
        around.board.send(self.link, sent);
        if self.unsent.is_empty()
            && let Stage::Introduced(at @ None) = &mut self.stage
        {
            *at = Some(around.reaped);
        }
    }
}

impl Lane {
    /// Reads what the server said, and sends.
    fn act(
        &mut self,
        around: &mut Surroundings,
        tenant: usize,
        id: Option<SessionId>,
    ) -> Result<Outcome, String> {
        let Some(connection) = &mut self.connection else {
            return Ok(Outcome::GoesOn);
        };
        let link = connection.link;
        match connection.stage {
            Stage::Greeted => {
                if let Some(challenge) = around.challenge(link)? {
                    let asked = id.unwrap_or_default();
                    let hello = hello(&asked, &token(tenant), &challenge, NAMES[tenant]);
                    connection.unsent = hello.into();
                    connection.stage = Stage::Introduced(None);
                }
            }
            Stage::Introduced(_) => match around.board.peek(link) {
                Some(OK) => return Ok(self.enter(&around.board)),
                Some(REFUSED) if id.is_some() => return Ok(Outcome::Lost),
                Some(status) => return Err(format!("a tenant is answered with {status}")),
                None => {}
            },
            Stage::Open(_) => {
                let outcome = self.hear_all(around)?;
                if !matches!(outcome, Outcome::GoesOn) {
                    return Ok(outcome);
                }
            }
        }
        let Some(connection) = &mut self.connection else {
            return Ok(Outcome::GoesOn);
        };
        if around.board.ended(link).is_some() {
            return match connection.stage {
                Stage::Open(_) => Err("the server breaks off".to_owned()),
                _ => Ok(Outcome::Broke),
            };
        }
        connection.send(around);
        Ok(Outcome::GoesOn)
    }

    /// Takes the session's name; the stage changes with the next message.
    fn enter(&mut self, board: &Board) -> Outcome {
        let Some(connection) = &self.connection else {
            return Outcome::GoesOn;
        };
        match board.take(connection.link, 1 + 16 + 8) {
            Some(answer) => {
                let id = std::array::from_fn(|byte| answer[1 + byte]);
                let number = std::array::from_fn(|byte| answer[17 + byte]);
                Outcome::In(id, u64::from_le_bytes(number))
            }
            None => Outcome::GoesOn,
        }
    }

    fn open(&mut self, number: u64, links: &mut BTreeMap<usize, bool>) {
        if let Some(connection) = &mut self.connection {
            connection.stage = Stage::Open(number);
            links.insert(connection.link, true);
        }
    }

    /// Breaks off. What was not answered may have been done, or may be done later.
    fn give_up(&mut self, board: &Board) {
        let Some(connection) = self.connection.take() else {
            return;
        };
        board.hang_up(connection.link);
        if let Stage::Open(number) = connection.stage {
            self.broken.push(number);
        }
        for request in &connection.asked {
            match request {
                Request::Put(units) => {
                    for (slot, unit) in units {
                        self.possible(*slot).push(Some(Arc::clone(unit)));
                    }
                }
                Request::Free(slots) => slots
                    .iter()
                    .for_each(|slot| self.possible(*slot).push(None)),
                Request::Change(changes) => {
                    for change in changes {
                        let possible = self.possible(change.slot);
                        let changed = possible.iter().flatten().filter_map(|unit| change.of(unit));
                        let changed: Vec<_> = changed.map(Some).collect();
                        possible.extend(changed);
                    }
                }
                Request::Get(_) | Request::Metrics | Request::Cut | Request::Bye => {}
            }
        }
    }

    fn possible(&mut self, slot: Slot) -> &mut Possible {
        self.slots.entry(slot).or_insert_with(|| vec![None])
    }

    fn ask(&mut self, request: Request) {
        let bytes = request.bytes(&self.broken);
        if let Some(connection) = &mut self.connection {
            connection.unsent.extend(bytes);
            connection.asked.push_back(request);
        }
    }

    fn invent(&mut self, board: &Board) -> Request {
        let first = 1 + self.number * LANE_SLOTS;
        let slot = || first + board.below(LANE_SLOTS);
        let count = 1 + board.below(UNITS_MAX);
        match board.below(12) {
            0..=4 => Request::Put((0..count).map(|_| (slot(), any_unit(board))).collect()),
            5..=7 => Request::Get((0..count).map(|_| slot()).collect()),
            8 => Request::Free((0..count).map(|_| slot()).collect()),
            9 | 10 => {
                let slots = (0..count).map(|_| slot());
                Request::Change(slots.map(|slot| self.invent_change(slot, board)).collect())
            }
            _ => Request::Metrics,
        }
    }

    /// A change of what may be kept; some have a wrong hash.
    fn invent_change(&self, slot: Slot, board: &Board) -> Change {
        let lines = (1 << board.below(64)) | (1 << board.below(64));
        let bytes = any_unit(board)[..lines_in(lines) * LINE_BYTES].to_vec();
        let possible = self.slots.get(&slot).into_iter().flatten().flatten();
        let base = possible.last().map_or([0; UNIT_BYTES], |unit| **unit);
        let hash = match board.one_in(5) {
            true => [1, 2],
            false => record::hash(&changed(base, lines, &bytes), 0),
        };
        Change {
            slot,
            lines,
            hash,
            bytes,
        }
    }

    /// Takes answers as long as there are some.
    fn hear_all(&mut self, around: &Surroundings) -> Result<Outcome, String> {
        loop {
            let Some(connection) = &mut self.connection else {
                return Ok(Outcome::GoesOn);
            };
            let (link, board) = (connection.link, &around.board);
            let bytes =
                (connection.asked.front()).and_then(|asked| asked.answer_bytes(board, link));
            let Some(answer) = bytes.and_then(|bytes| board.take(link, bytes)) else {
                return Ok(Outcome::GoesOn);
            };
            let Some(request) = connection.asked.pop_front() else {
                return Ok(Outcome::GoesOn);
            };
            if let Request::Bye = request {
                return match answer[0] {
                    OK => Ok(Outcome::Ended),
                    status => Err(format!("a farewell is answered with {status}")),
                };
            }
            self.hear(request, &answer, around.may_have_failed())?;
        }
    }

    /// Compares an answer with what may be kept, and learns from it.
    fn hear(&mut self, request: Request, answer: &[u8], may_fail: bool) -> Result<(), String> {
        match (request, answer[0]) {
            (Request::Put(units), OK) => {
                for (slot, unit) in units {
                    self.slots.insert(slot, vec![Some(unit)]);
                }
            }
            // Each slot keeps its old bytes or has the new ones.
            (Request::Put(units), FULL) => {
                for (slot, unit) in units {
                    self.possible(slot).push(Some(unit));
                }
            }
            (Request::Get(slots), OK) => return self.hear_units(&slots, &answer[1..]),
            (Request::Get(slots), FAILED) => {
                let may_miss = slots
                    .iter()
                    .any(|slot| self.possible(*slot).contains(&None));
                return may_miss
                    .then_some(())
                    .ok_or("a unit is not there".to_owned());
            }
            (Request::Get(_), FULL) if may_fail => {}
            (Request::Free(slots), OK) => {
                for slot in slots {
                    self.slots.insert(slot, vec![None]);
                }
            }
            (Request::Change(changes), _) => {
                for (change, status) in changes.iter().zip(answer) {
                    self.hear_change(change, *status, may_fail)?;
                }
            }
            (Request::Cut, OK) => self.broken.clear(),
            (Request::Metrics, _) if answer[4..].starts_with(b"# HELP pagemill_pager_") => {}
            (_, status) => return Err(format!("a request is answered with {status}")),
        }
        Ok(())
    }

    fn hear_units(&mut self, slots: &[Slot], units: &[u8]) -> Result<(), String> {
        for (slot, unit) in slots.iter().zip(units.as_chunks::<UNIT_BYTES>().0) {
            let possible = self.possible(*slot);
            possible.retain(|one| one.as_deref() == Some(unit));
            possible.truncate(1);
            if possible.is_empty() {
                return Err(format!("slot {slot} has bytes that it was not given"));
            }
        }
        Ok(())
    }

    fn hear_change(&mut self, change: &Change, status: u8, may_fail: bool) -> Result<(), String> {
        let possible = std::mem::take(self.possible(change.slot));
        let mut after = Possible::new();
        for one in possible {
            let new = one.as_ref().and_then(|unit| change.of(unit));
            match (status, &one, new) {
                (OK, _, Some(new)) => after.push(Some(new)),
                (FAILED, None, _) | (DIFFERS, Some(_), None) => after.push(one),
                // The store failed: it has one or the other.
                (FULL, Some(_), new) if may_fail => {
                    after.extend([one, new].into_iter().filter(Option::is_some))
                }
                _ => {}
            }
        }
        if after.is_empty() {
            return Err(format!(
                "a change of slot {} is answered with {status}",
                change.slot
            ));
        }
        *self.possible(change.slot) = after;
        Ok(())
    }
}

fn lines_in(lines: u64) -> usize {
    lines.count_ones() as usize
}

fn any_unit(board: &Board) -> Arc<Unit> {
    let mut unit = [board.below(256) as u8; UNIT_BYTES];
    unit[..8].copy_from_slice(&board.below(u64::MAX).to_le_bytes());
    Arc::new(unit)
}

/// A unit with other `lines`.
fn changed(mut unit: Unit, lines: u64, bytes: &[u8]) -> Unit {
    let numbers = (0..64).filter(|line| lines >> line & 1 != 0);
    for (line, bytes) in numbers.zip(bytes.chunks_exact(LINE_BYTES)) {
        unit[line * LINE_BYTES..][..LINE_BYTES].copy_from_slice(bytes);
    }
    unit
}

impl Change {
    /// What a unit becomes, if it becomes what the hash says.
    fn of(&self, unit: &Unit) -> Option<Arc<Unit>> {
        let new = changed(*unit, self.lines, &self.bytes);
        (record::hash(&new, 0) == self.hash).then(|| Arc::new(new))
    }

    fn bytes(&self) -> Vec<u8> {
        let [low, high] = self.hash;
        let head = [self.slot, self.lines, low, high].map(u64::to_le_bytes);
        [head.as_flattened(), &self.bytes].concat()
    }
}

impl Request {
    fn bytes(&self, broken: &[u64]) -> Vec<u8> {
        let numbers = |what: u8, numbers: &[u64]| {
            let mut bytes = vec![what, numbers.len() as u8];
            numbers
                .iter()
                .for_each(|number| bytes.extend(number.to_le_bytes()));
            bytes
        };
        match self {
            Self::Put(units) => {
                let slots: Vec<Slot> = units.iter().map(|(slot, _)| *slot).collect();
                let mut bytes = numbers(PUT, &slots);
                units.iter().for_each(|(_, unit)| bytes.extend(&unit[..]));
                bytes
            }
            Self::Get(slots) => numbers(GET, slots),
            Self::Free(slots) => numbers(FREE, slots),
            Self::Change(changes) => {
                let mut bytes = vec![CHANGE, changes.len() as u8];
                changes
                    .iter()
                    .for_each(|change| bytes.extend(change.bytes()));
                bytes
            }
            Self::Metrics => vec![METRICS, 0],
            Self::Cut => numbers(CUT, broken),
            Self::Bye => vec![BYE, 0],
        }
    }

    /// Bytes of the answer, once that is known.
    fn answer_bytes(&self, board: &Board, link: usize) -> Option<usize> {
        match self {
            Self::Put(_) => Some(1 + 8),
            Self::Get(slots) => {
                let is_there = board.peek(link)? == OK;
                Some(if is_there {
                    1 + slots.len() * UNIT_BYTES
                } else {
                    1
                })
            }
            Self::Change(changes) => Some(changes.len()),
            Self::Metrics => {
                let length = board.look(link, 4)?;
                let length: [u8; 4] = length.try_into().ok()?;
                Some(4 + u32::from_le_bytes(length) as usize)
            }
            Self::Free(_) | Self::Cut | Self::Bye => Some(1),
        }
    }
}
