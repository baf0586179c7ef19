//! Products of warp groups, against three loops; matrices lie in shared memory as the nested shapes and distances of CuTe's
//! canonical layouts have it.

use super::harness::Device;
use super::inputs::Random;
use super::matrix::{Matrix, bits, decode, random_matrix};

/// One form of `wgmma`: columns, terms, types of A, B and D, whether A and B lie across, and the sign of products.
struct Form {
    kernel: &'static str,
    columns: usize,
    types: [&'static str; 3],
    across: [bool; 2],
    sign: f64,
    a_from_registers: bool,
}

#[rustfmt::skip]
fn forms() -> Vec<Form> {
    let form = |kernel, columns, types, across, sign, a_from_registers| Form {
        kernel, columns, types, across, sign, a_from_registers,
    };
    vec![
        form("f16_f32_n64", 64, ["f16", "f16", "f32"], [false; 2], 1.0, false),
        form("f16_f32_n64_across", 64, ["f16", "f16", "f32"], [true; 2], 1.0, false),
        form("f16_f16_n8", 8, ["f16", "f16", "f16"], [false; 2], 1.0, false),
        form("bf16_f32_n16_minus", 16, ["bf16", "bf16", "f32"], [false, true], -1.0, false),
        form("tf32_f32_n32", 32, ["tf32", "tf32", "f32"], [false; 2], 1.0, false),
        form("e4m3_e5m2_f32_n16", 16, ["e4m3", "e5m2", "f32"], [false; 2], -1.0, false),
        form("e5m2_e4m3_f16_n16", 16, ["e5m2", "e4m3", "f16"], [false; 2], 1.0, false),
        form("s8_u8_n32", 32, ["s8", "u8", "s32"], [false; 2], 1.0, false),
        form("u8_s8_n16_sat", 16, ["u8", "s8", "s32"], [false; 2], 1.0, false),
        form("b1_n8", 8, ["b1", "b1", "s32"], [false; 2], 1.0, false),
        form("f16_f32_n32_from_registers", 32, ["f16", "f16", "f32"], [false, true], 1.0, true),
        form("s8_s8_n16_from_registers", 16, ["s8", "s8", "s32"], [false; 2], 1.0, true),
    ]
}

const ROWS: usize = 64;
/// Where B's part of shared memory begins, and where it ends.
const B_START: usize = 1 << 15;
const SHARED_BYTES: usize = 1 << 16;

/// Terms of a sum: 32 bytes of them.
fn depth(ty: &str) -> usize {
    256 / bits(ty)
}

/// How a matrix lies: units of 16 bytes that rows are folded by, where it starts, and the two distances of its descriptor.
struct Layout {
    fold: usize,
    start: usize,
    leading: usize,
    stride: usize,
}

impl Layout {
    /// One of those that are possible for `lines` rows of A or columns of B.
    fn random(start: usize, across: bool, lines: usize, random: &mut Random) -> Self {
        let fold = 1 << random.below(4);
        let (leading, stride) = match (across, fold) {
            // Pieces of eight rows, and the two units of each, in either order.
            (false, 1) if random.below(2) == 0 => (128, 256),
            (false, 1) => (lines / 8 * 128, 128),
            (false, _) => (16, 128 * fold),
            (true, 1) => (128, 256),
            (true, _) => (256 * fold, 128 * fold),
        };
        // A folded row may have more terms than a product takes.
        let inside = match across {
            false if fold > 2 => 32 * random.below(fold as u64 / 2) as usize,
            _ => 0,
        };
        Self {
            fold,
            start: start + inside,
            leading,
            stride,
        }
    }

    fn descriptor(&self) -> u64 {
        let mode = match self.fold {
            1 => 0,
            8 => 1,
            4 => 2,
            _ => 3u64,
        };
        (self.start as u64 >> 4)
            | (self.leading as u64 >> 4) << 16
            | (self.stride as u64 >> 4) << 32
            | mode << 62
    }

