use super::{NO_SLOT, Slot, Store, StoreError, Unit, Usage};

/// Two stores: what the first has no room for goes to the second.
#[derive(Debug)]
pub struct Tiered {
    first: Box<dyn Store>,
    second: Box<dyn Store>,
}

/// The tier is the lowest bit of a slot.
const SECOND: Slot = 1;

impl Tiered {
    /// A fast store with a limit, before a large one.
    pub fn new(first: Box<dyn Store>, second: Box<dyn Store>) -> Self {
        Self { first, second }
    }

    fn tier(&self, slot: Slot) -> &dyn Store {
        if slot & SECOND == 0 {
            &*self.first
        } else {
            &*self.second
        }
    }

    /// Puts one unit into the tier that has it, or else into the first with room.
    fn put_one(&self, unit: &Unit, slot: &mut Slot) -> Result<u64, StoreError> {
        if *slot != NO_SLOT {
            let mut inner = [*slot >> 1];
            match self.tier(*slot).put(&[unit], &mut inner) {
                Err(StoreError::Full { .. }) if *slot & SECOND == 0 => {}
                result => return result,
            }
            let mut moved = [NO_SLOT];
            let bytes = self.second.put(&[unit], &mut moved)?;
            self.first.free(&[*slot >> 1]);
            *slot = moved[0] << 1 | SECOND;
            return Ok(bytes);
        }
        let mut inner = [NO_SLOT];
        match self.first.put(&[unit], &mut inner) {
            Ok(bytes) => {
                *slot = inner[0] << 1;
                Ok(bytes)
            }
            Err(StoreError::Full { .. }) => {
                let bytes = self.second.put(&[unit], &mut inner)?;
                *slot = inner[0] << 1 | SECOND;
                Ok(bytes)
            }
            Err(error) => Err(error),
        }
    }
}

impl Store for Tiered {
    fn name(&self) -> String {
        format!("{}, then {}", self.first.name(), self.second.name())
    }

    fn put(&self, units: &[&Unit], slots: &mut [Slot]) -> Result<u64, StoreError> {
        let pairs = units.iter().zip(slots);
        pairs.map(|(unit, slot)| self.put_one(unit, slot)).sum()
    }

    fn get(&self, slots: &[Slot], units: &mut [u8]) -> Result<(), StoreError> {
        let mut done = 0;
        while done < slots.len() {
            let of_tier = |slot: &&Slot| **slot & SECOND == slots[done] & SECOND;
            let count = slots[done..].iter().take_while(of_tier).count();
            let inner: Vec<Slot> = slots[done..done + count].iter().map(|s| s >> 1).collect();
            let bytes = &mut units[done * crate::UNIT_BYTES..(done + count) * crate::UNIT_BYTES];
            self.tier(slots[done]).get(&inner, bytes)?;
            done += count;
        }
        Ok(())
    }

    fn free(&self, slots: &[Slot]) {
        for &slot in slots {
            self.tier(slot).free(&[slot >> 1]);
        }
    }

    fn usage(&self) -> Usage {
        let (first, second) = (self.first.usage(), self.second.usage());
        Usage {
            units: first.units + second.units,
            bytes: first.bytes + second.bytes,
        }
    }

    fn is_copied_by_fork(&self) -> bool {
        self.first.is_copied_by_fork() && self.second.is_copied_by_fork()
    }

    fn enter_child(&self) -> Result<(), StoreError> {
        self.first.enter_child()?;
        self.second.enter_child()
    }
}
