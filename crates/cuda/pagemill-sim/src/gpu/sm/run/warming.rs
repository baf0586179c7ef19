//! What the host's caches are asked for ahead. The state of many warps and of the simulated caches is more than they hold, and
//! each event waits for a few lines of it, one after the other, unless they are on their way by then.

use super::Engine;
use super::units::WARM_SEGMENTS;
use crate::gpu::memory::path::MemoryPath;
use crate::gpu::stream::GridStream;

impl Engine {
    /// Asks for what the event behind the one at hand needs.
    #[inline]
    pub(super) fn warm_next<S: GridStream>(&self, stream: &S) {
        if self.are_many
            && let Some(next) = self.heap.second()
        {
            self.warps[next as usize].warm();
            stream.warm(next);
        }
    }

    /// Asks for what the first segments of a warp's access need, which is due some events later.
    #[inline]
    pub(super) fn warm_access(&self, warp: u32, sm: u32, path: &MemoryPath) {
        let segments = self.warps[warp as usize].access.segments.as_slice();
        for &segment in segments.iter().take(WARM_SEGMENTS) {
            path.warm(sm, segment);
        }
    }
}
