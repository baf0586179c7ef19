use pagemill_policy::zeroing::Mode;

use super::world::{Explored, Flaw, Violation, explore};

fn explored(mode: Mode, flaw: Flaw) -> Explored {
    let faults = if flaw == Flaw::None { 3 } else { 2 };
    let explored = explore(mode, flaw, 2, faults);
    assert!(explored.worlds > 100, "{mode:?}: {explored:?}");
    explored
}

#[test]
fn no_order_of_events_leaks_or_wipes_in_a_safe_mode() {
    for mode in Mode::ALL.into_iter().filter(|mode| mode.is_safe()) {
        let explored = explored(mode, Flaw::None);
        assert!(explored.violations.is_empty(), "{mode:?}: {explored:?}");
    }
}

#[test]
fn the_unsafe_mode_leaks_and_wipes() {
    let explored = explored(Mode::OffloadAsync, Flaw::None);
    assert!(explored.violations.contains(&Violation::Leak));
    assert!(explored.violations.contains(&Violation::Wipe));
}

#[test]
fn lending_what_a_former_holder_still_maps_breaks_every_mode_that_clears_before() {
    for mode in [Mode::Inline, Mode::Pool, Mode::OnFree, Mode::OffloadWait] {
        let explored = explored(mode, Flaw::NoProof);
        assert!(!explored.violations.is_empty(), "{mode:?}: {explored:?}");
    }
}

#[test]
fn an_engine_that_is_given_up_but_not_fenced_off_wipes() {
    for mode in [Mode::Pool, Mode::OnFree, Mode::OffloadWait] {
        let explored = explored(mode, Flaw::NoFence);
        let wiped = explored.violations.contains(&Violation::Wipe);
        assert!(wiped, "{mode:?}: {explored:?}");
    }
}

#[test]
fn an_engine_that_does_nothing_leaks() {
    for mode in [Mode::Pool, Mode::OnFree, Mode::OffloadWait] {
        let explored = explored(mode, Flaw::NoEngine);
        let leaked = explored.violations.contains(&Violation::Leak);
        assert!(leaked, "{mode:?}: {explored:?}");
    }
}

#[test]
fn between_them_the_modes_visit_every_state() {
    let mut states: Vec<&str> = Mode::ALL
        .into_iter()
        .flat_map(|mode| explore(mode, Flaw::None, 2, 2).states)
        .collect();
    states.sort_unstable();
    states.dedup();
    assert_eq!(states.len(), 9, "{states:?}");
}
