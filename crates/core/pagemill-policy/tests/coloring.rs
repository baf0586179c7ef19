//! Colors against trivial models: exhaustive where cases are few, random where they are many.

use std::collections::BTreeSet;

use pagemill_policy::coloring::{
    CacheGeometry, Color, ColorRange, Dealer, LazyPages, MissCurve, Palette, PaletteError,
    Sensitivity, SensitivityRule, Touch, arrange, plan_recolor,
};
use pagemill_types::{PageNumber, PageSize};
use proptest::prelude::*;

fn range(first: u16, count: u16) -> ColorRange {
    ColorRange::new(Color(first), count).expect("it holds a color")
}

const CORE_2_DUO: CacheGeometry = CacheGeometry {
    bytes: 6 << 20,
    ways: 24,
    line_bytes: 64,
};

#[test]
fn the_documents_cache_has_64_colors() {
    let palette = Palette::new(CORE_2_DUO, PageSize::KIB_4).expect("it has colors");
    assert_eq!((palette.colors(), palette.sets_per_color()), (64, 64));
    assert_eq!(palette.color_of(PageNumber(0x12345)), Color(0x05));
    assert_eq!(palette.all(), range(0, 64));
}

#[test]
fn frames_of_different_colors_share_no_set() {
    let palette = Palette::new(CORE_2_DUO, PageSize::KIB_4).expect("it has colors");
    let sets = CORE_2_DUO.sets().expect("a power of two");
    let sets_of =
        |frame: u64| -> BTreeSet<u64> { (0..64).map(|line| (frame * 64 + line) % sets).collect() };
    for frame in 0..130 {
        for other in 0..130 {
            let same = palette.color_of(PageNumber(frame)) == palette.color_of(PageNumber(other));
            assert_eq!(
                sets_of(frame).is_disjoint(&sets_of(other)),
                !same,
                "{frame} {other}"
            );
        }
    }
}

#[test]
fn caches_without_colors_are_refused() {
    let l1 = CacheGeometry {
        bytes: 32 << 10,
        ways: 8,
        line_bytes: 64,
    };
    let refused = Palette::new(l1, PageSize::KIB_4).expect_err("a way is a page");
    assert_eq!(
        refused,
        PaletteError::OneColor {
            way_bytes: 4096,
            page_bytes: 4096
        }
    );
    assert!(Palette::new(CORE_2_DUO, PageSize::MIB_2).is_err());
    for geometry in [
        CacheGeometry {
            bytes: 6 << 20,
            ways: 16,
            line_bytes: 64,
        },
        CacheGeometry {
            bytes: 6 << 20,
            ways: 0,
            line_bytes: 64,
        },
        CacheGeometry {
            bytes: 6 << 20,
            ways: 24,
            line_bytes: 48,
        },
        CacheGeometry {
            bytes: 0,
            ways: 24,
            line_bytes: 64,
        },
        CacheGeometry {
            bytes: u64::MAX,
            ways: u32::MAX,
            line_bytes: u32::MAX,
        },
    ] {
        assert_eq!(
            Palette::new(geometry, PageSize::KIB_4),
            Err(PaletteError::Shape(geometry))
        );
    }
    let huge = CacheGeometry {
        bytes: 1 << 40,
        ways: 1,
        line_bytes: 64,
    };
    assert!(matches!(
        Palette::new(huge, PageSize::KIB_4),
        Err(PaletteError::TooMany { .. })
    ));
}

#[test]
fn the_best_quota_is_where_misses_fall_most() {
    let curve = |misses: &[u64]| MissCurve::new(100, misses.to_vec()).expect("a curve");
    assert_eq!(curve(&[90, 85, 20, 15]).best_quota(), 3);
    assert_eq!(
        curve(&[90, 80, 70, 60]).best_quota(),
        2,
        "the fewest among equals"
    );
    assert_eq!(curve(&[5, 5, 5]).best_quota(), 1);
    assert_eq!(curve(&[5, 9, 7]).best_quota(), 3, "a curve may rise");
    assert!(MissCurve::new(100, Vec::new()).is_err());
    assert!(MissCurve::new(1, vec![1, 2]).is_err());
}

#[test]
fn classes_part_by_fall_and_level() {
    let rule = SensitivityRule::default();
    let class = |first: u64, last: u64| {
        rule.class_of(&MissCurve::new(100, vec![first, last]).expect("a curve"), 1)
    };
    assert_eq!(class(80, 20), Sensitivity::High);
    assert_eq!(class(30, 15), Sensitivity::Medium);
    assert_eq!(class(90, 88), Sensitivity::LowManyMisses);
    assert_eq!(class(3, 1), Sensitivity::LowFewMisses);
    assert_eq!(class(1, 3), Sensitivity::LowFewMisses);
}

