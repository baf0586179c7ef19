//! Virtual ports: who owns them, and which have their state on the chip.

use super::descriptor::{PortId, Status};
use super::machine::PortSpec;

/// The ports of an interface.
#[derive(Clone, Debug)]
pub(crate) struct Ports {
    spec: PortSpec,
    owners: Vec<Option<u64>>,
    /// The port whose state lies in each place of the chip; empty while all ports have a place of their own.
    on_chip: Vec<u32>,
}

const NO_PORT: u32 = u32::MAX;

impl Ports {
    pub fn new(spec: &PortSpec) -> Self {
        Self {
            spec: *spec,
            owners: Vec::new(),
            on_chip: Vec::new(),
        }
    }

    /// Opens the lowest closed port for `process`; `None` when all are open.
    pub fn open(&mut self, process: u64) -> Option<PortId> {
        let closed = self.owners.iter().position(Option::is_none);
        let place = closed.unwrap_or(self.owners.len());
        if place >= self.spec.count as usize {
            return None;
        }
        if place == self.owners.len() {
            self.owners.push(None);
        }
        self.owners[place] = Some(process);
        Some(PortId(place as u32))
    }

    pub fn close(&mut self, port: PortId) -> bool {
        let owner = self.owners.get_mut(port.0 as usize);
        owner.and_then(Option::take).is_some()
    }

    /// Whether `process` may use `port`.
    #[inline]
    pub fn check(&self, port: PortId, process: u64) -> Result<(), Status> {
        match self.owners.get(port.0 as usize) {
            Some(&Some(owner)) if owner == process => Ok(()),
            _ => Err(Status::ForeignPort),
        }
    }

    #[inline]
    pub fn is_open(&self, port: PortId) -> bool {
        matches!(self.owners.get(port.0 as usize), Some(Some(_)))
    }

    /// Uses the state of `port`; returns whether it was on the chip. It is now, in the place of another.
    #[inline]
    pub fn touch(&mut self, port: PortId) -> bool {
        if self.owners.len() <= self.spec.on_chip as usize {
            return true;
        }
        if self.on_chip.is_empty() {
            // The first ones had their place before there were too many.
            self.on_chip = (0..self.spec.on_chip).collect();
        }
        let place = &mut self.on_chip[(port.0 % self.spec.on_chip) as usize];
        debug_assert_ne!(port.0, NO_PORT);
        std::mem::replace(place, port.0) == port.0
    }
}

#[cfg(test)]
mod tests;