    /// The byte at which the cell of `cell_bytes` bytes of a line and a place in its sum begins.
    fn byte(&self, across: bool, (line, k): (usize, usize), cell_bytes: usize) -> usize {
        let unit = 16 / cell_bytes;
        let (side, other) = if across { (line, k) } else { (k, line) };
        let part = side % unit * cell_bytes;
        let along = side / unit;
        let eight = other % 8 * 16 * self.fold;
        let place = match (across, self.fold) {
            (false, 1) => part + eight + other / 8 * self.stride + along * self.leading,
            (false, _) => part + eight + other / 8 * self.stride + along * 16,
            (true, 1) => part + eight + along * self.stride + other / 8 * self.leading,
            (true, fold) => {
                let (inner, outer) = (along % fold * 16, along / fold * self.leading);
                part + eight + inner + outer + other / 8 * self.stride
            }
        };
        let byte = self.start + place;
        let (row, unit) = (byte / 128 % self.fold, byte / 16 % self.fold);
        byte - unit * 16 + (unit ^ row) * 16
    }
}

/// Puts a matrix, given by lines of terms, into the image of shared memory.
fn place(image: &mut [u8], layout: &Layout, across: bool, ty: &str, lines: &Matrix) {
    // Bits lie by words.
    let cell_bits = bits(ty).max(if ty == "b1" { 32 } else { 8 });
    for (line, terms) in lines.iter().enumerate() {
        for (k, cell) in terms.chunks(cell_bits / bits(ty)).enumerate() {
            let word = (cell.iter().enumerate())
                .fold(0, |word, (at, value)| word | value << (at * bits(ty)));
            let byte = layout.byte(across, (line, k), cell_bits / 8);
            let bytes = &word.to_le_bytes()[..cell_bits / 8];
            image[byte..byte + cell_bits / 8].copy_from_slice(bytes);
        }
    }
}

/// Row and column of element `index` of `register` of a thread, of D and of the sums before.
fn place_in_d(ty: &str, thread: usize, register: usize, index: usize) -> (usize, usize) {
    let number = register * (32 / bits(ty)) + index;
    let row = thread / 32 * 16 + thread % 32 / 4 + number % 4 / 2 * 8;
    (row, number / 4 * 8 + thread % 4 * 2 + number % 2)
}

/// The four registers of A of each thread.
fn rows_in_registers(ty: &str, a: &Matrix) -> Vec<u32> {
    let count = 32 / bits(ty);
    let register = |thread: usize, register: usize| {
        (0..count).fold(0, |word, index| {
            let row = thread / 32 * 16 + thread % 32 / 4 + register % 2 * 8;
            let k = register / 2 * 4 * count + thread % 4 * count + index;
            word | (a[row][k] as u32) << (index * bits(ty))
        })
    };
    (0..128 * 4).map(|at| register(at / 4, at % 4)).collect()
}

fn run(form: &Form, random: &mut Random) {
    let [a_type, b_type, d_type] = form.types;
    let a = random_matrix(a_type, (ROWS, depth(a_type)), random);
    let b = random_matrix(b_type, (form.columns, depth(b_type)), random);
    let sums = random_matrix(d_type, (ROWS, form.columns), random);
    let adds = random.below(4) != 0;
    let layouts = [
        Layout::random(0, form.across[0], ROWS, random),
        Layout::random(B_START, form.across[1], form.columns, random),
    ];
    let mut image: Vec<u8> = (0..SHARED_BYTES).map(|_| random.next() as u8).collect();
    place(&mut image, &layouts[0], form.across[0], a_type, &a);
    place(&mut image, &layouts[1], form.across[1], b_type, &b);
    let words = |image: &[u8]| {
        let words = image.chunks(4).map(|word| word.try_into().expect("four"));
        words.map(u32::from_le_bytes).collect::<Vec<u32>>()
    };
    let per_register = 32 / bits(d_type);
    let registers = ROWS * form.columns / 128 / per_register;
    let start: Vec<u32> = (0..128 * registers)
        .map(|at| {
            (0..per_register).fold(0, |word, index| {
                let (row, column) = place_in_d(d_type, at / registers, at % registers, index);
                word | (sums[row][column] as u32) << (index * bits(d_type))
            })
        })
        .collect();
    let mut device = Device::load("matrix_group_sm90a");
    let image_at = device.upload(&words(&image));
    let start_at = device.upload(&start);
    let out = device.zeros::<u32>(start.len());
    let from = match form.a_from_registers {
        true => device.upload(&rows_in_registers(a_type, &a)),
        false => layouts[0].descriptor(),
    };
    let arguments = [
        image_at.into(),
        (SHARED_BYTES as u32 / 4).into(),
        from.into(),
        layouts[1].descriptor().into(),
        u32::from(adds).into(),
        start_at.into(),
        out.into(),
    ];
    device.launch_with_shared(form.kernel, 1, 128, SHARED_BYTES as u32, &arguments);
    for (at, word) in device
        .download::<u32>(out, start.len())
        .into_iter()
        .enumerate()
    {
        for index in 0..per_register {
            let (row, column) = place_in_d(d_type, at / registers, at % registers, index);
            let found = u64::from(word) >> (index * bits(d_type)) & ((1 << bits(d_type)) - 1);
            let before = if adds {
                decode(d_type, sums[row][column])
            } else {
                0.0
            };
            let terms = (a[row].iter().zip(&b[column]))
                .map(|(x, y)| form.sign * decode(a_type, *x) * decode(b_type, *y));
            let terms: Vec<f64> = terms.collect();
            super::matrix::check_sum(
                form.kernel,
                (d_type, form.kernel.ends_with("_sat")),
                (before, &terms),
                found,
            );
        }
    }
}

#[test]
fn products_of_warp_groups() {
    let mut random = Random(19);
    for form in forms() {
        for _ in 0..12 {
            run(&form, &mut random);
        }
    }
}

/// A pattern that does not begin where it would is refused, as its rows are folded from elsewhere.
#[test]
fn base_offsets_are_refused() {
    let mut device = Device::load("matrix_group_sm90a");
    let at = device.zeros::<u32>(1024);
    let offset = 1u64 << 49;
    let arguments = [
        at.into(),
        0u32.into(),
        offset.into(),
        0u64.into(),
        1u32.into(),
        at.into(),
        at.into(),
    ];
    let trap = device.trap("f16_f16_n8", 1, 128, &arguments);
    assert!(trap.to_string().contains("base offset"), "{trap}");
}

const TILE_WORDS: usize = 576;

/// Tiles of small whole numbers as halves, and what their lines are: 64 rows of A, then 8 columns of B, of 16 terms.
fn random_tiles(random: &mut Random) -> (Vec<u32>, Vec<[i64; 16]>) {
    let lines: Vec<[i64; 16]> = (0..72)
        .map(|_| std::array::from_fn(|_| random.below(9) as i64 - 4))
        .collect();
    let mut bytes = vec![0u8; 4 * TILE_WORDS];
    for (line, terms) in lines.iter().enumerate() {
        for (k, term) in terms.iter().enumerate() {
            let at = line / 8 * 256 + k / 8 * 128 + line % 8 * 16 + k % 8 * 2;
            let half = half::f16::from_f32(*term as f32).to_le_bytes();
            bytes[at..at + 2].copy_from_slice(&half);
        }
    }
    let words = bytes.chunks(4).map(|word| word.try_into().expect("four"));
    (words.map(u32::from_le_bytes).collect(), lines)
}

/// Operands are read for the whole group before any of its warps is past the wait: one warp may replace them there.
#[test]
fn operands_may_be_replaced_behind_the_wait_of_any_warp() {
    let mut random = Random(52);
    for _ in 0..40 {
        let (blocks, groups) = (1 + random.below(2), 1 + random.below(4));
        let rounds = 1 + random.below(6) as usize;
        let (mut tiles, mut sums) = (Vec::new(), Vec::new());
        for _ in 0..blocks * groups {
            let mut sum = vec![[0i64; 8]; ROWS];
            for _ in 0..rounds {
                let (words, lines) = random_tiles(&mut random);
                tiles.extend(words);
                for (row, sums) in sum.iter_mut().enumerate() {
                    for (column, sum) in sums.iter_mut().enumerate() {
                        let terms = lines[row].iter().zip(&lines[64 + column]);
                        *sum += terms.map(|(a, b)| a * b).sum::<i64>();
                    }
                }
            }
            sums.push(sum);
        }
        let refills: Vec<u32> = (0..rounds).map(|_| random.below(4) as u32).collect();
        let mut device = Device::load("matrix_group_sm90a");
        let threads = 128 * (blocks * groups) as usize;
        let (at, by) = (device.upload(&tiles), device.upload(&refills));
        let out = device.zeros::<f32>(4 * threads);
        let arguments = [at.into(), by.into(), (rounds as u32).into(), out.into()];
        device.launch("refilled", blocks as u32, 128 * groups as u32, &arguments);
        for (at, found) in device
            .download::<f32>(out, 4 * threads)
            .into_iter()
            .enumerate()
        {
            let (thread, number) = (at / 4, at % 4);
            let (row, column) = place_in_d("f32", thread % 128, number, 0);
            let expected = sums[thread / 128][row][column] as f32;
            assert_eq!(
                found, expected,
                "thread {thread}, sum {number}, refilled by {refills:?}"
            );
        }
    }
}

#[test]
fn a_product_without_a_warp_of_its_group_is_refused() {
    for absent in 0..4u32 {
        let mut device = Device::load("matrix_group_sm90a");
        let out = device.zeros::<f32>(128);
        let trap = device.trap("without_a_warp", 1, 128, &[absent.into(), out.into()]);
        let expected = "wgmma of warp group 0 has 96 of 128 threads";
        assert!(trap.to_string().contains(expected), "{trap}");
    }
    let mut device = Device::load("matrix_group_sm90a");
    let out = device.zeros::<f32>(128);
    let trap = device.trap("without_a_warp", 1, 64, &[9u32.into(), out.into()]);
    assert!(trap.to_string().contains("a group of four warps"), "{trap}");
}