/// The fewest pages that any even map changes, by trying all maps.
fn fewest_moves(current: &[Color], colors: ColorRange) -> usize {
    fn search(
        current: &[Color],
        colors: ColorRange,
        counts: &mut [usize],
        moved: usize,
        most: usize,
    ) -> usize {
        let Some((first, rest)) = current.split_first() else {
            let spread =
                counts.iter().max().expect("a color") - counts.iter().min().expect("a color");
            return if spread <= 1 { moved } else { usize::MAX };
        };
        let mut best = usize::MAX;
        for (place, color) in colors.colors().enumerate() {
            if counts[place] < most {
                counts[place] += 1;
                let moved = moved + usize::from(color != *first);
                best = best.min(search(rest, colors, counts, moved, most));
                counts[place] -= 1;
            }
        }
        best
    }
    let most = current.len().div_ceil(usize::from(colors.count())).max(1);
    search(
        current,
        colors,
        &mut vec![0; usize::from(colors.count())],
        0,
        most,
    )
}

#[test]
fn recoloring_moves_the_minimum_for_every_small_map() {
    // All maps of up to 6 pages with 4 colors, to every range of them.
    for pages in 0..=6_u32 {
        for map in 0..4_u32.pow(pages) {
            let current: Vec<Color> = (0..pages)
                .map(|page| Color((map / 4_u32.pow(page) % 4) as u16))
                .collect();
            for (first, count) in
                (0..4).flat_map(|first| (1..=4 - first).map(move |count| (first, count)))
            {
                let colors = range(first, count);
                let plan = plan_recolor(&current, colors);
                let differing = current
                    .iter()
                    .zip(&plan.target)
                    .filter(|(a, b)| a != b)
                    .count();
                assert_eq!(plan.moved, differing);
                assert_eq!(
                    plan.moved,
                    fewest_moves(&current, colors),
                    "{current:?} to {colors}"
                );
            }
        }
    }
}

