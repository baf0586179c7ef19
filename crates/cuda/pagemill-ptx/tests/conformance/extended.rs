//! Instructions of architectures past compute_75.

use super::harness::Device;
use super::inputs::{Inputs, Random};
use super::oracle::flush32;
use super::rows::{Row, check_rows, checked, row};
use super::value::{Pair, Value};
use half::{bf16, f16};

/// `op` on both halves of words.
fn halves<T: Value>(op: fn(u16, u16) -> T) -> impl Fn(u64, u64, u64) -> Pair<T> {
    move |a, b, _| {
        Pair(
            op(a as u16, b as u16),
            op((a >> 16) as u16, (b >> 16) as u16),
        )
    }
}

#[test]
fn packed_integers() {
    let rows = [
        row("add.u16x2", halves(u16::wrapping_add)),
        row("add.s16x2", halves(u16::wrapping_add)),
        row("min.u16x2", halves(u16::min)),
        row("min.s16x2", halves(|a, b| (a as i16).min(b as i16))),
        row("max.u16x2", halves(u16::max)),
        row("max.s16x2", halves(|a, b| (a as i16).max(b as i16))),
        row(
            "min.relu.s16x2",
            halves(|a, b| (a as i16).min(b as i16).max(0)),
        ),
        row(
            "max.relu.s16x2",
            halves(|a, b| (a as i16).max(b as i16).max(0)),
        ),
        row("min.relu.s32", |a, b, _| (a as i32).min(b as i32).max(0)),
        row("max.relu.s32", |a, b, _| (a as i32).max(b as i32).max(0)),
    ];
    check_rows("packed_int_sm90", "packed", &Inputs::integers(), &rows);
}

fn bfloat(bits: u64) -> bf16 {
    bf16::from_bits64(bits)
}

/// `test` on both halves, as two bits.
fn both(test: fn(bf16, bf16) -> bool) -> impl Fn(u64, u64, u64) -> u32 {
    move |a, b, _| {
        let lane = |shift: u32| u32::from(test(bfloat(a >> shift), bfloat(b >> shift)));
        lane(0) | lane(16) << 1
    }
}

#[test]
fn bfloat_comparison() {
    let unordered = |a: u64, b: u64| bfloat(a).is_nan() || bfloat(b).is_nan();
    let rows = [
        row("setp.eq.bf16", |a, b, _| bfloat(a) == bfloat(b)),
        row("setp.lt.bf16", |a, b, _| bfloat(a) < bfloat(b)),
        row("setp.geu.bf16", move |a, b, _| {
            bfloat(a) >= bfloat(b) || unordered(a, b)
        }),
        row("setp.nan.bf16", move |a, b, _| unordered(a, b)),
        row("setp.neu.bf16x2", both(|a, b| a != b)),
        row("setp.gt.bf16x2", both(|a, b| a > b)),
        row("set.lt.bf16.bf16", |a, b, _| {
            if bfloat(a) < bfloat(b) {
                bf16::ONE
            } else {
                bf16::ZERO
            }
        }),
        row("set.ge.u32.bf16", |a, b, _| {
            if bfloat(a) >= bfloat(b) { u32::MAX } else { 0 }
        }),
    ];
    check_rows("bf16_more_sm90", "compare", &Inputs::floats16(), &rows);
}

/// An approximation whose error is at most `bound` in units of the larger of 1 and the result.
fn approximate(name: &'static str, exact: fn(f64) -> f64, bound: f64, lanes: u32) -> Row {
    checked(name, move |a, _, _, found| {
        for lane in 0..lanes {
            let read = |bits: u64| bfloat(bits >> (16 * lane)).to_f64();
            let (exact, found) = (exact(read(a)), read(found));
            let overflows = exact > 3.38e38 && found > 3.38e38;
            let close = (found - exact).abs() <= bound * exact.abs();
            let tiny = exact.abs() < 1.2e-38 && found.abs() < 1.2e-38;
            let both_nan = exact.is_nan() && found.is_nan();
            if !(overflows || close || tiny || both_nan) {
                return Err(format!("{exact:e}, not {found:e}"));
            }
        }
        Ok(())
    })
}

#[test]
fn bfloat_approximations() {
    let rows = [
        approximate("ex2.approx.ftz.bf16", f64::exp2, 1.0 / 128.0, 1),
        approximate("ex2.approx.ftz.bf16x2", f64::exp2, 1.0 / 128.0, 2),
        approximate("tanh.approx.bf16", f64::tanh, 1.0 / 128.0, 1),
        approximate("tanh.approx.bf16x2", f64::tanh, 1.0 / 128.0, 2),
    ];
    check_rows("bf16_more_sm90", "approx", &Inputs::floats16(), &rows);
}

