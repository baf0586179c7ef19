use pagemill_policy::coloring::quota::QUOTA_POLICIES;
use pagemill_policy::coloring::{Color, ColorRange, MissCurve};
use pagemill_types::{Bandwidth, Clock, PageSize, Picos, VirtAddr};
use proptest::prelude::*;

use super::*;
use crate::parts::cache::CacheSpec;

const LINE: u64 = 64;
const PAGE: u64 = 256;

/// 1 GHz; L1 of 2 sets with 2 ways; L2 of 8 colors, 4 lines a page, 3 ways; 100 ns to memory, 64 ns a line.
fn machine() -> SharedCacheMachine {
    let cache = |bytes, ways, hit| CacheSpec {
        bytes,
        line_bytes: LINE as u32,
        ways,
        hit_latency_cycles: hit,
        mshr_entries: 4,
        hashed_sets: false,
    };
    SharedCacheMachine {
        name: "small".to_owned(),
        core: CoreSpec {
            count: 2,
            clock: Clock::new(1_000_000_000).unwrap(),
            reference_cycles: 2,
        },
        l1: cache(2 * 2 * 64, 2, 3),
        l2: cache(8 * 256 * 3, 3, 10),
        memory: MemorySpec {
            latency: Picos::from_nanos(100),
            bandwidth: Bandwidth::new(1_000_000_000).unwrap(),
        },
        paging: PagingSpec {
            page: PageSize::new(PAGE).unwrap(),
            fault: Picos::from_nanos(1000),
            unmap: Picos::from_nanos(7),
            flush_translations: Picos::from_nanos(50),
            flush_caches: Picos::from_nanos(500),
        },
    }
}

/// Lines of a list, one after the other.
struct Lines {
    lines: Vec<u64>,
    given: usize,
    waits: bool,
}

impl ReferenceStream for Lines {
    fn next_block(&mut self, block: &mut Vec<Reference>) -> Result<(), StreamError> {
        block.clear();
        let end = self.lines.len().min(self.given + 7);
        block.extend(self.lines[self.given..end].iter().map(|line| Reference {
            address: VirtAddr(line * LINE),
            is_write: line % 3 == 0,
            waits: self.waits,
        }));
        self.given = end;
        Ok(())
    }
}

fn stream(lines: &[u64]) -> Box<dyn ReferenceStream> {
    Box::new(Lines {
        lines: lines.to_vec(),
        given: 0,
        waits: true,
    })
}

fn range(first: u16, count: u16) -> ColorRange {
    ColorRange::new(Color(first), count).unwrap()
}

fn pages(pages: PageSource) -> SharingSpec {
    SharingSpec { pages, seed: 1 }
}

fn alone(source: PageSource, lines: &[u64]) -> TaskReport {
    let mut reports = run(&machine(), &pages(source), vec![stream(lines)]).unwrap();
    reports.remove(0)
}

/// Equal shares for two tasks, whatever their curves say.
fn halves(on_end: OnEnd, copy: CopyTime) -> PageSource {
    let flat = MissCurve::new(1, vec![1; 8]).unwrap();
    PageSource::Partitioned(Partition {
        policy: QUOTA_POLICIES.find("equal").unwrap(),
        curves: vec![flat.clone(), flat],
        on_end,
        copy,
        flush: FlushScope::Translations,
    })
}

/// A change waits until it pays: it is not made for a task that ends soon, or that misses as often with more colors.
#[test]
fn a_change_is_made_once_it_is_due() {
    let falling = MissCurve::new(100, (1..=8).map(|colors| 100 - 10 * colors).collect()).unwrap();
    let flat = MissCurve::new(100, vec![50; 8]).unwrap();
    let neighbor = vec![1_000_u64; 50];
    for (curve, rounds, recolorings) in [(&falling, 2000, 1), (&falling, 2, 0), (&flat, 2000, 0)] {
        let PageSource::Partitioned(mut partition) = halves(OnEnd::WhenDue, CopyTime::Lazy) else {
            unreachable!("halves are partitions");
        };
        partition.curves = vec![curve.clone(), flat.clone()];
        // More than all colors hold: it misses in every round.
        let lines: Vec<u64> = (0..400_u64).cycle().take(400 * rounds).collect();
        let source = PageSource::Partitioned(partition);
        let streams = vec![stream(&lines), stream(&neighbor)];
        let both = run(&machine(), &pages(source), streams).unwrap();
        assert_eq!(both[0].recolorings, recolorings, "{rounds} rounds");
    }
}

