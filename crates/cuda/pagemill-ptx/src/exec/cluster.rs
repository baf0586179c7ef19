//! Accesses to the shared memory of other blocks of the cluster.

use super::access::{Stores, Target, lane_addresses, resolve, window_fault};
use super::pattern;
use super::step::BarrierPhase;
use super::transfer::{little_endian, load_lane, store_lane};
use crate::exec::trap::{Fault, TrapKind};
use crate::memory::cluster::Seat;
use pagemill_ptx_ir::address::cluster;
use pagemill_ptx_ir::code::{AccessKind, AddressOperand, ArrivalInst, MemoryInst};
use pagemill_ptx_ir::functions::mbarrier;
use pagemill_ptx_ir::line::{Frame, LANE_BITS, LANES, Line, lanes_of};

/// A block of the cluster and an offset in its shared memory; no rank for the own block.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ClusterPlace {
    pub rank: Option<u32>,
    pub offset: usize,
}

impl Stores<'_> {
    /// Loads or stores lane by lane, each in the block that its address names.
    #[cold]
    pub(super) fn in_cluster(
        &mut self,
        frame: &mut Frame<'_>,
        inst: &MemoryInst,
        mask: u32,
        addresses: &Line<u64>,
    ) -> Result<(), Box<Fault>> {
        let bytes = inst.lane_bytes() as usize;
        let mut places = [ClusterPlace::default(); LANES];
        for lane in lanes_of(mask) {
            places[lane] = self.place_in_cluster(inst, lane, addresses[lane])?;
        }
        let is_remote = lanes_of(mask).any(|lane| places[lane].rank.is_some());
        for lane in lanes_of(mask) {
            let place = places[lane];
            let data = &mut self.shared_at(place)[place.offset..place.offset + bytes];
            match inst.kind {
                AccessKind::Load => load_lane(frame, inst, lane, data),
                _ => store_lane(frame, inst, lane, data),
            }
        }
        self.remote_accesses += u64::from(is_remote && !inst.untimed);
        Ok(())
    }

    /// The place that one lane means, in which it may access all its bytes.
    pub(super) fn place_in_cluster(
        &mut self,
        inst: &MemoryInst,
        lane: usize,
        address: u64,
    ) -> Result<ClusterPlace, Box<Fault>> {
        let own = self.seat.map_or(0, |seat| seat.rank);
        let (rank, offset) = match (cluster::split(address), self.seat) {
            (Some((Some(rank), offset)), _) if rank == own => (None, offset),
            (Some(named), Some(_)) => named,
            _ => (None, address),
        };
        let size = match (rank, self.seat) {
            (Some(rank), Some(seat)) if rank < seat.blocks => seat.shared_bytes as usize,
            (None, _) | (_, None) => self.shared.len(),
            (Some(rank), Some(Seat { blocks, .. })) => {
                let kind = TrapKind::NoSuchRank { rank, blocks };
                return Err(Fault::at_lane(lane as u32, kind));
            }
        };
        let (mask, addresses) = (LANE_BITS[lane], Line::splat(offset));
        let bytes = inst.lane_bytes();
        match pattern::find(&addresses, mask, (0, size), bytes, &mut Line::splat(0)) {
            Ok(_) => Ok(ClusterPlace {
                rank,
                offset: offset as usize,
            }),
            Err(stray) => Err(window_fault(inst, mask, &addresses, "shared", size, stray)),
        }
    }

    /// The phase that lane `lane` means: the one that the object is in, or the one that is waited for.
    pub(super) fn barrier_phase(
        &mut self,
        frame: &Frame<'_>,
        arrival: &ArrivalInst,
        lane: usize,
    ) -> Result<BarrierPhase, Box<Fault>> {
        let mut addresses = Line::splat(lane_addresses(frame, &arrival.object)[lane]);
        if resolve(arrival.object.space, &mut addresses, LANE_BITS[lane]) != Target::Shared {
            let reason = "an mbarrier object lies in shared memory";
            return Err(Fault::at_lane(lane as u32, TrapKind::Misuse { reason }));
        }
        let place = self.place_in_cluster(&arrival.object, lane, addresses[lane])?;
        let is_odd = match arrival.phase {
            Some(AddressOperand::Narrow(parity)) => frame.narrow(parity)[lane] & 1 != 0,
            Some(AddressOperand::Wide(state)) => mbarrier::is_odd(frame.wide(state)[lane]),
            None => {
                let object = &self.shared_at(place)[place.offset..place.offset + 8];
                mbarrier::is_odd(little_endian(object))
            }
        };
        Ok(BarrierPhase {
            rank: place.rank,
            offset: place.offset as u32,
            is_odd,
        })
    }

    /// The shared memory of the block that was found.
    pub(super) fn shared_at(&mut self, place: ClusterPlace) -> &mut [u8] {
        match (place.rank, self.seat) {
            (Some(rank), Some(seat)) => self
                .memory
                .clusters
                .shared_of(seat, rank)
                .unwrap_or_default(),
            _ => self.shared,
        }
    }
}
