//! Registers that have a value before the first instruction: where a thread is.

use crate::launch::Launch;
use pagemill_ptx_ir::code::{LaneMask, Preset};
use pagemill_ptx_ir::line::{LANES, Line, Registers};

/// What `preset` is in the block with these coordinates; `None` if it depends on the thread only.
pub(super) fn of_block(launch: &Launch, coordinates: [u32; 3], preset: Preset) -> Option<u32> {
    let (cluster, place) = launch.cluster_coordinates(coordinates);
    Some(match preset {
        Preset::BlockIndex(axis) => coordinates[usize::from(axis)],
        Preset::ClusterIndex(axis) => cluster[usize::from(axis)],
        Preset::ClusterBlock(axis) => place[usize::from(axis)],
        Preset::ClusterRank => launch.rank_in_cluster(place),
        _ => return None,
    })
}

/// The register file of warp `warp` with everything in it that stays the same from block to block.
pub(super) fn preset_registers(launch: &Launch, warp: u32) -> Registers {
    let code = &launch.kernel.code;
    let mut registers = Registers {
        narrow: vec![Line::splat(0); usize::from(code.slots_narrow)],
        wide: vec![Line::splat(0); usize::from(code.slots_wide)],
        predicates: vec![0; usize::from(code.slots_predicate)],
    };
    for &(preset, slot) in &code.preset {
        let value = |lane: usize| match preset {
            Preset::ThreadIndex(axis) => {
                launch.thread_coordinates(warp * LANES as u32 + lane as u32)[usize::from(axis)]
            }
            Preset::BlockIndex(_)
            | Preset::ClusterIndex(_)
            | Preset::ClusterBlock(_)
            | Preset::ClusterRank => 0,
            Preset::Lane => lane as u32,
            Preset::Warp => warp,
            Preset::LaneMask(kind) => lane_mask(kind, lane as u32),
        };
        registers.narrow[usize::from(slot)] = Line(std::array::from_fn(value));
    }
    registers
}

fn lane_mask(kind: LaneMask, lane: u32) -> u32 {
    let equal = 1u32 << lane;
    match kind {
        LaneMask::Equal => equal,
        LaneMask::Less => equal - 1,
        LaneMask::LessEqual => equal | (equal - 1),
        LaneMask::GreaterEqual => !(equal - 1),
        LaneMask::Greater => !(equal | (equal - 1)),
    }
}
