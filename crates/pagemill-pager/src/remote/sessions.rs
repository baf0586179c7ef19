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
}

/// The sessions of a server by name.
#[derive(Debug, Default)]
pub struct Sessions {
    inner: Mutex<BTreeMap<SessionId, Entry>>,
}

#[derive(Debug)]
struct Entry {
    session: Arc<Session>,
    connections: u32,
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
    fn slots(&self) -> MutexGuard<'_, BTreeMap<Slot, Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Books units for the tenant, unless that would exceed its quota.
    fn book(&self, more: u64) -> Result<(), Refusal> {
        let fits = |units: u64| (units + more <= self.tenant.quota_units).then_some(units + more);
        let units = &self.tenant.units;
        let booked = units.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits);
        booked.map(drop).map_err(|_| Refusal::Full)
    }

    /// Keeps a unit for each of `slots`; the last one where a slot is named more than once.
    pub fn put(&self, slots: &[Slot], bytes: &[u8]) -> Result<(), Refusal> {
        let mut known = self.slots();
        let (units, _) = bytes.as_chunks::<UNIT_BYTES>();
        let last: BTreeMap<Slot, &Unit> = slots.iter().copied().zip(units).collect();
        let (slots, units): (Vec<Slot>, Vec<&Unit>) = last.into_iter().unzip();
        let mut inner: Vec<Slot> = slots
            .iter()
            .map(|slot| known.get(slot).copied().unwrap_or(NO_SLOT))
            .collect();
        let fresh = inner.iter().filter(|slot| **slot == NO_SLOT).count() as u64;
        self.book(fresh)?;
        let result = self.store.put(&units, &mut inner);
        for (slot, inner) in slots.iter().zip(&inner) {
            if *inner != NO_SLOT {
                known.insert(*slot, *inner);
            }
        }
        if result.is_err() {
            let missing = inner.iter().filter(|slot| **slot == NO_SLOT).count() as u64;
            self.tenant.units.fetch_sub(missing, Ordering::Relaxed);
        }
        Ok(result?)
    }

    pub fn get(&self, slots: &[Slot], bytes: &mut [u8]) -> Result<(), Refusal> {
        let known = self.slots();
        let inner: Option<Vec<Slot>> = slots.iter().map(|slot| known.get(slot).copied()).collect();
        Ok(self.store.get(&inner.ok_or(Refusal::Failed)?, bytes)?)
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
        let known = self.slots();
        let mut inner = [*known.get(&slot).ok_or(Refusal::Failed)?];
        let mut unit: Unit = [0; UNIT_BYTES];
        self.store.get(&inner, &mut unit)?;
        let changed = (0..64).filter(|line| lines >> line & 1 != 0);
        for (line, bytes) in changed.zip(bytes.chunks_exact(LINE)) {
            unit[line * LINE..(line + 1) * LINE].copy_from_slice(bytes);
        }
        if record::hash(&unit, 0) != hash {
            return Err(Refusal::Differs);
        }
        Ok(self.store.put(&[&unit], &mut inner)?)
    }

    pub fn free(&self, slots: &[Slot]) {
        let mut known = self.slots();
        let inner: Vec<Slot> = slots.iter().filter_map(|slot| known.remove(slot)).collect();
        self.store.free(&inner);
        self.tenant
            .units
            .fetch_sub(inner.len() as u64, Ordering::Relaxed);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let slots: Vec<Slot> = self.slots().keys().copied().collect();
        self.free(&slots);
    }
}

impl Sessions {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionId, Entry>> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new session of `tenant`.
    pub fn open(
        &self,
        id: SessionId,
        tenant: &Arc<Tenant>,
        store: &Arc<dyn Store>,
    ) -> Arc<Session> {
        let session = Arc::new(Session {
            tenant: Arc::clone(tenant),
            store: Arc::clone(store),
            slots: Mutex::default(),
        });
        let entry = Entry {
            session: Arc::clone(&session),
            connections: 1,
            left: None,
            has_ended: false,
        };
        self.lock().insert(id, entry);
        session
    }

    /// One more connection to a session, if it is this tenant's.
    pub fn join(&self, id: SessionId, tenant: &Arc<Tenant>) -> Option<Arc<Session>> {
        let mut sessions = self.lock();
        let entry = sessions.get_mut(&id)?;
        if !Arc::ptr_eq(&entry.session.tenant, tenant) {
            return None;
        }
        entry.connections += 1;
        entry.left = None;
        Some(Arc::clone(&entry.session))
    }

    /// A connection has ended.
    pub fn leave(&self, id: SessionId, now: Duration) {
        let mut sessions = self.lock();
        let Some(entry) = sessions.get_mut(&id) else {
            return;
        };
        entry.connections -= 1;
        if entry.connections == 0 {
            entry.left = Some(now);
            if entry.has_ended {
                sessions.remove(&id);
            }
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
