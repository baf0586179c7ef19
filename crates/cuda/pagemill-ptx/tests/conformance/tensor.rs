//! Boxes of tensors that tensor maps describe: every type, number of dimensions, swizzle and kind of boundary, each against a
//! walk over single elements.

use half::{bf16, f16};
use pagemill_ptx::{Swizzle, TensorDimension, TensorElement, TensorMap};

use super::harness::{Arg, Device};
use super::inputs::Random;

const FILE: &str = "tensor_sm90";

const ELEMENTS: [TensorElement; 13] = {
    use TensorElement::*;
    [
        U8, U16, U32, S32, U64, S64, F16, F32, F32Ftz, F64, Bf16, Tf32, Tf32Ftz,
    ]
};

/// Each with the bytes of a row of the box.
const SWIZZLES: [(Swizzle, u64); 4] = [
    (Swizzle::None, 48),
    (Swizzle::Bytes32, 32),
    (Swizzle::Bytes64, 64),
    (Swizzle::Bytes128, 128),
];

/// Rows that are shorter than what chunks change places in, and long ones.
const OTHER_ROWS: [(Swizzle, u64); 5] = [
    (Swizzle::None, 16),
    (Swizzle::None, 240),
    (Swizzle::Bytes32, 16),
    (Swizzle::Bytes64, 48),
    (Swizzle::Bytes128, 16),
];

/// Where a box begins, from the first and the last place where it is all inside.
const BOUNDARIES: [&str; 6] = ["inside", "odd", "before", "behind", "larger", "outside"];

/// A tensor in a buffer, with room before and behind it.
struct Tensor {
    map: TensorMap,
    bytes: Vec<u8>,
}

const ROOM: u64 = 256;

impl Tensor {
    fn new(
        element: TensorElement,
        rank: usize,
        (swizzle, row_bytes): (Swizzle, u64),
        steps: [u32; 5],
    ) -> Self {
        let width = element.bytes();
        let mut stride = width;
        let mut dimensions = Vec::new();
        for (at, &step) in steps.iter().enumerate().take(rank) {
            let (size, box_size) = match at {
                0 => (row_bytes / width * 2 + 3, row_bytes / width),
                1 if rank == 2 => (11, 9),
                1 => (4, 3),
                _ => (3, 2),
            };
            dimensions.push(TensorDimension {
                size,
                stride_bytes: stride,
                box_size: box_size as u32 * if at == 0 { 1 } else { step },
                step,
            });
            // Padding behind each row and plane.
            stride = (stride * size).next_multiple_of(16) + 16;
        }
        let mut random = Random(width + 8 * rank as u64 + 64 * row_bytes);
        let bytes = (0..stride + 2 * ROOM)
            .map(|_| random.next() as u8)
            .collect();
        let map = TensorMap {
            address: 0,
            element,
            dimensions,
            swizzle,
            fills_with_nan: false,
        };
        Self { map, bytes }
    }

    /// Elements of the box in each dimension.
    fn counts(&self) -> Vec<u64> {
        let count = |(at, dimension): (usize, &TensorDimension)| match at {
            0 => u64::from(dimension.box_size),
            _ => u64::from(dimension.box_size.div_ceil(dimension.step)),
        };
        self.map.dimensions.iter().enumerate().map(count).collect()
    }

    fn box_bytes(&self) -> u64 {
        self.counts().iter().product::<u64>() * self.map.element.bytes()
    }

    fn begin(&self, boundary: &str) -> [i32; 5] {
        let mut begin = [0; 5];
        for (at, dimension) in self.map.dimensions.iter().enumerate() {
            let (size, box_size) = (dimension.size as i32, dimension.box_size as i32);
            begin[at] = match boundary {
                "inside" => 16 / self.map.element.bytes() as i32 * i32::from(at == 0),
                "odd" => 1,
                "before" => -1 - at as i32 % 2,
                "behind" => size - box_size + 1,
                "larger" => size - 1,
                _ if at == self.map.dimensions.len() - 1 => size + 3,
                _ => 0,
            };
        }
        begin
    }

