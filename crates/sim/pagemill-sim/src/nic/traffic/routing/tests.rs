use super::*;

fn key(tokens: u64) -> AssignmentKey {
    AssignmentKey {
        first_rank: 0,
        iteration: 0,
        micro_batch: 1,
        layer: 2,
        ranks: 8,
        experts: 16,
        top_k: 2,
        tokens,
    }
}

#[test]
fn every_token_goes_to_its_experts_once() {
    let assignment = Routing::new(7, Popularity::Uniform, 1).assignment(&key(1000));
    for place in 0..8 {
        let sent: u64 = (0..8).map(|to| assignment.sent(place, to).1).sum();
        assert_eq!(sent, 2000);
        for other in 0..8 {
            let (_, sent) = assignment.sent(place, other);
            assert_eq!(assignment.received(other, place).1, sent);
        }
        // 2000 of 8000 * 2 draws on average; six standard deviations are about 250.
        assert!(assignment.load(place).abs_diff(2000) < 250);
    }
}

#[test]
fn what_is_drawn_does_not_depend_on_what_is_kept() {
    let routing = Routing::new(7, Popularity::Zipf, 1);
    let first = routing.assignment(&key(100));
    let other = routing.assignment(&key(101));
    assert_ne!(first, other);
    assert_eq!(first, routing.assignment(&key(100)));
}

#[test]
fn a_popular_expert_gets_its_share() {
    let spec = AssignmentKey {
        ranks: 4,
        experts: 4,
        top_k: 1,
        ..key(30_000)
    };
    let assignment = Routing::new(1, Popularity::Zipf, 1).assignment(&spec);
    let mut loads: Vec<u64> = (0..4).map(|place| assignment.load(place)).collect();
    loads.sort_unstable();
    // Of 120,000 tokens 12, 6, 4 and 3 in 25.
    for (load, expected) in loads
        .into_iter()
        .rev()
        .zip([57_600, 28_800, 19_200, 14_400])
    {
        assert!(load.abs_diff(expected) < 1500, "{load} for {expected}");
    }
}
