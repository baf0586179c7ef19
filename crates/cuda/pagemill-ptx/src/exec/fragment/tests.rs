use super::*;
use pagemill_ptx_ir::op::NEVER;
use proptest::prelude::*;

/// Where each lane stands, and its way ahead: pairs of position and reconvergence point, the nearest first.
fn ways(warp: &Warp) -> Vec<Vec<(u32, u32)>> {
    let way = |lane: u32, path: &Path, stack: &[Path]| {
        let holds = |path: &&Path| path.mask >> lane & 1 != 0;
        let ahead = stack.iter().rev().filter(holds);
        std::iter::once(path)
            .filter(holds)
            .chain(ahead)
            .map(|path| (path.pc, path.reconverge))
            .collect::<Vec<_>>()
    };
    (0..32)
        .map(|lane| {
            let own = way(lane, &warp.path, &warp.stack);
            let parked = warp
                .parked
                .iter()
                .map(|part| way(lane, &part.path, &part.stack))
                .find(|way| !way.is_empty());
            if own.is_empty() {
                parked.unwrap_or_default()
            } else {
                own
            }
        })
        .collect()
}

fn diverged(branches: &[(u32, u32)]) -> Warp {
    let mut warp = Warp::new();
    warp.restart(u32::MAX);
    for (at, &(taken, place)) in (0u32..).zip(branches) {
        let taken = taken & warp.path.mask;
        if taken == 0 || taken == warp.path.mask {
            continue;
        }
        warp.diverge(
            10 * at + place % 3,
            taken,
            10 * at + 5,
            10 * at + 7 + place % 2,
        );
    }
    warp
}

proptest! {
    #[test]
    fn a_split_moves_no_lane(branches in prop::collection::vec((any::<u32>(), any::<u32>()), 0..6)) {
        let mut warp = diverged(&branches);
        let before = ways(&warp);
        warp.split();
        prop_assert_eq!(ways(&warp), before);
        let masks: Vec<u32> = warp.parked.iter().map(|part| part.path.mask).chain([warp.path.mask]).collect();
        prop_assert_eq!(masks.iter().fold(0, |all, mask| all | mask), u32::MAX);
        prop_assert_eq!(masks.iter().map(|mask| mask.count_ones()).sum::<u32>(), 32);
    }

    #[test]
    fn fragments_at_one_place_become_one(parts in prop::collection::vec(0u32..4, 32)) {
        let mut warp = Warp::new();
        warp.restart(0);
        for (lane, &pc) in parts.iter().enumerate() {
            warp.path = Path { pc, mask: 1 << lane, reconverge: NEVER };
            warp.park(None);
        }
        let mut seen = 0;
        while warp.dispatch() {
            let pc = warp.path.pc;
            let wanted = (0..32).filter(|&lane| parts[lane] == pc).fold(0, |mask, lane| mask | 1 << lane);
            prop_assert_eq!(warp.path.mask, wanted);
            seen |= warp.path.mask;
        }
        prop_assert_eq!(seen, u32::MAX);
    }
}
