//! What lies near an address, for messages.

use super::error::NearAllocation;
use super::{Allocation, DeviceMemory, Nearest};

/// An access that misses an allocation by less is explained by the allocation, whatever memory it meets there.
const MISSED_BY_BYTES: u128 = 4096;

impl DeviceMemory {
    /// What lies nearest to `address`, freed allocations included when they hold it.
    pub fn nearest(&self, address: u64) -> Nearest {
        if let Some(freed) = self
            .freed
            .iter()
            .rev()
            .find(|freed| address.wrapping_sub(freed.address) < freed.bytes)
        {
            return Nearest {
                allocation: Some(freed.clone()),
            };
        }
        let near = |allocation: &Allocation| {
            let (start, end) = (
                i128::from(allocation.address),
                i128::from(allocation.address + allocation.bytes()),
            );
            let address = i128::from(address);
            let distance = match address {
                _ if address < start => Some(address - start),
                _ if address < end => None,
                _ => Some(address - end),
            };
            NearAllocation {
                name: allocation.name.clone(),
                address: allocation.address,
                bytes: allocation.bytes(),
                freed: false,
                on_cpu: false,
                distance,
            }
        };
        let at = self
            .allocations
            .partition_point(|allocation| allocation.address <= address);
        let around = [at.checked_sub(1), Some(at)];
        let candidates = around
            .into_iter()
            .flatten()
            .filter_map(|at| self.allocations.get(at))
            .map(near);
        let allocation = candidates.min_by_key(|near| near.distance.map(i128::abs));
        let is_close = allocation.as_ref().is_some_and(|near| {
            near.distance
                .is_none_or(|distance| distance.unsigned_abs() < MISSED_BY_BYTES)
        });
        let describe = self.cpu_memory.filter(|_| !is_close);
        let on_cpu = describe.and_then(|describe| describe(address));
        let on_cpu = on_cpu.map(|name| NearAllocation {
            name,
            address,
            bytes: 0,
            freed: false,
            on_cpu: true,
            distance: None,
        });
        Nearest {
            allocation: on_cpu.or(allocation),
        }
    }

    /// Says what addresses without an allocation are if `describe` knows them as memory of the CPU.
    pub fn know_cpu_memory(&mut self, describe: fn(u64) -> Option<String>) {
        self.cpu_memory = Some(describe);
    }
}
