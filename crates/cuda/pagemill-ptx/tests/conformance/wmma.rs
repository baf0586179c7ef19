//! Products of `wmma` fragments against sums of integers, which every type here holds exactly.

use super::harness::{Arg, Device};
use super::inputs::Random;
use half::{bf16, f16};

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    F16,
    Bf16,
    F32,
    F64,
    S8,
    U8,
    S32,
}

impl Kind {
    fn bytes(self, value: i32) -> Vec<u8> {
        match self {
            Self::F16 => f16::from_f32(value as f32).to_le_bytes().to_vec(),
            Self::Bf16 => bf16::from_f32(value as f32).to_le_bytes().to_vec(),
            Self::F32 => (value as f32).to_le_bytes().to_vec(),
            Self::F64 => f64::from(value).to_le_bytes().to_vec(),
            Self::S8 | Self::U8 => vec![value as u8],
            Self::S32 => value.to_le_bytes().to_vec(),
        }
    }

    fn width(self) -> usize {
        self.bytes(0).len()
    }
}

/// A matrix of small integers.
struct Matrix {
    rows: usize,
    columns: usize,
    values: Vec<i32>,
}

impl Matrix {
    fn random(random: &mut Random, rows: usize, columns: usize, lowest: i32) -> Self {
        let mut value = || lowest + (random.next() % 9) as i32;
        let values = (0..rows * columns).map(|_| value()).collect();
        Self {
            rows,
            columns,
            values,
        }
    }

    fn at(&self, row: usize, column: usize) -> i32 {
        self.values[row * self.columns + column]
    }

    fn stride(&self, by_rows: bool) -> usize {
        (if by_rows { self.columns } else { self.rows }) + 16
    }

    fn place(&self, row: usize, column: usize, by_rows: bool) -> usize {
        let stride = self.stride(by_rows);
        match by_rows {
            true => row * stride + column,
            false => column * stride + row,
        }
    }

    fn upload(&self, device: &mut Device, kind: Kind, by_rows: bool) -> u64 {
        let lines = if by_rows { self.rows } else { self.columns };
        let mut bytes = vec![0x5a; lines * self.stride(by_rows) * kind.width()];
        for row in 0..self.rows {
            for column in 0..self.columns {
                let at = self.place(row, column, by_rows) * kind.width();
                bytes[at..at + kind.width()].copy_from_slice(&kind.bytes(self.at(row, column)));
            }
        }
        device.upload(&bytes)
    }
}

fn check(device: &mut Device, kernel: &str, [m, n, k]: [usize; 3], factor: Kind, sum: Kind) {
    let mut random = Random(41);
    let a_by_rows = kernel.contains("_row_major_");
    let b_by_rows = kernel.ends_with("_row_major");
    for by_rows in [true, false] {
        let lowest = if factor == Kind::U8 { 0 } else { -4 };
        let a = Matrix::random(&mut random, m, k, lowest);
        let b = Matrix::random(&mut random, k, n, lowest);
        let c = Matrix::random(&mut random, m, n, -4);
        let at = [
            a.upload(device, factor, a_by_rows),
            b.upload(device, factor, b_by_rows),
            c.upload(device, sum, by_rows),
            c.upload(device, sum, by_rows),
        ];
        let strides = [
            a.stride(a_by_rows),
            b.stride(b_by_rows),
            c.stride(by_rows),
            usize::from(by_rows),
        ];
        let args: Vec<Arg> = at
            .into_iter()
            .map(Arg::from)
            .chain(strides.map(|stride| Arg::from(stride as u32)))
            .collect();
        device.launch(kernel, 1, 32, &args);
        let lines = if by_rows { m } else { n };
        let found: Vec<u8> = device.download(at[3], lines * c.stride(by_rows) * sum.width());
        for row in 0..m {
            for column in 0..n {
                let products = (0..k).map(|k| a.at(row, k) * b.at(k, column));
                let wanted = sum.bytes(products.sum::<i32>() + c.at(row, column));
                let at = c.place(row, column, by_rows) * sum.width();
                let found = &found[at..at + sum.width()];
                assert_eq!(found, wanted, "{kernel}: row {row}, column {column}");
            }
        }
    }
}

