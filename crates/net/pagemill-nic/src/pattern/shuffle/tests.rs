use super::*;

#[test]
fn everyone_is_beside_the_one_that_is_beside_it() {
    for ranks in [1, 2, 3, 4, 17, 64, 100] {
        for index in 0..20 {
            let shuffle = Shuffle::new(ranks, 7, index);
            let alone = (0..ranks)
                .filter(|&rank| shuffle.beside(rank) == rank)
                .count();
            assert_eq!(alone, ranks as usize % 2, "{ranks} ranks");
            for rank in 0..ranks {
                assert_eq!(shuffle.beside(shuffle.beside(rank)), rank, "{ranks} ranks");
            }
        }
    }
}

#[test]
fn every_pair_is_drawn_about_equally_often() {
    let mut counts = [0_u32; 8];
    for index in 0..7000 {
        counts[Shuffle::new(8, 1, index).beside(0) as usize] += 1;
    }
    assert_eq!(counts[0], 0);
    // A thousand each; six standard deviations are 176.
    assert!(
        counts[1..].iter().all(|count| count.abs_diff(1000) < 180),
        "{counts:?}"
    );
}