    /// For each element of the box at `begin`: its byte in the tile, and in the buffer if it is inside.
    fn pairs(&self, begin: &[i32; 5]) -> Vec<(u64, Option<u64>)> {
        let counts = self.counts();
        let width = self.map.element.bytes();
        let total: u64 = counts.iter().product();
        let place = |number: u64| {
            let (mut rest, mut byte, mut is_inside) = (number, ROOM, true);
            for (at, (dimension, count)) in self.map.dimensions.iter().zip(&counts).enumerate() {
                let step = if at == 0 {
                    1
                } else {
                    u64::from(dimension.step)
                };
                let coordinate = i64::from(begin[at]) + (rest % count * step) as i64;
                rest /= count;
                is_inside &= (0..dimension.size as i64).contains(&coordinate);
                byte = byte.wrapping_add((coordinate * dimension.stride_bytes as i64) as u64);
            }
            (self.swizzled(number * width), is_inside.then_some(byte))
        };
        (0..total).map(place).collect()
    }

    /// Chunks of 16 bytes, by number in their row of 128 bytes and number of that row.
    fn swizzled(&self, byte: u64) -> u64 {
        let (row, chunk, rest) = (byte / 128, byte / 16 % 8, byte % 16);
        let chunk = match self.map.swizzle {
            Swizzle::None => chunk,
            Swizzle::Bytes32 => chunk ^ (row % 2),
            Swizzle::Bytes64 => chunk ^ (row % 4),
            Swizzle::Bytes128 => chunk ^ (row % 8),
        };
        128 * row + 16 * chunk + rest
    }

    fn upload(&mut self, device: &mut Device) -> u64 {
        let at = device.upload(&self.bytes);
        self.map.address = at + ROOM;
        at
    }

    fn arg(&self) -> Arg {
        let words = self.map.to_words();
        Arg::bytes(words.iter().flat_map(|word| word.to_le_bytes()).collect())
    }

    /// Bytes of a tile: rows of 128 bytes may be filled out of order.
    fn tile_bytes(&self) -> u64 {
        self.box_bytes().next_multiple_of(1024)
    }
}

fn box_arg(begin: &[i32; 5]) -> Arg {
    Arg::bytes(begin.iter().flat_map(|at| at.to_le_bytes()).collect())
}

/// What the tile holds behind a load.
fn loaded(tensor: &Tensor, begin: &[i32; 5]) -> Vec<u8> {
    let width = tensor.map.element.bytes() as usize;
    let mut tile = vec![0; tensor.tile_bytes() as usize];
    for (to, from) in tensor.pairs(begin) {
        let (to, from) = (to as usize, from.map(|from| from as usize));
        let mut element = match (from, tensor.map.fills_with_nan) {
            (Some(from), _) => tensor.bytes[from..from + width].to_vec(),
            (None, false) => vec![0; width],
            (None, true) => [0xf7, 0x7f].repeat(width / 2),
        };
        let is_tf32 = matches!(
            tensor.map.element,
            TensorElement::Tf32 | TensorElement::Tf32Ftz
        );
        if is_tf32 && from.is_some() {
            let value = f32::from_le_bytes(element[..].try_into().unwrap());
            element = tf32(value).to_le_bytes().to_vec();
        }
        tile[to..to + width].copy_from_slice(&element);
    }
    tile
}

/// The nearest of the neighbors with ten fraction bits; of two, the one whose last bit is 0.
fn tf32(value: f32) -> u32 {
    if !value.is_finite() {
        return if value.is_nan() {
            0x7fff_e000
        } else {
            value.to_bits()
        };
    }
    let low = value.to_bits() & !0x1fff;
    let high = low + 0x2000;
    let as_double = |bits: u32| match f32::from_bits(bits) {
        number if number.is_finite() => f64::from(number),
        number => f64::from(number.signum()) * 2f64.powi(128),
    };
    let exact = f64::from(value);
    let (below, above) = (
        (exact - as_double(low)).abs(),
        (as_double(high) - exact).abs(),
    );
    match below.total_cmp(&above) {
        std::cmp::Ordering::Less => low,
        std::cmp::Ordering::Greater => high,
        _ if low & 0x2000 == 0 => low,
        _ => high,
    }
}