const LAYOUTS: [&str; 2] = ["row_major_col_major", "col_major_row_major"];

#[test]
fn every_shape_and_type() {
    let mut device = Device::load("wmma_sm80");
    let shapes = [[16, 16, 16], [32, 8, 16], [8, 32, 16]];
    let types = [
        ("f16_f32", Kind::F16, Kind::F32),
        ("f16_f16", Kind::F16, Kind::F16),
        ("bf16_f32", Kind::Bf16, Kind::F32),
        ("s8_s32", Kind::S8, Kind::S32),
        ("u8_s32", Kind::U8, Kind::S32),
    ];
    for (name, factor, sum) in types {
        for [m, n, k] in shapes {
            for layouts in LAYOUTS {
                let kernel = format!("{name}_{m}x{n}x{k}_{layouts}");
                check(&mut device, &kernel, [m, n, k], factor, sum);
            }
        }
    }
    for layouts in LAYOUTS {
        let kernel = format!("tf32_f32_16x16x8_{layouts}");
        check(&mut device, &kernel, [16, 16, 8], Kind::F32, Kind::F32);
        let kernel = format!("f64_f64_8x8x4_{layouts}");
        check(&mut device, &kernel, [8, 8, 4], Kind::F64, Kind::F64);
    }
    for layouts in ["row_major_row_major", "col_major_col_major"] {
        let kernel = format!("f16_f32_16x16x16_{layouts}");
        check(&mut device, &kernel, [16, 16, 16], Kind::F16, Kind::F32);
    }
}

#[test]
fn fragments_from_shared_memory() {
    let mut random = Random(43);
    let steps = 3;
    let mut factor = || -> Vec<i32> {
        let mut value = || (random.next() % 9) as i32 - 4;
        (0..steps * 256).map(|_| value()).collect()
    };
    let (a, b) = (factor(), factor());
    let mut device = Device::load("wmma_sm80");
    let halves = |values: &[i32]| -> Vec<u8> {
        values
            .iter()
            .flat_map(|&value| Kind::F16.bytes(value))
            .collect()
    };
    let (left, right) = (device.upload(&halves(&a)), device.upload(&halves(&b)));
    let out = device.zeros::<f32>(256);
    let args = [left.into(), right.into(), out.into(), (steps as u32).into()];
    device.launch("shared_tiles", 1, 32, &args);
    let found: Vec<f32> = device.download(out, 256);
    for (at, &found) in found.iter().enumerate() {
        let (row, column) = (at / 16, at % 16);
        let term =
            |step: usize, k: usize| a[step * 256 + row * 16 + k] * b[step * 256 + k * 16 + column];
        let sum: i32 = (0..steps)
            .flat_map(|step| (0..16).map(move |k| (step, k)))
            .map(|(step, k)| term(step, k))
            .sum();
        assert_eq!(found, 2.0 * sum as f32, "row {row}, column {column}");
    }
}

/// Rows of a lie 256 bits apart, columns of b 128.
#[test]
fn single_bits() {
    let mut random = Random(47);
    let (a, b) = (random.words(64), random.words(32));
    let mut device = Device::load("wmma_sm80");
    let (left, right) = (device.upload(&a), device.upload(&b));
    type Joined = fn(u32, u32) -> u32;
    let operations: [(&str, Joined); 2] = [("bits_xor", |x, y| x ^ y), ("bits_and", |x, y| x & y)];
    for ((kernel, joined), by_rows) in operations.into_iter().zip([1u32, 0]) {
        let out = device.zeros::<i32>(64);
        let args = [left.into(), right.into(), out.into(), by_rows.into()];
        device.launch(kernel, 1, 32, &args);
        let found: Vec<i32> = device.download(out, 64);
        for (row, column) in (0..8).flat_map(|row| (0..8).map(move |column| (row, column))) {
            let words = (0..4).map(|word| joined(a[row * 8 + word], b[column * 4 + word]));
            let wanted = 5 + words.map(u32::count_ones).sum::<u32>() as i32;
            let at = if by_rows == 1 {
                row * 8 + column
            } else {
                column * 8 + row
            };
            assert_eq!(found[at], wanted, "{kernel}: row {row}, column {column}");
        }
    }
}
