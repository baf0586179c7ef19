//! Registrations: which memory an interface may touch, and for whom.

use super::descriptor::{Key, PortId, Status};

#[derive(Clone, Copy, Debug)]
struct Region {
    port: PortId,
    address: u64,
    bytes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    generation: u32,
    region: Option<Region>,
}

/// All registrations of an interface. A key is a place and a generation: a place is used again, its generation is not.
#[derive(Clone, Debug, Default)]
pub(crate) struct Regions {
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Bytes of all of them; each may be as large as an address space.
    bytes: u128,
}

const GENERATION_SHIFT: u32 = 32;

impl Regions {
    pub fn register(&mut self, port: PortId, address: u64, bytes: u64) -> Key {
        let region = Some(Region {
            port,
            address,
            bytes,
        });
        let place = match self.free.pop() {
            Some(place) => place as usize,
            None => {
                self.slots.push(Slot {
                    generation: 0,
                    region: None,
                });
                self.slots.len() - 1
            }
        };
        let slot = &mut self.slots[place];
        slot.generation += 1;
        slot.region = region;
        self.bytes += u128::from(bytes);
        Key(u64::from(slot.generation) << GENERATION_SHIFT | place as u64)
    }

    /// Bytes of all registrations.
    pub fn bytes(&self) -> u64 {
        u64::try_from(self.bytes).unwrap_or(u64::MAX)
    }

    /// Takes a registration back; returns whose and what it was.
    pub fn deregister(&mut self, key: Key) -> Option<(PortId, u64, u64)> {
        let (place, generation) = parts(key);
        let slot = self
            .slots
            .get_mut(place)
            .filter(|slot| slot.generation == generation)?;
        let region = slot.region.take()?;
        self.free.push(place as u32);
        self.bytes -= u128::from(region.bytes);
        Some((region.port, region.address, region.bytes))
    }

    /// Whether `key` allows `port` to touch `bytes` bytes at `address`.
    ///
    /// # Errors
    /// Why not.
    pub fn check(&self, key: Key, port: PortId, address: u64, bytes: u64) -> Result<(), Status> {
        let (place, generation) = parts(key);
        let slot = self.slots.get(place).ok_or(Status::Unregistered)?;
        let region = slot.region.ok_or(Status::Unregistered)?;
        if slot.generation != generation {
            return Err(Status::WrongKey);
        }
        if region.port != port {
            return Err(Status::ForeignPort);
        }
        let start = address
            .checked_sub(region.address)
            .ok_or(Status::OutOfBounds)?;
        let fits = start <= region.bytes && bytes <= region.bytes - start;
        fits.then_some(()).ok_or(Status::OutOfBounds)
    }
}

fn parts(key: Key) -> (usize, u32) {
    (
        (key.0 & u64::from(u32::MAX)) as usize,
        (key.0 >> GENERATION_SHIFT) as u32,
    )
}

#[cfg(test)]
mod tests;
