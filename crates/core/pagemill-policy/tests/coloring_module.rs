//! The coloring module (C) and the policy (Rust) decide the same: which color is dealt next, and which pages move.

use std::path::Path;

use pagemill_policy::coloring::{Color, ColorRange, Dealer, plan_recolor};
use pagemill_testkit::CProgram;
use proptest::prelude::*;

/// `None` where there is no C compiler.
fn core(name: &str) -> Option<CProgram> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let sources = [
        "pagemill_color/usertest/replay/color_core_replay.c",
        "pagemill_color/core.c",
    ];
    CProgram::compile(&folder, &sources)
}

/// Colors of a cache, and some of them in a row.
fn ranges() -> impl Strategy<Value = (u16, ColorRange)> {
    let colors = (1..=7_u32).prop_map(|log2| 1_u16 << log2);
    let first = colors.prop_flat_map(|colors| (Just(colors), 0..colors));
    let range =
        first.prop_flat_map(|(colors, first)| (Just(colors), Just(first), 1..=colors - first));
    range.prop_map(|(colors, first, count)| (colors, ColorRange::new(Color(first), count).unwrap()))
}

fn in_words(colors: u16, range: ColorRange) -> String {
    format!("{colors} {} {}", range.first().0, range.count())
}

#[test]
fn the_module_deals_as_the_policy() {
    let Some(program) = core("dealing") else {
        return pagemill_testkit::skip("there is no gcc");
    };
    let events = proptest::collection::vec(prop::option::weighted(0.3, any::<u16>()), 1..300);
    proptest!(ProptestConfig::with_cases(48), |((colors, range) in ranges(), events in events)| {
        let mut module = program.start();
        let mut policy = Dealer::new(range);
        module.ask_number(&format!("dealer {}", in_words(colors, range)));
        for event in events {
            match event {
                Some(color) => {
                    let color = Color(color % colors);
                    policy.take_back(color);
                    module.ask_number(&format!("back {}", color.0));
                }
                None => {
                    let dealt = module.ask_number("deal");
                    prop_assert_eq!(dealt, i64::from(policy.deal().0));
                }
            }
        }
    });
}

#[test]
fn the_module_moves_the_pages_that_the_policy_moves() {
    let Some(program) = core("moving") else {
        return pagemill_testkit::skip("there is no gcc");
    };
    let pages = proptest::collection::vec(any::<u16>(), 0..400);
    proptest!(ProptestConfig::with_cases(96), |((colors, range) in ranges(), pages in pages)| {
        let current: Vec<Color> = pages.iter().map(|page| Color(page % colors)).collect();
        let listed: Vec<String> = current.iter().map(|color| color.0.to_string()).collect();
        let question = format!("plan {} {} {}", in_words(colors, range), current.len(), listed.join(" "));
        let answer = program.start().ask(&question);
        let planned: Vec<Color> = answer.split_whitespace().map(|word| Color(word.parse().unwrap())).collect();
        prop_assert_eq!(planned, plan_recolor(&current, range).target);
    });
}
