//! Products of matrices, against three loops; where the elements lie is as the tables of the PTX manual have it.

use super::harness::Device;
use super::inputs::Random;
use half::{bf16, f16};

/// One form of `mma`: where it stands, rows and depth, types of A, B, C and D, and whether sums saturate.
struct Form {
    file: &'static str,
    kernel: &'static str,
    rows: usize,
    depth: usize,
    types: [&'static str; 4],
    saturates: bool,
}

fn form(
    file: &'static str,
    kernel: &'static str,
    (rows, depth): (usize, usize),
    types: [&'static str; 4],
    saturates: bool,
) -> Form {
    Form {
        file,
        kernel,
        rows,
        depth,
        types,
        saturates,
    }
}

#[rustfmt::skip]
fn forms() -> Vec<Form> {
    vec![
        form("matrix_sm80", "f16_f32_k16", (16, 16), ["f16", "f16", "f32", "f32"], false),
        form("matrix_sm80", "f16_f16_k16", (16, 16), ["f16", "f16", "f16", "f16"], false),
        form("matrix_sm80", "f16_f32_k8", (16, 8), ["f16", "f16", "f32", "f32"], false),
        form("matrix_sm80", "f16_f16_k8", (16, 8), ["f16", "f16", "f16", "f16"], false),
        form("matrix_sm80", "bf16_k16", (16, 16), ["bf16", "bf16", "f32", "f32"], false),
        form("matrix_sm80", "bf16_k8", (16, 8), ["bf16", "bf16", "f32", "f32"], false),
        form("matrix_sm80", "tf32_k8", (16, 8), ["tf32", "tf32", "f32", "f32"], false),
        form("matrix_sm80", "tf32_k4", (16, 4), ["tf32", "tf32", "f32", "f32"], false),
        form("matrix_sm80", "f64_k4", (8, 4), ["f64", "f64", "f64", "f64"], false),
        form("matrix_sm80", "s8_s8_k32", (16, 32), ["s8", "s8", "s32", "s32"], false),
        form("matrix_sm80", "s8_s8_k32_sat", (16, 32), ["s8", "s8", "s32", "s32"], true),
        form("matrix_sm80", "s8_s8_k16", (16, 16), ["s8", "s8", "s32", "s32"], false),
        form("matrix_sm80", "s8_s8_k16_small", (8, 16), ["s8", "s8", "s32", "s32"], false),
        form("matrix_sm80", "s8_u8_k32", (16, 32), ["s8", "u8", "s32", "s32"], false),
        form("matrix_sm80", "s8_u8_k32_sat", (16, 32), ["s8", "u8", "s32", "s32"], true),
        form("matrix_sm80", "s8_u8_k16", (16, 16), ["s8", "u8", "s32", "s32"], false),
        form("matrix_sm80", "s8_u8_k16_small", (8, 16), ["s8", "u8", "s32", "s32"], false),
        form("matrix_sm80", "u8_s8_k32", (16, 32), ["u8", "s8", "s32", "s32"], false),
        form("matrix_sm80", "u8_s8_k32_sat", (16, 32), ["u8", "s8", "s32", "s32"], true),
        form("matrix_sm80", "u8_s8_k16", (16, 16), ["u8", "s8", "s32", "s32"], false),
        form("matrix_sm80", "u8_s8_k16_small", (8, 16), ["u8", "s8", "s32", "s32"], false),
        form("matrix_sm80", "u8_u8_k32", (16, 32), ["u8", "u8", "s32", "s32"], false),
        form("matrix_sm80", "u8_u8_k32_sat", (16, 32), ["u8", "u8", "s32", "s32"], true),
        form("matrix_sm80", "u8_u8_k16", (16, 16), ["u8", "u8", "s32", "s32"], false),
        form("matrix_sm80", "u8_u8_k16_small", (8, 16), ["u8", "u8", "s32", "s32"], false),
        form("matrix_sm80", "s4_s4_k64", (16, 64), ["s4", "s4", "s32", "s32"], true),
        form("matrix_sm80", "s4_s4_k32", (16, 32), ["s4", "s4", "s32", "s32"], false),
        form("matrix_sm80", "s4_s4_k32_small", (8, 32), ["s4", "s4", "s32", "s32"], false),
        form("matrix_sm80", "s4_u4_k64", (16, 64), ["s4", "u4", "s32", "s32"], true),
        form("matrix_sm80", "s4_u4_k32", (16, 32), ["s4", "u4", "s32", "s32"], false),
        form("matrix_sm80", "s4_u4_k32_small", (8, 32), ["s4", "u4", "s32", "s32"], false),
        form("matrix_sm80", "u4_s4_k64", (16, 64), ["u4", "s4", "s32", "s32"], true),
        form("matrix_sm80", "u4_s4_k32", (16, 32), ["u4", "s4", "s32", "s32"], false),
        form("matrix_sm80", "u4_s4_k32_small", (8, 32), ["u4", "s4", "s32", "s32"], false),
        form("matrix_sm80", "u4_u4_k64", (16, 64), ["u4", "u4", "s32", "s32"], true),
        form("matrix_sm80", "u4_u4_k32", (16, 32), ["u4", "u4", "s32", "s32"], false),
        form("matrix_sm80", "u4_u4_k32_small", (8, 32), ["u4", "u4", "s32", "s32"], false),
        form("matrix_sm80", "b1_xor_small", (8, 128), ["b1", "b1", "s32", "s32"], false),
        form("matrix_sm80", "b1_xor_k128", (16, 128), ["b1", "b1", "s32", "s32"], false),
        form("matrix_sm80", "b1_xor_k256", (16, 256), ["b1", "b1", "s32", "s32"], false),
        form("matrix_sm80", "b1_and_small", (8, 128), ["b1", "b1", "s32", "s32"], false),
        form("matrix_sm80", "b1_and_k128", (16, 128), ["b1", "b1", "s32", "s32"], false),
        form("matrix_sm80", "b1_and_k256", (16, 256), ["b1", "b1", "s32", "s32"], false),
        form("matrix_sm89", "e4m3_e4m3", (16, 32), ["e4m3", "e4m3", "f32", "f32"], false),
        form("matrix_sm89", "e4m3_e5m2", (16, 32), ["e4m3", "e5m2", "f32", "f32"], false),
        form("matrix_sm89", "e5m2_e4m3", (16, 32), ["e5m2", "e4m3", "f32", "f32"], false),
        form("matrix_sm89", "e5m2_e5m2", (16, 32), ["e5m2", "e5m2", "f32", "f32"], false),
    ]
}

/// Bits of an element.
pub(crate) fn bits(ty: &str) -> usize {
    match ty {
        "b1" => 1,
        "s4" | "u4" => 4,
        "s8" | "u8" | "e4m3" | "e5m2" => 8,
        "f16" | "bf16" => 16,
        "f64" => 64,
        _ => 32,
    }
}

fn place_a(form: &Form, lane: usize, i: usize) -> (usize, usize) {
    let (group, thread) = (lane / 4, lane % 4);
    let below = |low: bool| if low { group } else { group + 8 };
    match (bits(form.types[0]), form.rows, form.depth) {
        (16, _, 16) => (
            below(i < 2 || (4..6).contains(&i)),
            thread * 2 + (i & 1) + if i < 4 { 0 } else { 8 },
        ),
        (16, _, 8) => (below(i < 2), thread * 2 + (i & 1)),
        (32, _, 4) => (below(i == 0), thread),
        (32, _, 8) => (below(i == 0 || i == 2), thread + if i < 2 { 0 } else { 4 }),
        (64, 8, 4) => (group, thread),
        (8, 16, 16) => (below(i < 4), thread * 4 + (i & 3)),
        (8, 16, 32) => (
            below(i < 4 || (8..12).contains(&i)),
            thread * 4 + (i & 3) + if i < 8 { 0 } else { 16 },
        ),
        (8, 8, 16) => (group, thread * 4 + i),
        (4, 16, 32) => (below(i < 8), thread * 8 + (i & 7)),
        (4, 16, 64) => (
            below(i < 8 || (16..24).contains(&i)),
            thread * 8 + (i & 7) + if i < 16 { 0 } else { 32 },
        ),
        (4, 8, 32) => (group, thread * 8 + i),
        (1, 8, 128) => (group, thread * 32 + i),
        (1, 16, 128) => (below(i < 32), thread * 32 + (i & 31)),
        (1, 16, 256) => (
            below(i < 32 || (64..96).contains(&i)),
            thread * 32 + (i & 31) + if i < 64 { 0 } else { 128 },
        ),
        other => panic!("{other:?}"),
    }
}

fn place_b(form: &Form, lane: usize, i: usize) -> (usize, usize) {
    let thread = lane % 4;
    let row = match (bits(form.types[1]), form.depth) {
        (16, 16) => thread * 2 + (i & 1) + if i < 2 { 0 } else { 8 },
        (16, 8) => thread * 2 + i,
        (32, _) => thread + 4 * i,
        (64, 4) => thread,
        (8, 16) => thread * 4 + i,
        (8, 32) => thread * 4 + (i & 3) + if i < 4 { 0 } else { 16 },
        (4, 32) => thread * 8 + i,
        (4, 64) => thread * 8 + (i & 7) + if i < 8 { 0 } else { 32 },
        (1, 128) => thread * 32 + i,
        (1, 256) => thread * 32 + (i & 31) + if i < 32 { 0 } else { 128 },
        other => panic!("{other:?}"),
    };
    (row, lane / 4)
}

fn place_c(form: &Form, lane: usize, i: usize) -> (usize, usize) {
    let row = lane / 4 + if form.rows == 16 && i >= 2 { 8 } else { 0 };
    (row, lane % 4 * 2 + (i & 1))
}

pub(crate) fn decode(ty: &str, bits: u64) -> f64 {
    let small = |exponent_bits: i32, bias: i32| {
        let fraction_bits = 7 - exponent_bits;
        let fraction = (bits & ((1 << fraction_bits) - 1)) as f64 / f64::from(1 << fraction_bits);
        let exponent = (bits >> fraction_bits & ((1 << exponent_bits) - 1)) as i32;
        let magnitude = match exponent {
            0 => fraction * 2f64.powi(1 - bias),
            _ => (1.0 + fraction) * 2f64.powi(exponent - bias),
        };
        if bits & 0x80 == 0 {
            magnitude
        } else {
            -magnitude
        }
    };
    match ty {
        "f16" => f16::from_bits(bits as u16).to_f64(),
        "bf16" => bf16::from_bits(bits as u16).to_f64(),
        "tf32" => f32::from_bits(bits as u32 & !0x1fff).into(),
        "f32" => f32::from_bits(bits as u32).into(),
        "f64" => f64::from_bits(bits),
        "e4m3" => small(4, 7),
        "e5m2" => small(5, 15),
        "s8" => (bits as i8).into(),
        "u8" => (bits as u8).into(),
        "s4" => f64::from((bits as i8) << 4 >> 4),
        "u4" => (bits & 15) as f64,
        "b1" => (bits & 1) as f64,
        _ => f64::from(bits as i32),
    }
}

/// Random bits of a finite number that is neither huge nor tiny.
fn sample(ty: &str, random: &mut Random) -> u64 {
    let unit = random.unit() * 8.0 - 4.0;
    match ty {
        "f16" => f16::from_f64(unit).to_bits().into(),
        "bf16" => bf16::from_f64(unit).to_bits().into(),
        "tf32" | "f32" => (unit as f32).to_bits().into(),
        "f64" => unit.to_bits(),
        // Signs, exponents from a quarter to eight, any fraction.
        "e4m3" => random.below(2) << 7 | (5 + random.below(6)) << 3 | random.below(8),
        "e5m2" => random.below(2) << 7 | (13 + random.below(6)) << 2 | random.below(4),
        "b1" => random.below(2),
        "s4" | "u4" => random.below(16),
        "s8" | "u8" => random.below(256),
        _ => match random.below(4) {
            0 => i32::MAX as u32 as u64 - random.below(1000),
            1 => i32::MIN as u32 as u64 + random.below(1000),
            _ => random.next() & 0xffff_ffff,
        },
    }
}

pub(crate) type Matrix = Vec<Vec<u64>>;

pub(crate) fn random_matrix(
    ty: &str,
    (rows, columns): (usize, usize),
    random: &mut Random,
) -> Matrix {
    (0..rows)
        .map(|_| (0..columns).map(|_| sample(ty, random)).collect())
        .collect()
}

/// The registers of all lanes, of 32 or 64 bits, that hold `matrix`.
fn spread(ty: &str, matrix: &Matrix, place: impl Fn(usize, usize) -> (usize, usize)) -> Vec<u64> {
    let register_bits = bits(ty).max(32);
    let per_register = register_bits / bits(ty);
    let cells = matrix.len() * matrix[0].len() / 32;
    let mut registers = Vec::new();
    for lane in 0..32 {
        for first in (0..cells).step_by(per_register) {
            let word = (0..per_register).fold(0, |word, index| {
                let (row, column) = place(lane, first + index);
                word | matrix[row][column] << (bits(ty) * index)
            });
            registers.push(word);
        }
    }
    registers
}

fn collect(ty: &str, registers: &[u64], form: &Form) -> Matrix {
    let per_register = bits(ty).max(32) / bits(ty);
    let mut matrix = vec![vec![0; 8]; form.rows];
    for (number, register) in registers.iter().enumerate() {
        let per_lane = registers.len() / 32;
        for index in 0..per_register {
            let i = number % per_lane * per_register + index;
            let (row, column) = place_c(form, number / per_lane, i);
            let mask = if bits(ty) == 64 {
                u64::MAX
            } else {
                (1 << bits(ty)) - 1
            };
            matrix[row][column] = register >> (bits(ty) * index) & mask;
        }
    }
    matrix
}

fn run(form: &Form, random: &mut Random) {
    let [a_type, b_type, c_type, d_type] = form.types;
    let a = random_matrix(a_type, (form.rows, form.depth), random);
    let b = random_matrix(b_type, (form.depth, 8), random);
    let c = random_matrix(c_type, (form.rows, 8), random);
    let mut device = Device::load(form.file);
    let mut upload = |ty: &str, registers: Vec<u64>| match bits(ty) {
        64 => device.upload(&registers),
        _ => device.upload(
            &registers
                .iter()
                .map(|&word| word as u32)
                .collect::<Vec<u32>>(),
        ),
    };
    let registers = spread(a_type, &a, |lane, i| place_a(form, lane, i));
    let a_at = upload(a_type, registers);
    let registers = spread(b_type, &b, |lane, i| place_b(form, lane, i));
    let b_at = upload(b_type, registers);
    let registers = spread(c_type, &c, |lane, i| place_c(form, lane, i));
    let count = registers.len();
    let c_at = upload(c_type, registers);
    let d_at = device.zeros::<u64>(count);
    let arguments = [a_at.into(), b_at.into(), c_at.into(), d_at.into()];
    device.launch(form.kernel, 1, 32, &arguments);
    let registers: Vec<u64> = match bits(d_type) {
        64 => device.download::<u64>(d_at, count),
        _ => device
            .download::<u32>(d_at, count)
            .into_iter()
            .map(u64::from)
            .collect(),
    };
    let d = collect(d_type, &registers, form);
    for row in 0..form.rows {
        for column in 0..8 {
            let terms = (0..form.depth).map(|k| {
                let (x, y) = (decode(a_type, a[row][k]), decode(b_type, b[k][column]));
                if form.kernel.contains("_xor_") {
                    (x - y).abs()
                } else {
                    x * y
                }
            });
            check_sum(
                form.kernel,
                (d_type, form.saturates),
                (decode(c_type, c[row][column]), &terms.collect::<Vec<_>>()),
                d[row][column],
            );
        }
    }
}

/// `found` is the sum of `start` and `terms`: exact, or rounded once.
pub(crate) fn check_sum(
    kernel: &str,
    (ty, saturates): (&str, bool),
    (start, terms): (f64, &[f64]),
    found: u64,
) {
    let found = decode(ty, found);
    let sum = start + terms.iter().sum::<f64>();
    if ty == "s32" {
        // Exact in double precision.
        let wanted = match saturates {
            true => sum.clamp(i32::MIN.into(), i32::MAX.into()),
            false => f64::from(sum as i64 as i32),
        };
        assert_eq!(found, wanted, "{kernel}");
        return;
    }
    let magnitude = start.abs() + terms.iter().map(|term| term.abs()).sum::<f64>();
    let half_ulp = match ty {
        "f16" => 2f64.powi(-11) * sum.abs().max(2f64.powi(-14)),
        "f32" => 2f64.powi(-24) * sum.abs(),
        _ => 0.0,
    };
    let error = (found - sum).abs();
    assert!(
        error <= half_ulp + magnitude * 2f64.powi(-48),
        "{kernel}: {found:e}, not {sum:e}"
    );
}

#[test]
fn products() {
    let mut random = Random(3);
    for form in forms() {
        for _ in 0..4 {
            run(&form, &mut random);
        }
    }
}

#[test]
fn rows_of_shared_memory() {
    let rows = Random(8).words(128);
    let mut device = Device::load("matrix_sm80");
    let (from, out) = (device.upload(&rows), device.zeros::<u32>(11 * 32));
    device.launch("load", 1, 32, &[from.into(), out.into()]);
    let found = device.download::<u32>(out, 11 * 32);
    let half = |matrix: usize, row: usize, column: usize| {
        rows[matrix * 32 + row * 4 + column / 2] >> (16 * (column % 2)) & 0xffff
    };
    let plain = |matrix: usize, lane: usize| {
        let (row, column) = (lane / 4, lane % 4 * 2);
        half(matrix, row, column) | half(matrix, row, column + 1) << 16
    };
    let transposed = |matrix: usize, lane: usize| {
        let (row, column) = (lane % 4 * 2, lane / 4);
        half(matrix, row, column) | half(matrix, row + 1, column) << 16
    };
    let mut wanted = Vec::new();
    for matrix in 0..4 {
        wanted.extend((0..32).map(|lane| plain(matrix, lane)));
    }
    for matrix in 0..4 {
        wanted.extend((0..32).map(|lane| transposed(matrix, lane)));
    }
    for matrix in 1..3 {
        wanted.extend((0..32).map(|lane| plain(matrix, lane)));
    }
    wanted.extend((0..32).map(|lane| transposed(0, lane)));
    assert_eq!(found, wanted);
}

#[test]
fn asynchronous_copies() {
    let words = Random(4).words(128);
    for read in [16, 12, 5, 0] {
        let mut device = Device::load("copy_async_sm80");
        let (from, out) = (device.upload(&words), device.zeros::<u32>(512));
        device.launch(
            "sizes",
            1,
            32,
            &[from.into(), out.into(), (read as u32).into()],
        );
        let found = device.download::<u32>(out, 512);
        for (part, bytes) in [4, 8, 16, 16].into_iter().enumerate() {
            for at in 0..128 {
                let kept = if part == 3 { read } else { bytes };
                let wanted = (0..4).fold(0, |word, byte| {
                    let place = at % 4 * 4 + byte;
                    let value = match place {
                        _ if place >= bytes => 0xAA,
                        _ if place >= kept => 0,
                        _ => words[at] >> (8 * byte) & 0xff,
                    };
                    word | value << (8 * byte)
                });
                assert_eq!(
                    found[part * 128 + at],
                    wanted,
                    "{bytes} bytes, {read} read, word {at}"
                );
            }
        }
    }
}

#[test]
fn a_tiled_product() {
    let (rows, columns, depth) = (64, 96, 80);
    let mut random = Random(6);
    let mut halves = |count: usize| -> Vec<u16> {
        (0..count)
            .map(|_| f16::from_f64((random.below(17) as f64 - 8.0) / 4.0).to_bits())
            .collect()
    };
    let (a, b) = (halves(rows * depth), halves(columns * depth));
    let mut device = Device::load("copy_async_sm80");
    let (a_at, b_at) = (device.upload(&a), device.upload(&b));
    let out = device.zeros::<u32>(rows * columns);
    let grid = [columns as u32 / 32, rows as u32 / 32, 1];
    let sizes = [columns as u32, depth as u32];
    device.launch(
        "product",
        grid,
        128,
        &[
            a_at.into(),
            b_at.into(),
            out.into(),
            sizes[0].into(),
            sizes[1].into(),
        ],
    );
    let value = |bits: u16| f16::from_bits(bits).to_f64();
    let found = device.download::<u32>(out, rows * columns);
    for row in 0..rows {
        for column in 0..columns {
            // Quarters of small integers: every sum is exact.
            let wanted: f64 = (0..depth)
                .map(|k| value(a[row * depth + k]) * value(b[column * depth + k]))
                .sum();
            let found = f32::from_bits(found[row * columns + column]);
            assert_eq!(f64::from(found), wanted, "row {row}, column {column}");
        }
    }
}

#[test]
fn hints_change_nothing() {
    let mut device = Device::load("hints_sm90a");
    let out = device.zeros::<u32>(128);
    device.launch("hints", 1, 128, &[out.into()]);
    assert_eq!(
        device.download::<u32>(out, 128),
        (1..=128).collect::<Vec<u32>>()
    );
}
