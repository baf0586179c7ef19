use super::*;

#[test]
fn addresses_name_a_block_and_keep_their_offset() {
    for window in [0, window::SHARED] {
        for rank in [0, 1, 15, 200] {
            for offset in [0, 8, OFFSET_MASK] {
                let mapped = map_to_rank(window | offset, rank, 0, 0);
                assert_eq!(rank_of(mapped, 7, 0, 0), rank);
                assert_eq!(
                    split(mapped & !window),
                    Some((Some(rank as u32), offset)),
                    "{mapped:#x}"
                );
                let again = map_to_rank(mapped, 5, 0, 0);
                assert_eq!(rank_of(again, 7, 0, 0), 5);
                assert_eq!(again & window, window);
            }
        }
        assert_eq!(rank_of(window | 4, 7, 0, 0), 7);
    }
    let far = map_to_rank(0, u64::from(u32::MAX), 0, 0);
    assert!(far <= u64::from(u32::MAX) && rank_of(far, 0, 0, 0) >= u64::from(BLOCKS_MAX));
    assert_eq!(split(1 << 32), None);
}