fn check_load(device: &mut Device, tensor: &mut Tensor, boundary: &str) {
    let rank = tensor.map.dimensions.len();
    let begin = tensor.begin(boundary);
    tensor.upload(device);
    let (bytes, room) = (tensor.box_bytes() as u32, tensor.tile_bytes() as u32);
    let out = device.zeros::<u8>(room as usize);
    let args = [tensor.arg(), box_arg(&begin), out.into(), bytes.into()];
    device.launch_with_shared(&format!("tensor_load_{rank}d"), 1, 32, room, &args);
    let mut wanted = loaded(tensor, &begin);
    // The kernel shows as many bytes as the box has.
    wanted.truncate(bytes as usize);
    let found = device.download::<u8>(out, bytes as usize);
    assert!(found == wanted, "{boundary}: {:?}", tensor.map);
}

const ONES: [u32; 5] = [1; 5];

#[test]
fn boxes_are_loaded() {
    let mut combinations = 0;
    let mut device = Device::load(FILE);
    for element in ELEMENTS {
        for rank in 1..=5 {
            for swizzle in SWIZZLES {
                // A fresh device now and then: each launch copies all of its memory.
                device = if combinations % 42 == 0 {
                    Device::load(FILE)
                } else {
                    device
                };
                for boundary in BOUNDARIES {
                    let mut tensor = Tensor::new(element, rank, swizzle, ONES);
                    check_load(&mut device, &mut tensor, boundary);
                    combinations += 1;
                }
            }
        }
    }
    assert_eq!(combinations, 13 * 5 * 4 * 6);
}

#[test]
fn rows_may_be_shorter_than_their_span() {
    for rows in OTHER_ROWS {
        for rank in 1..=5 {
            let mut device = Device::load(FILE);
            for boundary in BOUNDARIES {
                let mut tensor = Tensor::new(TensorElement::U8, rank, rows, ONES);
                check_load(&mut device, &mut tensor, boundary);
            }
        }
    }
}

#[test]
fn boxes_skip_elements() {
    for element in [TensorElement::U8, TensorElement::F16, TensorElement::S64] {
        for rank in 1..=5 {
            for steps in [[1, 2, 3, 1, 2], [1, 8, 1, 2, 1], [7, 1, 2, 2, 2]] {
                let mut device = Device::load(FILE);
                for boundary in BOUNDARIES {
                    let mut tensor = Tensor::new(element, rank, (Swizzle::Bytes32, 32), steps);
                    check_load(&mut device, &mut tensor, boundary);
                }
            }
        }
    }
}

#[test]
fn what_is_outside_may_be_a_nan() {
    for element in ELEMENTS.into_iter().filter(|element| element.is_float()) {
        let mut device = Device::load(FILE);
        for boundary in BOUNDARIES {
            for swizzle in [(Swizzle::None, 48), (Swizzle::Bytes128, 128)] {
                let mut tensor = Tensor::new(element, 3, swizzle, ONES);
                tensor.map.fills_with_nan = true;
                check_load(&mut device, &mut tensor, boundary);
            }
        }
    }
}

/// Runs a kernel that changes the tensor; the tile, and the buffer before and after it.
fn change(
    device: &mut Device,
    tensor: &mut Tensor,
    kernel: &str,
    begin: &[i32; 5],
) -> (Vec<u8>, Vec<u8>) {
    let (bytes, room) = (tensor.box_bytes() as u32, tensor.tile_bytes() as u32);
    let mut random = Random(u64::from(bytes) + kernel.len() as u64);
    let tile: Vec<u8> = (0..room).map(|_| random.next() as u8).collect();
    let at = tensor.upload(device);
    let from = device.upload(&tile);
    let args = [tensor.arg(), box_arg(begin), from.into(), room.into()];
    device.launch_with_shared(kernel, 1, 32, room, &args);
    (tile, device.download::<u8>(at, tensor.bytes.len()))
}