#[test]
fn bfloat_atomics() {
    let mut device = Device::load("bf16_more_sm90");
    let (narrow, pairs, old) = (
        device.zeros::<u16>(2),
        device.zeros::<u32>(32),
        device.zeros::<u32>(32),
    );
    for round in 0..2 {
        device.launch("sums", 1, 32, &[narrow.into(), pairs.into(), old.into()]);
        assert_eq!(device.download::<u32>(old, 32), [round * 0x4000_3F80; 32]);
    }
    assert_eq!(device.download::<bf16>(narrow, 1), [bf16::from_f32(64.0)]);
    assert_eq!(device.download::<u32>(pairs, 32), [0x4080_4000; 32]);
}

/// The smaller or larger magnitude, with the product of the signs; a NaN gives way unless `nan`.
macro_rules! magnitude {
    ($name:ident, $ty:ty, $sign:literal) => {
        fn $name(a: $ty, b: $ty, min: bool, nan: bool) -> $ty {
            let sign = (a.to_bits() ^ b.to_bits()) & $sign;
            if nan && (a.is_nan() || b.is_nan()) {
                return <$ty>::NAN;
            }
            let [a, b] = [a, b].map(|x| <$ty>::from_bits(x.to_bits() & !$sign));
            let picked = if b.is_nan() || (!a.is_nan() && (a < b) == min) {
                a
            } else {
                b
            };
            <$ty>::from_bits(picked.to_bits() | sign)
        }
    };
}

magnitude!(magnitude32, f32, 0x8000_0000);
magnitude!(magnitude16, f16, 0x8000);
magnitude!(magnitude_bf16, bf16, 0x8000);

#[test]
fn order_of_magnitudes() {
    let f = |bits: u64| f32::from_bits64(bits);
    let h = |bits: u64| f16::from_bits64(bits);
    let rows = [
        row("min.xorsign.abs.f32", move |a, b, _| {
            magnitude32(f(a), f(b), true, false)
        }),
        row("max.xorsign.abs.f32", move |a, b, _| {
            magnitude32(f(a), f(b), false, false)
        }),
        row("max.ftz.xorsign.abs.f32", move |a, b, _| {
            magnitude32(flush32(f(a)), flush32(f(b)), false, false)
        }),
        row("max.NaN.xorsign.abs.f32", move |a, b, _| {
            magnitude32(f(a), f(b), false, true)
        }),
        row("min.xorsign.abs.f16", move |a, b, _| {
            magnitude16(h(a), h(b), true, false)
        }),
        row("max.xorsign.abs.f16x2", move |a, b, _| {
            let lane = |shift: u32| magnitude16(h(a >> shift), h(b >> shift), false, false);
            Pair(lane(0), lane(16))
        }),
        row("max.xorsign.abs.bf16", |a, b, _| {
            magnitude_bf16(bfloat(a), bfloat(b), false, false)
        }),
    ];
    check_rows("order_xorsign_sm86", "order", &Inputs::floats32(), &rows);
    check_rows("order_xorsign_sm86", "order", &Inputs::floats16(), &rows);
}

#[test]
fn hints_change_nothing() {
    let values = Random(81).words(64);
    let mut device = Device::load("hints_sm80");
    let (data, out) = (device.upload(&values), device.zeros::<u32>(32));
    device.launch("hints", 1, 32, &[data.into(), out.into()]);
    let wanted: Vec<u32> = values[..32]
        .iter()
        .map(|value| value.wrapping_mul(2))
        .collect();
    assert_eq!(device.download::<u32>(out, 32), wanted);
}

#[test]
fn rounding_to_tensor_float() {
    // The low 13 bits of a TensorFloat have no meaning.
    let rows = [checked("cvt.rna.tf32.f32", |a, _, _, found| {
        let (a, found) = (f32::from_bits64(a), f32::from_bits64(found));
        let nearest = f32::from_bits(a.to_bits().wrapping_add(0x1000) & !0x1FFF);
        let wanted = if a.is_finite() { nearest } else { a };
        let same =
            wanted.to_bits() >> 13 == found.to_bits() >> 13 || (wanted.is_nan() && found.is_nan());
        if same {
            Ok(())
        } else {
            Err(format!("{wanted:e}"))
        }
    })];
    check_rows("hints_sm80", "rounding", &Inputs::floats32(), &rows);
}

#[test]
fn moves_of_128_bits() {
    let values: Vec<u64> = (0..64).map(|i| i * 0x0101_0101_0101_0101).collect();
    let mut device = Device::load("hints_sm80");
    let (from, out) = (device.upload(&values), device.zeros::<u64>(64));
    device.launch("moves", 1, 32, &[from.into(), out.into()]);
    let wanted: Vec<u64> = values
        .chunks(2)
        .flat_map(|pair| [pair[1], pair[0]])
        .collect();
    assert_eq!(device.download::<u64>(out, 64), wanted);
}
