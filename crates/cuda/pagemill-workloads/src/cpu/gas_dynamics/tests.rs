use super::super::run_to_end;
use super::*;

#[test]
fn nothing_is_lost_and_the_gas_calms_down() {
    let mut program = GasDynamics::new(6, 60, 3);
    let sums = |program: &GasDynamics| {
        let [x, y, z] = &program.momentum;
        [&program.density, &program.energy, x, y, z].map(|field| field.values().iter().sum::<f64>())
    };
    // What sound has, for small differences from a density and an energy of 1.
    let sound = |program: &GasDynamics| {
        let squares = |field: &Array<f64>, mean: f64| {
            let values = field.values().iter();
            values.map(|value| (value - mean).powi(2)).sum::<f64>()
        };
        let mean = sums(program)[1] / 216.0;
        let momentum = program.momentum.iter().map(|field| squares(field, 0.0));
        momentum.sum::<f64>() + PRESSURE * squares(&program.energy, mean)
    };
    let (before, sound_before) = (sums(&program), sound(&program));
    run_to_end(&mut program);
    for (before, after) in before.iter().zip(sums(&program)) {
        assert!((before - after).abs() < 1e-9, "{before} became {after}");
    }
    assert!(program.density.values().iter().all(|value| *value > 0.5));
    // Donor cells smear differences out.
    assert!(sound(&program) < sound_before);
}

#[test]
fn neighbors_are_each_others() {
    let program = GasDynamics::new(3, 1, 0);
    for cell in 0..27 {
        for axis in 0..3 {
            assert_eq!(program.before(program.next(cell, axis), axis), cell);
            assert_ne!(program.next(cell, axis), cell);
        }
    }
}