#[test]
fn boxes_are_stored() {
    let mut combinations = 0;
    let mut device = Device::load(FILE);
    for element in ELEMENTS {
        let width = element.bytes() as usize;
        for rank in 1..=5 {
            for swizzle in SWIZZLES {
                device = if combinations % 42 == 0 {
                    Device::load(FILE)
                } else {
                    device
                };
                for boundary in BOUNDARIES {
                    let mut tensor = Tensor::new(element, rank, swizzle, ONES);
                    let begin = tensor.begin(boundary);
                    let kernel = format!("tensor_store_{rank}d");
                    let (tile, found) = change(&mut device, &mut tensor, &kernel, &begin);
                    for (from, to) in tensor.pairs(&begin) {
                        let (from, Some(to)) = (from as usize, to) else {
                            continue;
                        };
                        tensor.bytes[to as usize..][..width]
                            .copy_from_slice(&tile[from..from + width]);
                    }
                    assert!(found == tensor.bytes, "{boundary}: {:?}", tensor.map);
                    combinations += 1;
                }
            }
        }
    }
    assert_eq!(combinations, 13 * 5 * 4 * 6);
}

fn as_signed(element: TensorElement, bits: u64) -> i64 {
    match element {
        TensorElement::S32 => i64::from(bits as i32),
        _ => bits as i64,
    }
}

/// Two values of 16 bits as numbers, and back.
fn on_halves(element: TensorElement, old: u64, value: u64, apply: impl Fn(f64, f64) -> f64) -> u64 {
    match element {
        TensorElement::F16 => {
            let number = |bits: u64| f16::from_bits(bits as u16).to_f64();
            f16::from_f64(apply(number(old), number(value)))
                .to_bits()
                .into()
        }
        _ => {
            let number = |bits: u64| bf16::from_bits(bits as u16).to_f64();
            bf16::from_f64(apply(number(old), number(value)))
                .to_bits()
                .into()
        }
    }
}

/// The smaller, or the greater; of a number and what is none the number, and of zeros the negative one is smaller.
fn extreme(a: f64, b: f64, is_least: bool) -> f64 {
    match (a.is_nan(), b.is_nan()) {
        (true, _) => b,
        (_, true) => a,
        _ if (a.total_cmp(&b).is_lt()) == is_least => a,
        _ => b,
    }
}

/// What a reduction makes of two elements; `None` where the type does not have it.
fn reduced(operation: &str, element: TensorElement, old: u64, value: u64) -> Option<u64> {
    use TensorElement::*;
    let flush = |bits: u64| match f32::from_bits(bits as u32) {
        number if number.is_subnormal() => 0f32.copysign(number),
        number => number,
    };
    let is_integer = matches!(element, U32 | S32 | U64 | S64);
    let is_signed = matches!(element, S32 | S64);
    let least = |is_least: bool| match (element, is_signed) {
        (F16 | Bf16, _) => on_halves(element, old, value, |a, b| extreme(a, b, is_least)),
        (_, true) if (as_signed(element, old) < as_signed(element, value)) == is_least => old,
        (_, true) => value,
        (_, false) if (old < value) == is_least => old,
        (_, false) => value,
    };
    Some(match (operation, element) {
        ("add", U32 | S32) => u64::from((old as u32).wrapping_add(value as u32)),
        ("add", U64 | S64) => old.wrapping_add(value),
        ("add", F32 | Tf32) => {
            u64::from((f32::from_bits(old as u32) + f32::from_bits(value as u32)).to_bits())
        }
        ("add", F32Ftz | Tf32Ftz) => {
            u64::from(flush((flush(old) + flush(value)).to_bits().into()).to_bits())
        }
        ("add", F64) => (f64::from_bits(old) + f64::from_bits(value)).to_bits(),
        ("add", F16 | Bf16) => on_halves(element, old, value, |a, b| a + b),
        ("min" | "max", F16 | Bf16) => least(operation == "min"),
        ("min" | "max", _) if is_integer => least(operation == "min"),
        ("inc", U32) => {
            if old >= value {
                0
            } else {
                old + 1
            }
        }
        ("dec", U32) => {
            if old == 0 || old > value {
                value
            } else {
                old - 1
            }
        }
        ("and", _) if is_integer => old & value,
        ("or", _) if is_integer => old | value,
        ("xor", _) if is_integer => old ^ value,
        _ => return None,
    })
}

fn is_nan(element: TensorElement, bits: u64) -> bool {
    match element {
        TensorElement::F16 => f16::from_bits(bits as u16).is_nan(),
        TensorElement::Bf16 => bf16::from_bits(bits as u16).is_nan(),
        TensorElement::F64 => f64::from_bits(bits).is_nan(),
        element => element.is_float() && f32::from_bits(bits as u32).is_nan(),
    }
}