fn lines() -> impl Strategy<Value = Vec<u64>> {
    let jump = prop::collection::vec(0_u64..200, 0..200);
    let around = (1_u64..120, 1_usize..4)
        .prop_map(|(span, rounds)| (0..span).cycle().take(span as usize * rounds).collect());
    prop::collection::vec(prop_oneof![jump, around], 1..4).prop_map(|parts| parts.concat())
}

proptest! {
    /// Two ways to count that have nothing in common but the first cache.
    #[test]
    fn a_task_alone_misses_as_its_curve_says(lines in lines()) {
        let curve = profile(&machine(), stream(&lines)).unwrap();
        for colors in 1..=8 {
            let report = alone(PageSource::Fixed(range(0, colors)), &lines);
            prop_assert_eq!(report.cache.references, lines.len() as u64);
            prop_assert_eq!(report.cache.shared_references, curve.references());
            prop_assert_eq!(report.cache.misses, curve.misses(colors), "{} colors", colors);
            prop_assert_eq!(report.cache.misses_by_others, 0);
        }
    }

    /// Disjoint colors: what a task misses does not depend on its neighbor, and no task displaces another's lines.
    #[test]
    fn tasks_on_disjoint_colors_do_not_touch_each_other(first in lines(), second in lines()) {
        let source = halves(OnEnd::Keep, CopyTime::Lazy);
        let both = run(&machine(), &pages(source), vec![stream(&first), stream(&second)]).unwrap();
        for (report, lines, start) in [(&both[0], &first, 0), (&both[1], &second, 4)] {
            let alone = alone(PageSource::Fixed(range(start, 4)), lines);
            prop_assert_eq!(report.cache, alone.cache);
            prop_assert_eq!(report.cache.misses_by_others, 0);
        }
    }

    /// Without disjoint colors, all that a task misses more than alone is put down to the other.
    #[test]
    fn what_is_missed_more_than_alone_is_the_others_doing(first in lines(), second in lines()) {
        let all = PageSource::Fixed(range(0, 8));
        let both = run(&machine(), &pages(all.clone()), vec![stream(&first), stream(&second)]).unwrap();
        for (report, lines) in both.iter().zip([&first, &second]) {
            let alone = alone(all.clone(), lines);
            prop_assert_eq!(report.cache.shared_references, alone.cache.shared_references);
            prop_assert_eq!(report.cache.misses - report.cache.misses_by_others, alone.cache.misses);
        }
    }

    #[test]
    fn the_same_run_twice_is_the_same(first in lines(), second in lines(), waits in any::<bool>()) {
        let once = || {
            let streams = [&first, &second].map(|lines| {
                Box::new(Lines { lines: lines.clone(), given: 0, waits }) as Box<dyn ReferenceStream>
            });
            run(&machine(), &pages(PageSource::Plain(PlainOrder::Random)), streams.into()).unwrap()
        };
        prop_assert_eq!(once(), once());
    }

    /// When the neighbor ends, the rest of the pages goes to all colors, with no more copies than an even map needs.
    #[test]
    fn recoloring_copies_the_least(span in 1_u64..60, touched in 0_u64..60, is_eager in any::<bool>()) {
        let touched = touched.min(span);
        // The neighbor ends while the first task sweeps its pages; then it touches only some of them.
        let sweep = (0..span).map(|page| page * 4);
        let mut lines: Vec<u64> = sweep.clone().collect();
        (0..200).for_each(|_| lines.push(0));
        lines.extend((0..touched).map(|page| page * 4));
        let copy = if is_eager { CopyTime::Eager } else { CopyTime::Lazy };
        let neighbor = vec![1_000_u64; span as usize];
        let both = run(&machine(), &pages(halves(OnEnd::Recolor, copy)), vec![stream(&lines), stream(&neighbor)]).unwrap();
        let report = &both[0];
        prop_assert_eq!(report.colors, Some(range(0, 8)));
        prop_assert_eq!(report.recolorings, 1);
        let to_copy = report.copied_pages + report.uncopied_pages;
        // Pages that came before the change lay in four of eight colors: half of them, rounded, have to move.
        prop_assert!(to_copy <= span / 2 + 1, "{} of {}", to_copy, span);
        if is_eager {
            prop_assert_eq!(report.uncopied_pages, 0);
        }
        prop_assert_eq!(report.copy_cache.references, report.copied_pages * 8);
    }
}

