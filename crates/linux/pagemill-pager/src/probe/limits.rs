use std::hint::black_box;

use pagemill_linux::clock;

use super::data::DataKind;
use super::least;
use crate::store::Unit;
use crate::{UNIT_BYTES, record};

/// What no pager can be faster than, in nanoseconds of CPU time a unit of 4 KiB.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Copying a unit that is in no cache.
    pub copy_ns: f64,
    /// First touch of memory of the kernel's.
    pub first_touch_ns: f64,
    /// LZ4 alone.
    pub compress_ns: f64,
    /// LZ4 alone, back.
    pub decompress_ns: f64,
    /// The hash that shows whether a unit has changed.
    pub hash_ns: f64,
    /// Writing zeros.
    pub zero_ns: f64,
}

/// Units that are worked on at a time: 32 MiB, more than the caches of a core hold.
const UNITS: u64 = 8192;

/// Measures all of them, with bytes of `data`.
pub fn limits(data: DataKind) -> Limits {
    let units: Vec<Box<Unit>> = (0..UNITS).map(|index| data.unit(index)).collect();
    let mut target = Box::new([0; UNIT_BYTES]);
    let mut buffer = vec![0; lz4_flex::block::get_maximum_output_size(UNIT_BYTES)];
    let compressed: Vec<Vec<u8>> = (units.iter())
        .map(|unit| lz4_flex::block::compress(&unit[..]))
        .collect();
    Limits {
        copy_ns: each(|| {
            for unit in &units {
                target.copy_from_slice(&unit[..]);
                black_box(&target);
            }
        }),
        first_touch_ns: each(|| {
            let mut memory = vec![0_u8; UNITS as usize * UNIT_BYTES];
            (memory.iter_mut().step_by(UNIT_BYTES)).for_each(|byte| *byte = black_box(1));
            black_box(&memory);
        }),
        compress_ns: each(|| {
            for unit in &units {
                let _ = black_box(lz4_flex::block::compress_into(&unit[..], &mut buffer));
            }
        }),
        decompress_ns: each(|| {
            for bytes in &compressed {
                let _ = black_box(lz4_flex::block::decompress_into(bytes, &mut target[..]));
            }
        }),
        hash_ns: each(|| {
            for unit in &units {
                black_box(record::hash(unit, 1));
            }
        }),
        zero_ns: each(|| {
            for _ in &units {
                target.fill(0);
                black_box(&target);
            }
        }),
    }
}

fn each(mut work: impl FnMut()) -> f64 {
    least(3, || {
        let start = clock::thread_cpu_ns();
        work();
        (clock::thread_cpu_ns() - start) as f64 / UNITS as f64
    })
}