fn element_at(bytes: &[u8], at: u64, width: usize) -> u64 {
    let mut word = [0; 8];
    word[..width].copy_from_slice(&bytes[at as usize..][..width]);
    u64::from_le_bytes(word)
}

/// Compares what a reduction has left with what it should have.
fn check_reduction(tensor: &Tensor, begin: &[i32; 5], operation: &str, tile: &[u8], found: &[u8]) {
    let element = tensor.map.element;
    let width = element.bytes() as usize;
    let mut wanted = tensor.bytes.clone();
    for (from, to) in tensor.pairs(begin) {
        let Some(to) = to else { continue };
        let (old, value) = (
            element_at(&tensor.bytes, to, width),
            element_at(tile, from, width),
        );
        let new = reduced(operation, element, old, value).expect("it has the operation");
        let seen = element_at(found, to, width);
        let seen = if is_nan(element, new) && is_nan(element, seen) {
            new
        } else {
            seen
        };
        assert_eq!(
            seen, new,
            "{operation} of {old:#x} and {value:#x}: {:?}",
            tensor.map
        );
        wanted[to as usize..][..width].copy_from_slice(&found[to as usize..][..width]);
    }
    assert!(
        found == wanted,
        "{operation} changed what it must not: {:?}",
        tensor.map
    );
}

#[test]
fn boxes_are_reduced() {
    let (mut reductions, mut refused) = (0, 0);
    for element in ELEMENTS {
        for operation in ["add", "min", "max", "inc", "dec", "and", "or", "xor"] {
            let mut device = Device::load(FILE);
            for rank in 1..=5 {
                for boundary in ["odd", "before", "behind"] {
                    let mut tensor = Tensor::new(element, rank, (Swizzle::Bytes64, 64), ONES);
                    let begin = tensor.begin(boundary);
                    let kernel = format!("tensor_{operation}_{rank}d");
                    if reduced(operation, element, 0, 0).is_some() {
                        let (tile, found) = change(&mut device, &mut tensor, &kernel, &begin);
                        check_reduction(&tensor, &begin, operation, &tile, &found);
                        reductions += 1;
                        continue;
                    }
                    tensor.upload(&mut device);
                    let from = device.zeros::<u32>(256);
                    let args = [tensor.arg(), box_arg(&begin), from.into(), 0u32.into()];
                    let trap = device.trap(&kernel, 1, 32, &args);
                    assert!(trap.to_string().contains("this reduction"), "{trap}");
                    refused += 1;
                }
            }
        }
    }
    // Of 11 types, of 6, of 6, of 1, of 1, and of 4 for each operation on bits.
    let kinds = 11 + 6 + 6 + 1 + 1 + 3 * 4;
    assert_eq!((reductions, refused), (15 * kinds, 15 * (13 * 8 - kinds)));
}

#[test]
fn maps_in_global_memory_are_behind_a_fence() {
    let mut device = Device::load(FILE);
    for boundary in BOUNDARIES {
        let mut tensor = Tensor::new(TensorElement::F32, 2, (Swizzle::Bytes128, 128), ONES);
        let begin = tensor.begin(boundary);
        tensor.upload(&mut device);
        let map = device.upload(&tensor.map.to_words());
        let (bytes, room) = (tensor.box_bytes() as u32, tensor.tile_bytes() as u32);
        let out = device.zeros::<u8>(room as usize);
        let args = [map.into(), box_arg(&begin), out.into(), bytes.into()];
        device.launch_with_shared("tensor_by_global", 1, 32, room, &args);
        let found = device.download::<u8>(out, bytes as usize);
        assert!(
            found == loaded(&tensor, &begin)[..bytes as usize],
            "{boundary}"
        );
    }
}

