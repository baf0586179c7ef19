use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::protocol::SessionId;
use crate::store::{NO_SLOT, Slot, Store, StoreError, Unit};
use crate::{UNIT_BYTES, record};

/// What one tenant may keep, and keeps.
#[derive(Debug)]
pub struct Tenant {
    pub name: String,
    pub quota_units: u64,
    pub units: AtomicU64,
}

/// What one pager keeps. It lasts as long as a connection to it, and then for a while, so that a broken network loses nothing.
#[derive(Debug)]
pub struct Session {
    pub tenant: Arc<Tenant>,
    store: Arc<dyn Store>,
    slots: Mutex<BTreeMap<Slot, Slot>>,
    connections: Mutex<Connections>,
}

/// The connections of a session by number.
#[derive(Debug, Default)]
struct Connections {
    last: u64,
    /// Whether each was cut.
    live: BTreeMap<u64, bool>,
}

/// A session on one connection.
#[derive(Debug)]
pub struct Line {
    pub session: Arc<Session>,
    /// Of the connection.
    pub number: u64,
}

/// The sessions of a server by name.
#[derive(Debug, Default)]
pub struct Sessions {
    inner: Mutex<BTreeMap<SessionId, Entry>>,
}

#[derive(Debug)]
struct Entry {
    session: Arc<Session>,
    /// Since when it has no connection.
    left: Option<Duration>,
    has_ended: bool,
}

/// Why a session did not do what was asked.
#[derive(Debug)]
pub enum Refusal {
    /// The quota or the store is full.
    Full,
    /// There is no such slot, or the store failed.
    Failed,
    /// The hash is of other bytes.
    Differs,
    /// The connection was cut.
    Cut,
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Full { .. } => Self::Full,
            _ => Self::Failed,
        }
    }
}

impl Session {
    fn new(tenant: &Arc<Tenant>, store: &Arc<dyn Store>) -> Self {
        Self {
            tenant: Arc::clone(tenant),
            store: Arc::clone(store),
            slots: Mutex::default(),
            connections: Mutex::default(),
        }
    }

    fn slots(&self) -> MutexGuard<'_, BTreeMap<Slot, Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn connections(&self) -> MutexGuard<'_, Connections> {
        self.connections
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn connect(self: &Arc<Self>) -> Line {
        let mut connections = self.connections();
        connections.last += 1;
        let number = connections.last;
        connections.live.insert(number, false);
        Line {
            session: Arc::clone(self),
            number,
        }
    }

    /// Books units for the tenant, unless that would exceed its quota.
    fn book(&self, more: u64) -> Result<(), Refusal> {
        let fits = |units: u64| (units + more <= self.tenant.quota_units).then_some(units + more);
        let units = &self.tenant.units;
        let booked = units.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits);
        booked.map(drop).map_err(|_| Refusal::Full)
    }

    fn give_up(&self, known: &mut BTreeMap<Slot, Slot>, slots: &[Slot]) {
        let inner: Vec<Slot> = slots.iter().filter_map(|slot| known.remove(slot)).collect();
        self.store.free(&inner);
        self.tenant
            .units
            .fetch_sub(inner.len() as u64, Ordering::Relaxed);
    }
}

