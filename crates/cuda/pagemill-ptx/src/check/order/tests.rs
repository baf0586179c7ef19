use super::*;
use proptest::prelude::*;

const ACTORS: usize = 4;

proptest! {
    /// Against vector clocks: each actor's knowledge of every actor, handed on through places.
    #[test]
    fn it_agrees_with_vector_clocks(steps in prop::collection::vec((0u32..ACTORS as u32, 0u64..3, any::<bool>()), 1..40), time in 1u64..40) {
        let mut order = Order::default();
        let mut clocks = [[0u64; ACTORS]; ACTORS];
        let mut places = [[0u64; ACTORS]; 3];
        for (now, (actor, place, releases)) in (1u64..).zip(steps) {
            let (who, at) = (actor as usize, place as usize);
            if releases {
                order.release(place, actor, now);
                clocks[who][who] = now;
                for (known, own) in places[at].iter_mut().zip(clocks[who]) {
                    *known = own.max(*known);
                }
            } else {
                order.acquire(place, actor, now);
                for (own, known) in clocks[who].iter_mut().zip(places[at]) {
                    *own = known.max(*own);
                }
            }
        }
        for who in 0..ACTORS as u32 {
            for other in (0..ACTORS as u32).filter(|other| *other != who) {
                let known = clocks[who as usize][other as usize] >= time;
                prop_assert_eq!(order.knows(who, Some(other), time), known);
            }
        }
    }
}