#[test]
fn one_block_loads_for_those_of_its_cluster() {
    for mask in [0b0001u32, 0b1111, 0b1010, 0b0110, 0b1000] {
        let mut device = Device::load(FILE);
        let mut tensor = Tensor::new(TensorElement::U16, 2, (Swizzle::Bytes64, 64), ONES);
        let begin = tensor.begin("behind");
        tensor.upload(&mut device);
        let (bytes, room) = (tensor.box_bytes() as u32, tensor.tile_bytes() as u32);
        let out = device.zeros::<u8>(4 * bytes as usize);
        let args = [
            tensor.arg(),
            box_arg(&begin),
            out.into(),
            bytes.into(),
            mask.into(),
        ];
        device.cluster = Some([4, 1, 1]);
        device.launch_with_shared("tensor_multicast", 4, 32, room, &args);
        let found = device.download::<u8>(out, 4 * bytes as usize);
        let box_of = loaded(&tensor, &begin);
        for (rank, found) in found.chunks(bytes as usize).enumerate() {
            match mask >> rank & 1 {
                1 => assert!(
                    found == &box_of[..bytes as usize],
                    "rank {rank} of {mask:#b}"
                ),
                _ => assert!(
                    found.iter().all(|&byte| byte == 0xee),
                    "rank {rank} of {mask:#b}"
                ),
            }
        }
    }
}

#[test]
fn what_is_no_map_of_so_many_dimensions_is_refused() {
    let mut device = Device::load(FILE);
    let mut tensor = Tensor::new(TensorElement::U32, 2, (Swizzle::None, 16), ONES);
    tensor.upload(&mut device);
    let out = device.zeros::<u32>(256);
    let rest = |bytes: u32| [box_arg(&[0; 5]), out.into(), bytes.into()];
    for (kernel, map) in [
        ("tensor_load_3d", tensor.arg()),
        ("tensor_load_2d", Arg::bytes(vec![0; 128])),
        ("tensor_load_2d", Arg::bytes(vec![0xff; 128])),
    ] {
        let args: Vec<Arg> = std::iter::once(map).chain(rest(16)).collect();
        let said = device.trap(kernel, 1, 32, &args).to_string();
        assert!(said.contains("no tensor map"), "{said}");
    }
    // The tile has no room for the box.
    let args: Vec<Arg> = std::iter::once(tensor.arg()).chain(rest(16)).collect();
    let said = device.trap("tensor_load_2d", 1, 32, &args).to_string();
    assert!(said.contains("shared"), "{said}");
}

#[test]
fn kernels_change_maps() {
    let (columns, rows, pitch) = (30u32, 7u32, 128u64);
    let matrix = Random(3).words(7 * 32);
    for swizzle in [0u32, 1] {
        let mut device = Device::load("tensor_replace_sm90a");
        let at = device.upload(&matrix);
        // Any map, of another tensor.
        let mut other = Tensor::new(
            TensorElement::F64,
            5,
            (Swizzle::Bytes32, 32),
            [1, 2, 3, 4, 5],
        );
        other.map.fills_with_nan = true;
        let (from, scratch) = (
            device.upload(&other.map.to_words()),
            device.zeros::<u64>(16),
        );
        let out = device.zeros::<u32>(128);
        let args = [
            from.into(),
            scratch.into(),
            at.into(),
            pitch.into(),
            columns.into(),
            rows.into(),
            swizzle.into(),
            out.into(),
        ];
        device.launch_with_shared("tensor_replace", 1, 32, 1024, &args);
        let map = TensorMap {
            address: at,
            element: TensorElement::U32,
            dimensions: vec![
                TensorDimension {
                    size: 30,
                    stride_bytes: 4,
                    box_size: 16,
                    step: 1,
                },
                TensorDimension {
                    size: 7,
                    stride_bytes: pitch,
                    box_size: 8,
                    step: 1,
                },
            ],
            swizzle: if swizzle == 1 {
                Swizzle::Bytes64
            } else {
                Swizzle::None
            },
            fills_with_nan: false,
        };
        // What lies before the matrix in its buffer is nothing here.
        let mut bytes = vec![0; ROOM as usize];
        bytes.extend(matrix.iter().flat_map(|word| word.to_le_bytes()));
        let tensor = Tensor { map, bytes };
        let wanted = loaded(&tensor, &[4, 1, 0, 0, 0]);
        assert!(
            device.download::<u8>(out, 512) == wanted[..512],
            "swizzle {swizzle}"
        );
    }
}
