use super::super::access::Access;
use super::*;

fn blocked(warps: u32, accesses: u32) -> Blocked<Access> {
    let mut blocked = Blocked::new(7);
    for warp in 0..warps {
        (0..accesses).for_each(|number| blocked.push(Access(32 * warp + number)));
    }
    blocked
}

#[test]
fn the_oldest_go_first() {
    let (mut blocked, mut awake) = (blocked(2, 3), Vec::new());
    blocked.release_oldest(4, &mut awake);
    assert_eq!(awake, [0, 1, 2, 32].map(Access));
    blocked.release_oldest(4, &mut awake);
    assert!(blocked.is_empty());
    assert_eq!(awake.len(), 6);
}

#[test]
fn a_warp_s_accesses_go_in_a_row_however_little_room_there_is() {
    for room in 1..9 {
        let (mut blocked, mut awake) = (blocked(16, 4), Vec::new());
        while !blocked.is_empty() {
            blocked.release_by_warp(room, &mut awake);
        }
        let mut warps: Vec<u32> = Vec::new();
        for of_warp in awake.chunks(4) {
            let first = of_warp[0].page();
            assert!((first..first + 4).map(Access).eq(of_warp.iter().copied()));
            warps.push(of_warp[0].warp());
        }
        assert!(!warps.is_sorted(), "room {room}: {warps:?}");
        warps.sort_unstable();
        assert!(warps.into_iter().eq(0..16), "each once");
    }
}
