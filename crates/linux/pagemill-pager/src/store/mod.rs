//! Where units are kept that have no frame. One file for each store; all keep the contract that `tests/store_contract.rs` checks.

mod compressed;
mod directory;
mod slots;
mod tiered;

use std::fmt;
use std::io;

pub use compressed::Compressed;
pub use directory::Directory;
pub use tiered::Tiered;

use crate::UNIT_BYTES;

/// The bytes of a unit.
pub type Unit = [u8; UNIT_BYTES];

/// Where a store keeps a unit; [`NO_SLOT`] is nowhere.
pub type Slot = u64;

/// No unit is kept here.
pub const NO_SLOT: Slot = 0;

/// Keeps units of 4 KiB under slots that it hands out. Any thread may use it.
pub trait Store: Send + Sync + fmt::Debug {
    /// What it is, for messages: `compressed memory`, `the folder /var/tmp`.
    fn name(&self) -> String;

    /// Keeps `units[i]` under `slots[i]`: in the place of what is kept there, or under a new slot where it is [`NO_SLOT`]. Returns the bytes
    /// that went to the store: those of whole units, unless it has others of a unit's lines.
    ///
    /// # Errors
    /// The store is full or fails. Then every slot that was given still keeps its old bytes or its new ones, whole; those that were `NO_SLOT`
    /// and got a slot keep the new ones.
    fn put(&self, units: &[&Unit], slots: &mut [Slot]) -> Result<u64, StoreError>;

    /// Reads what is kept under `slots`, one unit behind the other.
    ///
    /// # Errors
    /// The store fails. `units` holds anything then.
    fn get(&self, slots: &[Slot], units: &mut [u8]) -> Result<(), StoreError>;

    /// Keeps these no longer.
    fn free(&self, slots: &[Slot]);

    /// What it holds.
    fn usage(&self) -> Usage;

    /// Whether a child of `fork` has a copy of what is kept. If not, what is kept now stays as it is for both.
    fn is_copied_by_fork(&self) -> bool {
        false
    }

    /// Whether units that have a frame again should not be kept beside: their bytes take up much of the memory that they free.
    fn is_better_empty(&self) -> bool {
        false
    }

    /// Whether [`Store::get`] fails rather than returning other bytes than were put under a slot. If not, the pager checks each unit.
    fn checks_itself(&self) -> bool {
        false
    }

    /// Called in a child of `fork`: what it keeps from now on is its own.
    ///
    /// # Errors
    /// The child can have no store.
    fn enter_child(&self) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Bytes of whole units.
pub(crate) fn bytes_of(units: &[&Unit]) -> u64 {
    (units.len() * UNIT_BYTES) as u64
}

/// What a store holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Units.
    pub units: u64,
    /// Bytes that they take up.
    pub bytes: u64,
}

/// Why a store did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no room.
    #[error("{store} is full at {used_bytes} bytes; give it more room, or add a second store")]
    Full {
        /// The store.
        store: String,
        /// What it holds.
        used_bytes: u64,
    },
    /// Reading or writing failed.
    #[error("cannot {what} {store}: {source}")]
    Io {
        /// `read from`, `write to`, ..
        what: &'static str,
        /// The store.
        store: String,
        /// What the system said.
        source: io::Error,
    },
    /// What came back is not what was kept.
    #[error(
        "{store} returned other bytes than it was given, at slot {slot}; nothing was used of them"
    )]
    Damaged {
        /// The store.
        store: String,
        /// Which.
        slot: Slot,
    },
}

impl StoreError {
    pub(crate) fn io(what: &'static str, store: &dyn Store, source: io::Error) -> Self {
        let store = store.name();
        Self::Io {
            what,
            store,
            source,
        }
    }
}
