use super::*;

const SMALL: Grid = Grid {
    nx: 7,
    ny: 5,
    nz: 6,
    seed: 3,
};

#[test]
fn streamed_planes_equal_two_whole_grids() {
    let mut whole: Vec<Vec<f32>> = (0..SMALL.nz).map(|z| SMALL.initial_plane(z)).collect();
    for steps in 0..4 {
        assert_eq!(
            Planes::after(SMALL, steps).collect::<Vec<_>>(),
            whole,
            "after {steps} steps"
        );
        whole = (0..SMALL.nz as usize)
            .map(|z| {
                let plane = |z: usize| whole.get(z).map_or(&[][..], Vec::as_slice);
                SMALL.step_plane(z as u32, plane(z.wrapping_sub(1)), plane(z), plane(z + 1))
            })
            .collect();
    }
}

#[test]
fn a_constant_field_stays_and_the_shell_never_changes() {
    let flat = vec![1.5f32; SMALL.plane_points()];
    let stepped = SMALL.step_plane(1, &flat, &flat, &flat);
    assert!(stepped.iter().all(|&value| (value - 1.5).abs() < 1e-6));
    let first = Planes::after(SMALL, 3).next().expect("six planes");
    assert_eq!(first, SMALL.initial_plane(0));
}

#[test]
fn the_default_is_the_size_of_the_literature() {
    let workload = INFO
        .build(&Values::defaults(NAME, INFO.parameters))
        .expect("defaults are allowed");
    assert_eq!(workload.footprint_bytes(), 2 * 512 * 100 * 100);
}

#[test]
fn inputs_depend_on_the_seed_alone() {
    let inputs = |seed| {
        let grid = Grid { seed, ..SMALL };
        let mut bytes = vec![0; grid.bytes() as usize];
        grid.write_initial(&mut bytes);
        bytes
    };
    assert_eq!(inputs(1), inputs(1));
    assert_ne!(inputs(1), inputs(2));
    // The second row starts at the pitch, and what is between belongs to no row.
    let (bytes, plane) = (inputs(3), SMALL.initial_plane(0));
    assert_eq!(words::<f32>(&bytes[512..]).next(), Some(plane[7]));
    assert!(bytes[7 * 4..512].iter().all(|&byte| byte == 0));
}
