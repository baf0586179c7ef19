//! Values of registers for tests.

use proptest::prelude::*;

/// Bits that are numbers, extremes and neighbors of both formats.
pub(crate) fn word() -> impl Strategy<Value = u64> {
    let edge = prop::sample::select(vec![
        0,
        1,
        0x7f,
        0x80,
        31,
        32,
        64,
        0x7fff_ffff,
        0x8000_0000,
        0xffff_ffff,
        0x3f80_0000,
        0x7f80_0000,
        0x7fc0_0000,
        0xff80_0001,
        0x0080_0000,
        0x4f00_0000,
        0x3ff0_0000_0000_0000,
        0x7ff0_0000_0000_0000,
        0x7ff8_0000_0000_0000,
        1 << 63,
        u64::MAX,
        0x41e0_0000_0000_0000,
        0xc1e0_0000_0000_0000,
    ]);
    prop_oneof![
        any::<u64>(),
        edge,
        (0u64..64),
        any::<f32>().prop_map(|x| x.to_bits().into()),
        any::<f64>().prop_map(f64::to_bits)
    ]
}