proptest! {
    #[test]
    fn recolored_pages_are_even_and_in_range(
        current in prop::collection::vec((0_u16..70).prop_map(Color), 0..500),
        first in 0_u16..64,
        count in 1_u16..20,
    ) {
        let colors = range(first, count);
        let plan = plan_recolor(&current, colors);
        prop_assert!(plan.target.iter().all(|color| colors.contains(*color)));
        let pages = |color: Color| plan.target.iter().filter(|target| **target == color).count();
        let most = colors.colors().map(pages).max().expect("a color");
        let least = colors.colors().map(pages).min().expect("a color");
        prop_assert!(most - least <= 1);
        prop_assert_eq!(plan_recolor(&plan.target, colors).moved, 0, "an even map stays");
    }

    #[test]
    fn dealing_is_even_and_never_repeats(count in 1_u16..70, pages in 0_usize..300) {
        let mut dealer = Dealer::new(range(3, count));
        let dealt: Vec<Color> = (0..pages).map(|_| dealer.deal()).collect();
        if count > 1 {
            prop_assert!(dealt.windows(2).all(|pair| pair[0] != pair[1]));
        }
        let counts: Vec<u64> = dealer.range().colors().map(|color| dealer.pages(color)).collect();
        prop_assert!(counts.iter().max().unwrap() - counts.iter().min().unwrap() <= 1);
        prop_assert_eq!(counts.iter().sum::<u64>(), pages as u64);
    }

    /// Pages that go back are filled up again before others grow, and still no color repeats.
    #[test]
    fn dealing_evens_out_what_went_back(
        count in 2_u16..9,
        steps in prop::collection::vec((any::<bool>(), 0_u16..9), 0..200),
    ) {
        let mut dealer = Dealer::new(range(0, count));
        let mut last = None;
        for (takes_back, color) in steps {
            if takes_back {
                dealer.take_back(Color(color));
                continue;
            }
            let before: Vec<u64> = dealer.range().colors().map(|color| dealer.pages(color)).collect();
            let dealt = dealer.deal();
            prop_assert_ne!(Some(dealt), last);
            let fewest_of_others = dealer.range().colors().filter(|color| Some(*color) != last)
                .map(|color| before[usize::from(color.0)]).min().unwrap();
            prop_assert_eq!(before[usize::from(dealt.0)], fewest_of_others);
            last = Some(dealt);
        }
    }

    /// After a change of colors, new pages go where the fewest are to be.
    #[test]
    fn dealing_goes_on_beside_recolored_pages(first in 1_u16..9, second in 1_u16..9, old in 0_usize..60, new in 0_usize..60) {
        let mut dealer = Dealer::new(range(0, first));
        let mut pages = LazyPages::new();
        (0..old).for_each(|page| pages.assign(page, dealer.deal()));
        pages.recolor(range(2, second));
        let targets: Vec<Color> = (0..old).filter_map(|page| pages.target(page)).collect();
        prop_assert_eq!(targets.len(), old);
        let mut dealer = Dealer::resume(range(2, second), targets.iter().copied());
        let mut all = targets;
        (0..new).for_each(|_| all.push(dealer.deal()));
        let count = |color| all.iter().filter(|page| **page == color).count();
        let counts: Vec<usize> = range(2, second).colors().map(count).collect();
        let (least, most) = (counts.iter().min(), counts.iter().max());
        prop_assert!(most <= least.map(|least| least + 2).as_ref(), "{:?}", counts);
        for page in 0..old {
            prop_assert_eq!(pages.color(page) == pages.target(page), pages.touch(page) == Touch::Mapped);
        }
    }

    #[test]
    fn arranged_ranges_are_disjoint_and_keep_their_order(
        quotas in prop::collection::vec(1_u16..20, 1..6),
        former in prop::collection::vec(prop::option::of((0_u16..64, 1_u16..9)), 0..6),
    ) {
        let former: Vec<_> = former.into_iter().map(|former| former.map(|(first, count)| range(first, count))).collect();
        let sum = quotas.iter().sum::<u16>();
        let ranges = arrange(sum, &quotas, &former).expect("they fit");
        prop_assert!(arrange(sum - 1, &quotas, &former).is_err());
        for (task, own) in ranges.iter().enumerate() {
            prop_assert_eq!(own.count(), quotas[task]);
            for (other_task, other) in ranges.iter().enumerate().skip(task + 1) {
                prop_assert_eq!(own.overlap(*other), 0);
                let first = |task: usize| former.get(task).copied().flatten().map(|range| range.first());
                if let (Some(a), Some(b)) = (first(task), first(other_task))
                    && a != b {
                    prop_assert_eq!(a < b, own.first() < other.first());
                }
            }
        }
    }

    /// Whatever happens, the data of a page is where the last copy put it, a change is flushed once, and a page that is
    /// not touched is not copied.
    #[test]
    fn lazy_pages_follow_a_trivial_model(
        steps in prop::collection::vec((0_u8..4, 0_usize..12, 0_u16..12), 0..200),
    ) {
        let mut pages = LazyPages::new();
        // Color of the frame, whether it is mapped.
        let mut model: Vec<Option<(Color, bool)>> = vec![None; 12];
        let (mut copies, mut flushes) = (0, 0);
        let mut colors = range(0, 12);
        for (step, page, value) in steps {
            match step {
                0 => {
                    let color = Color(value % colors.count() + colors.first().0);
                    pages.assign(page, color);
                    model[page] = Some((color, true));
                }
                1 => {
                    prop_assert_eq!(pages.release(page), model[page].take().map(|(color, _)| color));
                }
                2 => match (pages.touch(page), &mut model[page]) {
                    (Touch::Absent, None) => {}
                    (Touch::Mapped, Some((_, true))) => {}
                    (Touch::Map(color), Some((at, mapped @ false))) => {
                        prop_assert_eq!(color, *at);
                        *mapped = true;
                    }
                    (Touch::Copy { from, to }, Some((at, mapped @ false))) => {
                        prop_assert_eq!(from, *at);
                        prop_assert_ne!(from, to);
                        prop_assert!(colors.contains(to));
                        (*at, *mapped) = (to, true);
                        copies += 1;
                    }
                    (touch, state) => prop_assert!(false, "{:?} of {:?}", touch, state),
                },
                _ => {
                    colors = range(value, 1 + page as u16);
                    let flush = pages.recolor(colors);
                    prop_assert_eq!(flush.is_needed, !flush.unmap.is_empty());
                    flushes += u64::from(flush.is_needed);
                    for page in flush.unmap {
                        let (_, mapped) = model[page].as_mut().expect("only frames are unmapped");
                        prop_assert!(*mapped, "an entry is cleared once");
                        *mapped = false;
                    }
                    // What is still mapped has its place: it is never copied for this change.
                    prop_assert!(model.iter().flatten().filter(|(_, mapped)| *mapped).all(|(at, _)| colors.contains(*at)));
                }
            }
            for (page, state) in model.iter().enumerate() {
                prop_assert_eq!(pages.color(page), state.map(|(at, _)| at));
            }
            prop_assert_eq!((pages.copies(), pages.flushes()), (copies, flushes));
        }
    }
}
