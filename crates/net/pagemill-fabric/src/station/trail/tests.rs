use proptest::prelude::*;

use super::*;

/// How long each cause took.
type Shares = [u64; Cause::ALL.len()];

fn shares(trail: &Trail, span_ps: u64) -> Shares {
    let mut shares = Shares::default();
    for (cause, share_ps) in trail.latest(span_ps) {
        shares[cause as usize] += share_ps;
    }
    shares
}

/// What it is, without a bound on the parts.
fn last(parts: &[(usize, u64)], span_ps: u64) -> Shares {
    let mut shares = Shares::default();
    let all: Vec<usize> = (parts.iter())
        .flat_map(|(cause, span)| std::iter::repeat_n(*cause, *span as usize))
        .collect();
    for index in 0..span_ps as usize {
        let place = all.len().checked_sub(index + 1);
        shares[place.map_or(Cause::Partner as usize, |place| all[place])] += 1;
    }
    shares
}

proptest! {
    #[test]
    fn shares_are_those_of_the_last_picoseconds_and_add_up(
        parts in proptest::collection::vec((0..7_usize, 0..9_u64), 0..PARTS_MAX), span in 0..300_u64, cut in 0..40_u64
    ) {
        let mut trail = Trail::new(1000);
        let mut model = Vec::new();
        for (cause, span_ps) in parts {
            trail.go_on(trail.end_ps() + span_ps, Cause::ALL[cause]);
            model.push((cause, span_ps));
        }
        prop_assert_eq!(shares(&trail, span), last(&model, span));
        prop_assert_eq!(shares(&trail, span).iter().sum::<u64>(), span);
        let end_ps = trail.end_ps();
        prop_assert_eq!(Trail::of_words(end_ps, &trail.words()), Some(trail));
        trail.cut_to(end_ps - cut);
        let mut left = cut;
        for part in model.iter_mut().rev() {
            let less = left.min(part.1);
            part.1 -= less;
            left -= less;
        }
        prop_assert_eq!(shares(&trail, span), last(&model, span));
    }
}

#[test]
fn too_many_parts_lose_causes_and_no_time() {
    let mut trail = Trail::new(0);
    for part in 0..100 {
        let cause = Cause::ALL[part % 2 + 1];
        trail.go_on(trail.end_ps() + 10, cause);
    }
    let shares = shares(&trail, 1000);
    assert_eq!(shares[Cause::Partner as usize], 0);
    assert_eq!(shares.iter().sum::<u64>(), 1000);
}
