//! What is said of a part is no more than the whole, for any page map.

use pagemill_map::{Cause, Change, Effect, Legend, Limits, Recorder};
use proptest::prelude::*;

use super::*;

const PAGE_BYTES: u64 = 4096;
const FAULT: u8 = 0;
const REPEAT: u8 = 1;
const EVICTION: u8 = 3;

fn legend() -> Legend {
    Legend {
        absent: String::new(),
        partial: String::new(),
        present: String::new(),
        departed: String::new(),
        marked: String::new(),
        place: String::new(),
        causes: vec![
            Cause::new("fault", Effect::Arrive),
            Cause::new("repeated transfer", Effect::Repeat),
            // Arrives without a move.
            Cause::new("first touch", Effect::Arrive),
            Cause::new("eviction", Effect::Leave),
        ],
    }
}

/// A map of allocations of so many pages, and what a simulator would have counted beside it: moved, and of that again.
fn recorded(allocations: &[u64], changes: &[(u64, u8, u64)]) -> (Map, u64, u64) {
    let mut recorder = Recorder::new(PAGE_BYTES, legend(), Limits::default());
    let mut end = 0;
    for (number, pages) in allocations.iter().enumerate() {
        recorder.allocated(&format!("managed #{}", number + 1), end, pages * PAGE_BYTES);
        end += pages * PAGE_BYTES;
    }
    let (mut moved, mut again) = (0, 0);
    let mut was_there = std::collections::BTreeSet::new();
    for &(page, cause, at_ps) in changes {
        let page = page % (end / PAGE_BYTES);
        recorder.changed(&Change {
            cause,
            page,
            range: 0..PAGE_BYTES as u32,
            start_ps: at_ps,
            done_ps: at_ps + 5,
            place: 0,
        });
        let is_again = cause == REPEAT || (cause == FAULT && was_there.contains(&page));
        if is_again {
            recorder.moved_again(page, 0..PAGE_BYTES as u32, at_ps + 5);
            again += PAGE_BYTES;
        }
        if [FAULT, REPEAT].contains(&cause) {
            moved += PAGE_BYTES;
        }
        if cause != EVICTION {
            was_there.insert(page);
        }
    }
    (recorder.finish("", 1 << 20, 1), moved, again)
}

/// The figure behind `before` in a text, in bytes as it is shown.
fn figure(text: &str, before: &str) -> f64 {
    let (_, rest) = text.split_once(before).expect(before);
    let mut words = rest.split([' ', ',', ')', ';']);
    let number: f64 = words.next().expect("a number").parse().expect("a number");
    let unit = match words.next().expect("a unit") {
        "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        unit => panic!("{unit} in {text}"),
    };
    number * f64::from(unit)
}

proptest! {
    #[test]
    fn parts_are_at_most_the_whole(
        allocations in prop::collection::vec(1u64..40, 1..8),
        changes in prop::collection::vec((0u64..300, 0u8..4, 0u64..1 << 20), 1..200),
    ) {
        let (map, moved, again) = recorded(&allocations, &changes);
        let parts: Vec<u64> = moved_again(&map).map(|(_, again)| again).collect();
        prop_assert_eq!(parts.len(), allocations.len());
        prop_assert_eq!(parts.iter().sum::<u64>(), again);
        prop_assert!(again <= moved);
        let row = Row::new().metric("repeated_bytes", again).metric("migrated_bytes", moved);
        let run = Run { row: &row, details: &[], map: &map };
        let Some((reason, _)) = run.thrashes() else {
            prop_assert!(again * 10 < moved || again == 0);
            return Ok(());
        };
        let (whole, part) = (figure(&reason, "of the "), figure(&reason, " ("));
        // Figures are shown with three digits.
        prop_assert!(part <= whole * 1.01, "{}", reason);
        prop_assert!((part - parts.iter().max().map_or(0.0, |most| *most as f64)).abs() <= part * 0.01, "{}", reason);
    }
}
