//! `movmatrix`, `stmatrix`, and atomic accesses to vectors.

use super::harness::Device;
use pagemill_ptx::TrapKind;

/// Words of matrix `matrix`: element 8 r + c of it is 64 times its number and 8 r + c.
fn words(matrix: u32) -> impl Iterator<Item = u32> {
    (0..32).map(move |lane| {
        let first = 64 * matrix + 2 * lane;
        first | (first + 1) << 16
    })
}

/// Element (`row`, `column`) of matrix `matrix`.
fn element(matrix: u32, row: u32, column: u32) -> u32 {
    64 * matrix + 8 * row + column
}

/// Word `at` of row `row` of matrix `matrix`, or of it transposed.
fn word(matrix: u32, row: u32, at: u32, transposed: bool) -> u32 {
    let of = |column| match transposed {
        true => element(matrix, column, row),
        false => element(matrix, row, column),
    };
    of(2 * at) | of(2 * at + 1) << 16
}

#[test]
fn lanes_transpose_a_matrix() {
    let mut device = Device::load("matrix_sm90");
    let input = device.upload(&words(0).collect::<Vec<_>>());
    let out = device.zeros::<u32>(32);
    device.launch("transpose", 1, 32, &[input.into(), out.into()]);
    let expected: Vec<_> = (0..32)
        .map(|lane| word(0, lane / 4, lane % 4, true))
        .collect();
    assert_eq!(device.download::<u32>(out, 32), expected);
}

#[test]
fn rows_of_matrices_are_stored_where_lanes_say() {
    const ROW_WORDS: usize = 12;
    const TILE_WORDS: usize = 32 * ROW_WORDS;
    let mut device = Device::load("matrix_sm90");
    let input = device.upload(&(0..4).flat_map(words).collect::<Vec<_>>());
    let out = device.zeros::<u32>(4 * TILE_WORDS);
    device.launch("store", 1, 32, &[input.into(), out.into()]);
    let mut expected = vec![0; 4 * TILE_WORDS];
    let mut store = |tile: usize, matrices: std::ops::Range<u32>, transposed, behind: usize| {
        for (place, matrix) in matrices.enumerate() {
            for (row, at) in (0..8).flat_map(|row| (0..4).map(move |at| (row, at))) {
                let line = 8 * place + row as usize;
                let cell = tile * TILE_WORDS + line * ROW_WORDS + behind + at as usize;
                expected[cell] = word(matrix, row, at, transposed);
            }
        }
    };
    store(0, 0..4, false, 0);
    store(1, 0..4, true, 0);
    store(2, 2..4, false, 0);
    store(3, 1..2, true, 4);
    assert_eq!(device.download::<u32>(out, 4 * TILE_WORDS), expected);
}

#[test]
fn a_row_begins_at_sixteen_bytes() {
    let mut device = Device::load("matrix_sm90");
    device.launch("store_between_rows", 1, 32, &[16_u32.into()]);
    for apart in [4_u32, 8, 12, 2] {
        let trap = device.trap("store_between_rows", 1, 32, &[apart.into()]);
        let is_misaligned = matches!(trap.kind, TrapKind::Misaligned { .. });
        assert!(is_misaligned, "{apart}: {trap}");
    }
}

#[test]
fn each_element_of_a_vector_is_atomic() {
    let mut device = Device::load("matrix_sm90");
    let floats = device.zeros::<f32>(6);
    let halves = device.zeros::<u32>(6);
    let bounds = device.upload(&[0x7BFF_7BFF_u32, 0]);
    let seen = device.zeros::<u32>(1);
    let arguments = [floats.into(), halves.into(), bounds.into(), seen.into()];
    device.launch("vectors", 2, 64, &arguments);
    let sums = [128.0, 256.0, 384.0, 512.0, 128.0, 256.0];
    assert_eq!(device.download::<f32>(floats, 6), sums);
    // 128 and 256 as halves; 128, 256 and 512 as bfloat16.
    let halves = device.download::<u32>(halves, 6);
    assert_eq!(halves[..2], [0x5800_5800, 0x5C00_5C00]);
    assert_eq!(halves[2..], [0x4300_4300, 0x4380_4380, 0, 0x4400_4300]);
    assert_eq!(
        device.download::<u32>(bounds, 2),
        [0x4000_3C00, 0x403F_3C3F]
    );
    assert_eq!(device.download::<u32>(seen, 1), [128]);
}