impl Line {
    /// The session's slots, for as long as a request takes, unless this connection was cut.
    fn slots(&self) -> Result<MutexGuard<'_, BTreeMap<Slot, Slot>>, Refusal> {
        let slots = self.session.slots();
        let is_cut = self.session.connections().live.get(&self.number).copied();
        is_cut
            .is_some_and(|is_cut| !is_cut)
            .then_some(slots)
            .ok_or(Refusal::Cut)
    }

    /// What `connections` of this session ask for from now on is not done, whenever they asked.
    pub fn cut(&self, connections: &[u64]) -> Result<(), Refusal> {
        let _none_is_under_way = self.slots()?;
        let mut all = self.session.connections();
        for number in connections {
            if let Some(is_cut) = all.live.get_mut(number) {
                *is_cut = true;
            }
        }
        Ok(())
    }

    /// Keeps a unit for each of `slots`; the last one where a slot is named more than once.
    pub fn put(&self, slots: &[Slot], bytes: &[u8]) -> Result<(), Refusal> {
        let mut known = self.slots()?;
        let (units, _) = bytes.as_chunks::<UNIT_BYTES>();
        let last: BTreeMap<Slot, &Unit> = slots.iter().copied().zip(units).collect();
        let (slots, units): (Vec<Slot>, Vec<&Unit>) = last.into_iter().unzip();
        let mut inner: Vec<Slot> = slots
            .iter()
            .map(|slot| known.get(slot).copied().unwrap_or(NO_SLOT))
            .collect();
        let fresh = inner.iter().filter(|slot| **slot == NO_SLOT).count() as u64;
        self.session.book(fresh)?;
        let result = self.session.store.put(&units, &mut inner);
        for (slot, inner) in slots.iter().zip(&inner) {
            if *inner != NO_SLOT {
                known.insert(*slot, *inner);
            }
        }
        if result.is_err() {
            let missing = inner.iter().filter(|slot| **slot == NO_SLOT).count() as u64;
            self.session
                .tenant
                .units
                .fetch_sub(missing, Ordering::Relaxed);
        }
        result?;
        Ok(())
    }

    pub fn get(&self, slots: &[Slot], bytes: &mut [u8]) -> Result<(), Refusal> {
        let known = self.slots()?;
        let inner: Option<Vec<Slot>> = slots.iter().map(|slot| known.get(slot).copied()).collect();
        Ok(self
            .session
            .store
            .get(&inner.ok_or(Refusal::Failed)?, bytes)?)
    }

    /// Replaces `lines` of a unit, lowest first, if all of it has this hash then.
    pub fn change(
        &self,
        slot: Slot,
        lines: u64,
        hash: [u64; 2],
        bytes: &[u8],
    ) -> Result<(), Refusal> {
        const LINE: usize = super::protocol::LINE_BYTES;
        let known = self.slots()?;
        let mut inner = [*known.get(&slot).ok_or(Refusal::Failed)?];
        let mut unit: Unit = [0; UNIT_BYTES];
        self.session.store.get(&inner, &mut unit)?;
        let changed = (0..64).filter(|line| lines >> line & 1 != 0);
        for (line, bytes) in changed.zip(bytes.chunks_exact(LINE)) {
            unit[line * LINE..(line + 1) * LINE].copy_from_slice(bytes);
        }
        if record::hash(&unit, 0) != hash {
            return Err(Refusal::Differs);
        }
        self.session.store.put(&[&unit], &mut inner)?;
        Ok(())
    }

    pub fn free(&self, slots: &[Slot]) -> Result<(), Refusal> {
        let mut known = self.slots()?;
        self.session.give_up(&mut known, slots);
        Ok(())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let mut known = self.slots();
        let slots: Vec<Slot> = known.keys().copied().collect();
        self.give_up(&mut known, &slots);
    }
}

impl Sessions {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionId, Entry>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new session of `tenant`, and its first connection.
    pub fn open(&self, id: SessionId, tenant: &Arc<Tenant>, store: &Arc<dyn Store>) -> Line {
        let session = Arc::new(Session::new(tenant, store));
        let line = session.connect();
        let entry = Entry {
            session,
            left: None,
            has_ended: false,
        };
        self.lock().insert(id, entry);
        line
    }

    /// One more connection to a session, if it is this tenant's.
    pub fn join(&self, id: SessionId, tenant: &Arc<Tenant>) -> Option<Line> {
        let mut sessions = self.lock();
        let entry = sessions.get_mut(&id)?;
        if !Arc::ptr_eq(&entry.session.tenant, tenant) {
            return None;
        }
        entry.left = None;
        Some(entry.session.connect())
    }

    /// A connection has ended.
    pub fn leave(&self, id: SessionId, line: Line, now: Duration) {
        let mut sessions = self.lock();
        let Some(entry) = sessions.get_mut(&id) else {
            return;
        };
        let is_last = {
            let live = &mut entry.session.connections().live;
            live.remove(&line.number);
            live.is_empty()
        };
        if !is_last {
            return;
        }
        entry.left = Some(now);
        if entry.has_ended {
            sessions.remove(&id);
        }
    }

    /// The session is not wanted any more once its connections have ended.
    pub fn end(&self, id: SessionId) {
        if let Some(entry) = self.lock().get_mut(&id) {
            entry.has_ended = true;
        }
    }

    /// Ends sessions whose clients stayed away.
    pub fn expire(&self, now: Duration, grace: Duration) {
        let is_awaited = |left: Duration| now.saturating_sub(left) < grace;
        self.lock()
            .retain(|_, entry| entry.left.is_none_or(is_awaited));
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.lock().len()
    }
}
