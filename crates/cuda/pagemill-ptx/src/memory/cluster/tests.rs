use super::*;

const SEAT: Seat = Seat {
    launch: 1,
    cluster: 3,
    rank: 0,
    blocks: 2,
    warps_per_block: 2,
    shared_bytes: 64,
};

#[test]
fn a_phase_ends_when_all_warps_have_arrived_or_ended() {
    // Each warp arrives and ends, ends only, or arrives only, in every combination and order of three of four.
    for choice in 0..27 {
        let mut clusters = Clusters::default();
        let mut has_completed = false;
        for warp in 0..3 {
            match choice / 3u32.pow(warp) % 3 {
                0 => {
                    has_completed |= clusters.arrive(SEAT);
                    has_completed |= clusters.end(SEAT, Some(0));
                }
                1 => has_completed |= clusters.end(SEAT, None),
                _ => has_completed |= clusters.arrive(SEAT),
            }
        }
        assert!(!has_completed, "choice {choice}");
        assert_eq!(clusters.arrivals(SEAT), (3, 4));
        assert!(clusters.arrive(SEAT), "choice {choice}");
        assert_eq!(clusters.phase(SEAT), 1);
        let ended = (0..3).filter(|warp| choice / 3u32.pow(*warp) % 3 < 2);
        assert_eq!(clusters.arrivals(SEAT), (ended.count() as u32, 4));
    }
}

#[test]
fn memory_of_a_block_outlives_its_turns_and_not_its_cluster() {
    let mut clusters = Clusters::default();
    clusters.shared_of(SEAT, 1).expect("rank 1 is there")[5] = 9;
    assert!(clusters.shared_of(SEAT, 2).is_none());
    let seat = Seat { rank: 1, ..SEAT };
    let mut shared = vec![0; 64];
    clusters.enter(seat, &mut shared);
    assert_eq!(shared[5], 9);
    shared[6] = 8;
    clusters.leave(seat, &mut shared);
    assert_eq!(clusters.shared_of(SEAT, 1).map(|shared| shared[6]), Some(8));
    for _ in 0..4 {
        clusters.end(seat, None);
    }
    clusters.leave(seat, &mut vec![0; 64]);
    assert!(clusters.resident.is_empty());
}
