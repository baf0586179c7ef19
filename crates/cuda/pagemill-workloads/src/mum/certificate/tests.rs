use super::super::NAME;
use super::*;
use crate::random::Random;

const CERTIFICATE: Certificate<'_> = Certificate {
    genome: &[0, 1, 2, 3, 0, 1, 3],
    queries: &[0, 1, 3, 3],
    query_length: 4,
    minimum_match: 2,
};

fn verdict(matches: &[u32]) -> Result<(), WorkloadError> {
    let bytes: Vec<u8> = matches.iter().flat_map(|word| word.to_le_bytes()).collect();
    CERTIFICATE.check(&bytes, &mut Check::bit_exact(NAME))
}

#[test]
fn a_string_set_holds_what_was_put_in_and_nothing_else() {
    let random = Random::new(1, 0);
    let strings: Vec<u64> = (0..50_000).map(|i| random.bits(i) >> 40).collect();
    let (set, model) = (
        StringSet::new(strings.clone()),
        std::collections::HashSet::<u64>::from_iter(strings),
    );
    for string in (0..1 << 24).step_by(11) {
        assert_eq!(set.contains(string), model.contains(&string), "{string}");
    }
}

#[test]
fn the_longest_matches_are_accepted() {
    // 013 at 4, 13 at 5, and 33 nowhere.
    verdict(&[4, 3, 5, 2, 0, 0]).expect("right");
}

#[test]
fn shorter_missing_and_false_matches_are_refused() {
    for wrong in [
        [0, 2, 5, 2, 0, 0],
        [4, 3, 0, 0, 0, 0],
        [3, 3, 5, 2, 0, 0],
        [4, 3, 5, 2, 6, 2],
        [4, 3, 5, 1, 0, 0],
    ] {
        verdict(&wrong).expect_err("wrong");
    }
}
