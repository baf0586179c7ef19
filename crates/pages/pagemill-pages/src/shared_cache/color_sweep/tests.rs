use pagemill_policy::coloring::CacheGeometry;
use pagemill_types::PageSize;
use proptest::prelude::*;

use super::*;

const LINE: u64 = 64;

/// A small cache: 4 lines a page of 256 bytes, 8 colors, 3 ways.
fn small(colors: Vec<u16>, sample_every: u32) -> SweepSpec {
    let geometry = CacheGeometry {
        bytes: 3 * 8 * 256,
        ways: 3,
        line_bytes: LINE as u32,
    };
    let page = PageSize::new(256).expect("a power of two");
    SweepSpec {
        palette: Palette::new(geometry, page).expect("it has colors"),
        colors,
        sample_every,
    }
}

/// One cache as a list of lines for each set, the newest first.
struct Trivial {
    colors: usize,
    ways: usize,
    pages: Vec<u64>,
    sets: Vec<Vec<u64>>,
    misses: u64,
}

impl Trivial {
    fn new(colors: u16) -> Self {
        Self {
            colors: usize::from(colors),
            ways: 3,
            pages: Vec::new(),
            sets: vec![Vec::new(); usize::from(colors) * 4],
            misses: 0,
        }
    }

    fn touch(&mut self, line: u64) {
        let (page, place) = (line / 4, line % 4);
        let number = self.pages.iter().position(|known| *known == page);
        let number = number.unwrap_or_else(|| {
            self.pages.push(page);
            self.pages.len() - 1
        });
        let set = &mut self.sets[number % self.colors * 4 + place as usize];
        match set.iter().position(|cached| *cached == line) {
            Some(at) => {
                set.remove(at);
            }
            None => self.misses += 1,
        }
        set.insert(0, line);
        set.truncate(self.ways);
    }
}

fn lines() -> impl Strategy<Value = Vec<u64>> {
    // Loops, streams and jumps over more lines than the cache holds.
    let jump = prop::collection::vec(0_u64..200, 0..300);
    let around = (1_u64..150, 1_usize..5)
        .prop_map(|(span, rounds)| (0..span).cycle().take(span as usize * rounds).collect());
    prop::collection::vec(prop_oneof![jump, around], 1..4).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn every_number_of_colors_is_as_a_trivial_cache(lines in lines(), at_once in 1_usize..100) {
        let colors: Vec<u16> = (1..=8).collect();
        let sweep = |kernel| ColorSweep::with(&small(colors.clone(), 1), u32::MAX, kernel).expect("it is sound");
        let mut sweeps = [Kernel::Portable, Kernel::detect()].map(sweep);
        let mut trivial: Vec<Trivial> = colors.iter().map(|colors| Trivial::new(*colors)).collect();
        for lines in lines.chunks(at_once) {
            for line in lines {
                sweeps.iter_mut().for_each(|sweep| sweep.touch(line * LINE, 1).expect("few pages"));
                trivial.iter_mut().for_each(|cache| cache.touch(*line));
            }
            let expected: Vec<u64> = trivial.iter().map(|cache| cache.misses).collect();
            for sweep in &mut sweeps {
                let misses: Vec<u64> = sweep.misses().map(|(_, misses)| misses).collect();
                prop_assert_eq!(&misses, &expected);
            }
        }
        prop_assert_eq!(sweeps[0].references(), lines.len() as u64);
    }

    /// The clock starts again every few touches, and nothing shows.
    #[test]
    fn a_short_clock_changes_nothing(lines in lines(), more in 1_u32..50) {
        let spec = small(vec![1, 3, 8], 1);
        let mut endless = ColorSweep::new(&spec).expect("it is sound");
        // At least one more than lines can be ranked.
        let mut short = ColorSweep::with(&spec, 200 + more, Kernel::detect()).expect("it is sound");
        for line in &lines {
            endless.touch(line * LINE, 1).expect("few pages");
            short.touch(line * LINE, 1).expect("few pages");
        }
        prop_assert!(endless.misses().eq(short.misses()));
    }

    /// A sample is exact for the lines it watches.
    #[test]
    fn samples_are_the_trace_without_the_other_lines(lines in lines()) {
        let mut sample = ColorSweep::new(&small(vec![1, 2, 5], 2)).expect("it is sound");
        let mut all = ColorSweep::new(&small(vec![1, 2, 5], 1)).expect("it is sound");
        // Pages are dealt in the order of all first touches that are watched.
        for line in &lines {
            sample.touch(line * LINE, 1).expect("few pages");
            if line % 2 == 0 {
                all.touch(line * LINE, 1).expect("few pages");
            }
        }
        prop_assert!(sample.misses().eq(all.misses()));
        prop_assert_eq!(sample.watched_references(), all.references());
    }
}

