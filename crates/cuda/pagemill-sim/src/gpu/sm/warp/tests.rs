use super::*;
use pagemill_ptx::LanePlaces;

#[test]
fn only_lanes_at_one_word_wait_for_each_other() {
    let atomics = AtomicSpec {
        words_per_cycle: 3,
        repeat_cycles: 4,
    };
    let cycles = |lanes_a_word: u64, combines| {
        let access = MemoryAccess {
            kind: AccessKind::Reduction,
            lane_bytes: 4,
            mask: u32::MAX,
            places: LanePlaces::Listed,
            listed: std::array::from_fn(|lane| 4 * (lane as u64 / lanes_a_word)),
            combines,
            ..MemoryAccess::default()
        };
        changing_cycles(&access, atomics)
    };
    assert_eq!(cycles(1, false), 11, "32 words, three a cycle");
    assert_eq!(cycles(2, false), 11, "pairs pass between the others");
    assert_eq!(cycles(32, false), 124);
    assert_eq!(cycles(32, true), 1);
    assert_eq!(cycles(2, true), 6);
}
