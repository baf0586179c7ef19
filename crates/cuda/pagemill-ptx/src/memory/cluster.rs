//! Blocks of a cluster: they are resident together, reach each other's shared memory, and meet at a barrier of their own.
//!
//! While a block runs, its shared memory is its own; while it does not, the memory lies here, where the others reach it.

use std::collections::BTreeMap;

/// Where a block sits: its cluster, its rank, and what all blocks of the cluster have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seat {
    pub launch: u64,
    pub cluster: u64,
    pub rank: u32,
    pub blocks: u32,
    pub warps_per_block: u32,
    pub shared_bytes: u32,
}

/// The clusters that are resident.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clusters {
    /// The launch that they are of.
    launch: u64,
    resident: BTreeMap<u64, Cluster>,
}

#[derive(Clone, Debug)]
struct Cluster {
    /// By rank; `None` for the block that runs, and for those that were not asked for.
    shared: Vec<Option<Vec<u8>>>,
    barrier: Barrier,
}

/// The barrier of a cluster. Arrival is counted in warps.
#[derive(Clone, Copy, Debug, Default)]
struct Barrier {
    phase: u64,
    arrived: u32,
    /// Warps that have ended, and those of them that arrived in this phase before they did.
    ended: u32,
    ended_arrived: u32,
}

impl Barrier {
    /// Begins the next phase if all of `warps` have arrived or ended.
    fn complete(&mut self, warps: u32) -> bool {
        let is_complete = self.arrived + self.ended - self.ended_arrived >= warps;
        if is_complete {
            self.phase += 1;
            (self.arrived, self.ended_arrived) = (0, 0);
        }
        is_complete
    }
}

impl Clusters {
    fn of(&mut self, seat: Seat) -> &mut Cluster {
        if self.launch != seat.launch {
            // A launch that was stopped leaves its clusters behind.
            self.resident.clear();
            self.launch = seat.launch;
        }
        self.resident
            .entry(seat.cluster)
            .or_insert_with(|| Cluster {
                shared: vec![None; seat.blocks as usize],
                barrier: Barrier::default(),
            })
    }

    /// The block at `seat` runs: it gets its shared memory, which others may have changed.
    pub(crate) fn enter(&mut self, seat: Seat, shared: &mut Vec<u8>) {
        if let Some(Some(kept)) = self
            .of(seat)
            .shared
            .get_mut(seat.rank as usize)
            .map(Option::take)
        {
            *shared = kept;
        }
    }

    /// The block at `seat` lets others run.
    pub(crate) fn leave(&mut self, seat: Seat, shared: &mut Vec<u8>) {
        let cluster = self.of(seat);
        if cluster.barrier.ended >= seat.blocks * seat.warps_per_block {
            self.resident.remove(&seat.cluster);
            return;
        }
        if let Some(place) = cluster.shared.get_mut(seat.rank as usize) {
            *place = Some(std::mem::take(shared));
        }
    }

    /// The shared memory of another block of the cluster, if there is one of that rank.
    pub(crate) fn shared_of(&mut self, seat: Seat, rank: u32) -> Option<&mut [u8]> {
        let place = self.of(seat).shared.get_mut(rank as usize)?;
        Some(place.get_or_insert_with(|| vec![0; seat.shared_bytes as usize]))
    }

    /// The phase that the barrier is in.
    pub(crate) fn phase(&mut self, seat: Seat) -> u64 {
        self.of(seat).barrier.phase
    }

    /// Warps that have arrived or ended, and all warps.
    pub(crate) fn arrivals(&mut self, seat: Seat) -> (u32, u32) {
        let Barrier {
            arrived,
            ended,
            ended_arrived,
            ..
        } = self.of(seat).barrier;
        (
            arrived + ended - ended_arrived,
            seat.blocks * seat.warps_per_block,
        )
    }

    /// A warp arrives; whether that was the last.
    pub(crate) fn arrive(&mut self, seat: Seat) -> bool {
        let barrier = &mut self.of(seat).barrier;
        barrier.arrived += 1;
        barrier.complete(seat.blocks * seat.warps_per_block)
    }

    /// A warp ends, which arrived in phase `arrived` last, if it did; whether others waited only for it.
    pub(crate) fn end(&mut self, seat: Seat, arrived: Option<u64>) -> bool {
        let barrier = &mut self.of(seat).barrier;
        barrier.ended += 1;
        if arrived == Some(barrier.phase) {
            barrier.ended_arrived += 1;
        }
        let was_waited_for = barrier.arrived > 0;
        was_waited_for && barrier.complete(seat.blocks * seat.warps_per_block)
    }
}

#[cfg(test)]
mod tests;
