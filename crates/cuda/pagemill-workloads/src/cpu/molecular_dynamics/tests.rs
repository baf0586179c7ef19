use super::super::run_to_end;
use super::*;

#[test]
fn momentum_stays_zero_while_particles_move() {
    let mut program = MolecularDynamics::new(3, 200, 6);
    let start = program.places.values().to_vec();
    run_to_end(&mut program);
    for axis in 0..3 {
        let momentum: f64 = program
            .velocities
            .values()
            .iter()
            .map(|velocity| velocity[axis])
            .sum();
        assert!(momentum.abs() < 1e-6, "{momentum}");
    }
    let moved = |(before, after): (&Vector, &Vector)| {
        before
            .iter()
            .zip(after)
            .map(|(from, to)| (to - from).abs())
            .sum::<f64>()
    };
    let most = start
        .iter()
        .zip(program.places.values())
        .map(moved)
        .fold(0.0, f64::max);
    assert!((0.001..1.0).contains(&most), "{most}");
}