#[test]
fn a_reference_takes_its_levels_one_after_the_other() {
    let report = alone(PageSource::Fixed(range(0, 8)), &[0]);
    // Fault, first cache, shared cache, memory.
    assert_eq!(report.end, Picos::from_nanos(1000 + 3 + 10 + 100));
    let report = alone(PageSource::Fixed(range(0, 8)), &[0, 0]);
    assert_eq!(report.end, Picos::from_nanos(1000 + 3 + 10 + 100 + 2));
    // Line 0 leaves the first cache for 2 and 6, which are in its set, and is found in the shared one.
    let report = alone(PageSource::Fixed(range(0, 8)), &[0, 2, 6, 0]);
    let faults = 2 * 1000;
    assert_eq!(report.end, Picos::from_nanos(faults + 3 * 113 + 13));
}

#[test]
fn misses_that_are_not_waited_for_overlap_on_the_bus() {
    let one = |waits| {
        let lines = Lines {
            lines: vec![0, 1, 2, 3],
            given: 0,
            waits,
        };
        let all = pages(PageSource::Fixed(range(0, 8)));
        run(&machine(), &all, vec![Box::new(lines)]).unwrap()[0].end
    };
    assert_eq!(one(true), Picos::from_nanos(1000 + 4 * 113));
    assert_eq!(one(false), Picos::from_nanos(1000 + 4 * 2));
}

/// Both tasks fill one set of three ways: the first finds its line gone, and it was the other who took its place.
#[test]
fn who_took_the_place_of_a_line_is_known() {
    let one_color = PageSource::Fixed(range(0, 1));
    let first: Vec<u64> = [0, 4, 8, 0].into();
    let report = alone(one_color.clone(), &first);
    assert_eq!((report.cache.misses, report.cache.misses_by_others), (3, 0));
    let both = run(
        &machine(),
        &pages(one_color),
        vec![stream(&first), stream(&[100, 104, 108])],
    )
    .unwrap();
    assert_eq!(both[0].cache.misses, 4);
    assert_eq!(both[0].cache.misses_by_others, 1);
}

#[test]
fn what_cannot_be_run_is_refused_with_its_numbers() {
    let three = (0..3).map(|_| stream(&[0])).collect();
    let error = run(
        &machine(),
        &pages(PageSource::Plain(PlainOrder::Random)),
        three,
    )
    .unwrap_err();
    assert_eq!(
        error.to_string(),
        "3 tasks need as many cores, the machine has 2"
    );
    let mut wide = machine();
    wide.l1.bytes = 4096;
    let error = run(&wide, &pages(PageSource::Plain(PlainOrder::Random)), vec![]).unwrap_err();
    assert!(error.to_string().contains("l1.bytes = 4096"), "{error}");
    let mut one_color = machine();
    one_color.l2.bytes = 256 * 3;
    assert!(
        profile(&one_color, stream(&[0]))
            .unwrap_err()
            .to_string()
            .contains("one color")
    );
}
