use super::*;

#[test]
fn a_torus_is_as_near_to_a_cube_as_its_ranks_allow() {
    assert_eq!(torus(4096), [16, 16, 16]);
    assert_eq!(torus(8), [2, 2, 2]);
    assert_eq!(torus(12), [2, 2, 3]);
    assert_eq!(torus(7), [1, 1, 7]);
    assert_eq!(torus(1), [1, 1, 1]);
}

#[test]
fn what_one_sends_another_receives() {
    for pattern in [
        ExchangePattern::Ring,
        ExchangePattern::AllToAll,
        ExchangePattern::Halo,
        ExchangePattern::Shift { distance: 5 },
        ExchangePattern::Pairs { seed: 3 },
    ] {
        for ranks in [1, 2, 3, 8, 12] {
            let spec = ExchangeSpec {
                pattern,
                ranks,
                bytes: 8,
                iterations: 2,
                compute: Picos::ZERO,
            };
            for mut one in spec.programs() {
                for phase in 0..spec.phases() {
                    one.phase = phase;
                    for index in 0..spec.sends(one.rank) {
                        let (to, _) = one.partner(index);
                        let other = ExchangeRank {
                            spec,
                            rank: to,
                            shape: one.shape,
                            phase,
                            step: 0,
                            under_way: 0,
                        };
                        assert_eq!(
                            other.partner(index).1,
                            one.rank,
                            "{pattern:?} {ranks} ranks"
                        );
                    }
                }
            }
        }
    }
}
