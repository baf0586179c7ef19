//! What clients and strangers have around them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use super::super::{Shared, TICK};
use super::board::Board;
use super::plan::{Defect, GRACE, NAMES, QUIET, QUOTA_UNITS, token};
use super::store::SimulatedStore;
use crate::UNIT_BYTES;
use crate::remote::protocol::{MAGIC, SessionId, VERSION};
use crate::store::Store;

pub struct Surroundings {
    pub board: Arc<Board>,
    pub shared: Arc<Shared>,
    pub store: Arc<SimulatedStore>,
    pub threads: Vec<JoinHandle<()>>,
    pub challenges: BTreeSet<Vec<u8>>,
    pub ids: BTreeSet<SessionId>,
    /// When sessions were last examined.
    pub reaped: Duration,
    pub defect: Option<Defect>,
}

impl Surroundings {
    pub fn new(seed: u64, defect: Option<Defect>) -> Self {
        let board = Arc::new(Board::new(seed, defect));
        let store = Arc::new(SimulatedStore::new(&board, defect));
        let token_of = |tenant| match defect {
            Some(Defect::SharesAToken) => token(0),
            _ => token(tenant),
        };
        let tenants = (0..NAMES.len()).map(|tenant| {
            let quota_bytes = QUOTA_UNITS[tenant] * UNIT_BYTES as u64;
            (NAMES[tenant].to_owned(), token_of(tenant), quota_bytes)
        });
        let host = Box::new(Arc::clone(&board));
        let kept: Arc<dyn Store> = Arc::clone(&store) as _;
        Self {
            shared: Arc::new(Shared::new(tenants.collect(), GRACE, kept, host)),
            board,
            store,
            threads: Vec::new(),
            challenges: BTreeSet::new(),
            ids: BTreeSet::new(),
            reaped: Duration::ZERO,
            defect,
        }
    }

    pub fn is_faulty(&self) -> bool {
        self.board.time() < QUIET
    }

    /// Whether what is heard now may be of the time of faults.
    pub fn may_have_failed(&self) -> bool {
        self.board.time() < QUIET + Duration::from_secs(6)
    }

    /// A new connection, and a thread of the server for it.
    pub fn connect(&mut self) -> usize {
        let end = self.board.connect();
        let link = end.link;
        let shared = Arc::clone(&self.shared);
        let serve = move || {
            end.serve(|end| {
                let _ = shared.serve(end);
            });
        };
        self.threads.push(std::thread::spawn(serve));
        link
    }

    /// The challenge of a connection, once it is there.
    pub fn challenge(&mut self, link: usize) -> Result<Option<Vec<u8>>, String> {
        let Some(greeting) = self.board.take(link, 40) else {
            return Ok(None);
        };
        if greeting[..4] != MAGIC || greeting[4..8] != VERSION.to_le_bytes() {
            return Err(format!("a greeting begins with {:?}", &greeting[..8]));
        }
        let challenge = greeting[8..].to_vec();
        if !self.challenges.insert(challenge.clone()) {
            return Err("a challenge is used twice".to_owned());
        }
        Ok(Some(challenge))
    }

    pub fn tenant_units(&self, tenant: usize) -> u64 {
        self.shared.tenants[tenant].0.units.load(Ordering::Relaxed)
    }

    pub fn reap(&mut self) {
        let now = self.board.time();
        if now < self.reaped + TICK {
            return;
        }
        self.reaped = now;
        let before = [0, 1].map(|tenant| self.tenant_units(tenant));
        match self.defect {
            Some(Defect::GivesNoGrace) => self.shared.sessions.expire(now + GRACE, GRACE),
            _ => self.shared.expire(),
        }
        if self.defect == Some(Defect::ForgetsToRelease) {
            for (tenant, units) in before.into_iter().enumerate() {
                let kept = &self.shared.tenants[tenant].0.units;
                kept.store(units, Ordering::Relaxed);
            }
        }
    }

    /// What is wrong whenever no thread of the server runs.
    pub fn wrong_now(&self) -> Result<(), String> {
        if let Some(wrong) = self.store.wrong() {
            return Err(wrong);
        }
        let kept = self.store.usage().units;
        let charged = [0, 1].map(|tenant| self.tenant_units(tenant));
        if kept != charged.iter().sum::<u64>() {
            return Err(format!(
                "{kept} units are kept, and tenants are charged for {charged:?}"
            ));
        }
        let over = charged
            .iter()
            .zip(QUOTA_UNITS)
            .any(|(units, most)| *units > most);
        if over {
            return Err(format!("{charged:?} units are kept of {QUOTA_UNITS:?}"));
        }
        Ok(())
    }
}
