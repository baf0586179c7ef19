//! Warps at the barrier of their cluster.

use super::Engine;
use crate::gpu::sm::warp::Phase;
use pagemill_types::Picos;

impl Engine {
    /// A warp arrives at the barrier of its cluster, or leaves it as soon as it is open.
    pub(super) fn at_cluster_barrier(
        &mut self,
        end: Picos,
        warp: u32,
        slot: u32,
        (arrives, goes_on): (bool, bool),
    ) {
        let group = self.clusters.group_of(slot);
        let state = &mut self.warps[warp as usize];
        state.arrived = end;
        match (arrives, goes_on) {
            (true, _) => {
                self.clusters.arrive(group, end);
                self.heap.replace_top(end, warp);
            }
            (false, true) => {
                // The barrier is open, but word of that may be on its way: it opens a crossing after the last arrival.
                let at = end.max(self.clusters.opened_at(group));
                self.heap.replace_top(at, warp);
            }
            (false, false) => {
                state.phase = Phase::ClusterBarrier;
                self.heap.pop();
            }
        }
        self.open_cluster_barrier(group);
    }

    /// If this step was the last that the barrier of the cluster in `group` waited for, those that wait go on.
    pub(super) fn open_cluster_barrier(&mut self, group: u32) {
        if !self.step.opens_cluster_barrier {
            return;
        }
        let opens_at = self.clusters.open(group, self.cluster_crossing);
        for rank in 0..self.cluster_blocks {
            let first = self.clusters.slot(group, rank) * self.warps_per_block;
            for warp in first..first + self.warps_per_block {
                let state = &mut self.warps[warp as usize];
                if state.phase == Phase::ClusterBarrier {
                    state.phase = Phase::Run;
                    self.heap.push(opens_at.max(state.arrived), warp);
                }
            }
        }
    }
}
