use super::super::run_to_end;
use super::*;

#[test]
fn lists_give_the_forces_of_all_pairs() {
    let mut program = PatchDynamics::new(3, 1, 4);
    let mut memory = Recorder::default();
    while program.pass != Pass::Move {
        (0..program.items()).for_each(|item| program.item(item, &mut memory));
        program.end_pass();
    }
    let atoms = program.atoms.values();
    for (atom, force) in program.forces.values().iter().enumerate().step_by(97) {
        let mut sum = [0.0; 3];
        for other in (0..atoms.len()).filter(|other| *other != atom) {
            let far = program.between(&atoms[atom], &atoms[other]);
            let strength = strength(square(far), atoms[atom][3] * atoms[other][3]);
            add(&mut sum, far.map(|part| part * strength));
        }
        for (force, sum) in force.iter().zip(sum) {
            assert!((force - sum).abs() < 1e-9, "{force} is not {sum}");
        }
    }
}

#[test]
fn momentum_stays_zero_while_atoms_move() {
    let mut program = PatchDynamics::new(3, 10, 6);
    let start = program.atoms.values().to_vec();
    run_to_end(&mut program);
    for axis in 0..3 {
        let velocities = program.velocities.values().iter();
        let momentum: f64 = velocities.map(|velocity| velocity[axis]).sum();
        assert!(momentum.abs() < 1e-9, "{momentum}");
    }
    let moved = |(before, after): (&[f64; 4], &[f64; 4])| program.between(before, after);
    let moved = start.iter().zip(program.atoms.values()).map(moved);
    let most = moved.map(square).fold(0.0, f64::max).sqrt();
    assert!((1e-6..0.2).contains(&most), "{most}");
}
