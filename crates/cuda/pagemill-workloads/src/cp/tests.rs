use super::*;

#[test]
fn one_charge_has_the_potential_of_its_distance() {
    let atom = Atom {
        x: 1.0,
        y: 2.0,
        dz2: 4.0,
        charge: -6.0,
    };
    // The point is at distance 3 = sqrt(1 + 4 + 4).
    assert_eq!(potential(&[atom], 2.0, 4.0), (-2.0, 2.0));
}

#[test]
fn opposite_charges_cancel() {
    let plus = Atom {
        x: 1.0,
        y: 2.0,
        dz2: 4.0,
        charge: 1.0,
    };
    let minus = Atom {
        charge: -1.0,
        ..plus
    };
    assert_eq!(potential(&[plus, minus], 5.0, 5.0).0, 0.0);
}

#[test]
fn inputs_depend_on_the_seed_alone_and_lie_above_the_slice() {
    let inputs = |seed| {
        let program = CoulombPotential {
            atoms: 9,
            width: 32,
            height: 8,
            seed,
            read_results: false,
        };
        (0..9).map(|index| program.atom(index)).collect::<Vec<_>>()
    };
    assert_eq!(inputs(1), inputs(1));
    assert_ne!(inputs(1), inputs(2));
    assert!(
        inputs(1)
            .iter()
            .all(|atom| (0.0..4.0).contains(&atom.x) && atom.dz2 >= 0.25)
    );
}
