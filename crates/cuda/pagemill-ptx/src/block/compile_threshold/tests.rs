use super::*;

fn after(steps: u64, instructions_a_step: u64) -> Pace {
    let mut pace = Pace::default();
    (0..steps).for_each(|_| pace.note(instructions_a_step));
    pace
}

#[test]
fn short_steps_are_interpreted() {
    assert!(!after(10_000, INSTRUCTIONS_A_STEP - 1).pays(10, true));
    assert!(after(10_000, INSTRUCTIONS_A_STEP).pays(10, true));
    assert!(!Pace::default().pays(10, true));
}

#[test]
fn a_kernel_that_runs_briefly_is_not_compiled() {
    let pace = after(100, 10);
    assert!(!pace.pays(100, false));
    assert!(pace.pays(100, true));
    assert!(after(160, 10).pays(100, false));
}