#[test]
fn a_reference_over_a_line_end_is_two() {
    let mut sweep = ColorSweep::new(&small(vec![8], 1)).expect("it is sound");
    sweep.touch(60, 8).expect("few pages");
    sweep.touch(64, 1).expect("few pages");
    assert_eq!(sweep.references(), 3);
    assert_eq!(sweep.misses().collect::<Vec<_>>(), [(8, 2)]);
    sweep
        .touch(u64::MAX - 1, 8)
        .expect("it ends with the address space");
    assert_eq!(sweep.pages(), 2);
}

#[test]
fn impossible_sweeps_are_refused() {
    assert_eq!(
        ColorSweep::new(&small(vec![], 1)).err(),
        Some(SweepError::Count(0))
    );
    assert_eq!(
        ColorSweep::new(&small(vec![1; 65], 1)).err(),
        Some(SweepError::Count(65))
    );
    for asked in [0, 9] {
        let refused = ColorSweep::new(&small(vec![asked], 1)).err();
        assert_eq!(refused, Some(SweepError::NoSuchColors { asked, colors: 8 }));
    }
    for every in [0, 3, 8] {
        let refused = ColorSweep::new(&small(vec![1], every)).err();
        assert_eq!(refused, Some(SweepError::Sample { every, lines: 4 }));
    }
}

#[test]
fn a_curve_needs_every_number_of_colors() {
    let sweep = |colors| ColorSweep::new(&small(colors, 1)).expect("it is sound");
    assert!(sweep(vec![1, 3]).curve().is_none());
    let mut full = sweep((1..=8).collect());
    (0..100).for_each(|line| full.touch(line % 20 * LINE, 4).expect("few pages"));
    let curve = full.curve().expect("colors 1 to 8");
    assert_eq!(curve.references(), 100);
    assert_eq!((curve.misses(8), curve.colors()), (20, 8));
}

/// A 32 MiB cache of 16 ways has 512 colors: the numbers of colors of pages do not fit a byte.
#[test]
fn caches_with_many_colors_are_swept_to_the_last() {
    let geometry = CacheGeometry {
        bytes: 32 << 20,
        ways: 16,
        line_bytes: LINE as u32,
    };
    let palette = Palette::new(geometry, PageSize::KIB_4).expect("it has colors");
    let mut sweep = ColorSweep::new(&SweepSpec {
        palette,
        colors: vec![256, 512],
        sample_every: 1,
    })
    .expect("it is sound");
    // 16 * 512 pages fill every set of 512 colors, and twice over those of 256.
    for _ in 0..2 {
        (0..16 * 512).for_each(|page| sweep.touch(page * 4096, 1).expect("few pages"));
    }
    assert_eq!(
        sweep.misses().collect::<Vec<_>>(),
        [(256, 2 * 16 * 512), (512, 16 * 512)]
    );
}

/// One line that is touched all the time, watched or not, says nothing of how many misses the others have.
#[test]
fn a_hot_line_does_not_distort_a_sample() {
    for hot in [0, 1] {
        let mut sample = ColorSweep::new(&small(vec![1, 8], 2)).expect("it is sound");
        for line in 0..400 {
            sample.touch(line * LINE, 8).expect("few pages");
            (0..9).for_each(|_| sample.touch(hot * LINE, 8).expect("few pages"));
        }
        // 400 lines once, and the hot one again when its set of one color has three other pages since.
        assert_eq!(sample.references(), 4000);
        for ratio in sample.miss_ratios() {
            assert!((0.099..0.102).contains(&ratio), "{ratio}");
        }
    }
}
