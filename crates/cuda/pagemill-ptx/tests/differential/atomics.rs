//! Atomics and reductions: every operation and type, in every space, with every scope and order that it may name.
//!
//! The lanes of a warp act one after the other, the lowest first, so that a model may say what each of them gets.

use super::exact::{BF16, F16, F32, F64, Format, Rounding, add};
use super::run::{Random, launch, load};

/// Threads of the block, one warp of them because warps have no order, and the cells that they share.
const THREADS: usize = 32;
const CELLS: usize = 4;

/// What one atomic does: old value and operands to new value.
type Step = Box<dyn Fn(u64, u64, u64) -> u64>;

fn sum(format: Format) -> impl Fn(u64, u64) -> u64 {
    move |old, a| {
        let mask = u64::MAX >> (64 - format.bits());
        let (old, a) = (format.read(old & mask), format.read(a & mask));
        format.round(&add(&old, &a, Rounding::Nearest), Rounding::Nearest)
    }
}

fn in_halves(one: impl Fn(u64, u64) -> u64) -> impl Fn(u64, u64) -> u64 {
    move |old, a| one(old & 0xffff, a & 0xffff) | one(old >> 16 & 0xffff, a >> 16 & 0xffff) << 16
}

fn two(step: impl Fn(u64, u64) -> u64 + 'static) -> Step {
    Box::new(move |old, a, _| step(old, a))
}

/// Every operation with its type, the bits of its cell, and what it does.
fn operations() -> Vec<(&'static str, &'static str, u32, Step)> {
    let low = |step: fn(u32, u32) -> u32| two(move |old, a| step(old as u32, a as u32).into());
    let signed =
        |pick: fn(i32, i32) -> i32| two(move |old, a| pick(old as i32, a as i32) as u32 as u64);
    let signed64 = |pick: fn(i64, i64) -> i64| two(move |old, a| pick(old as i64, a as i64) as u64);
    vec![
        ("and", "b32", 32, two(|old, a| old & a)),
        ("and", "b64", 64, two(|old, a| old & a)),
        ("or", "b32", 32, two(|old, a| old | a)),
        ("or", "b64", 64, two(|old, a| old | a)),
        ("xor", "b32", 32, two(|old, a| old ^ a)),
        ("xor", "b64", 64, two(|old, a| old ^ a)),
        ("exch", "b32", 32, two(|_, a| a)),
        ("exch", "b64", 64, two(|_, a| a)),
        (
            "cas",
            "b16",
            16,
            Box::new(|old, a, b| if old == a { b } else { old }),
        ),
        (
            "cas",
            "b32",
            32,
            Box::new(|old, a, b| if old == a { b } else { old }),
        ),
        (
            "cas",
            "b64",
            64,
            Box::new(|old, a, b| if old == a { b } else { old }),
        ),
        ("add", "u32", 32, low(u32::wrapping_add)),
        ("add", "s32", 32, low(u32::wrapping_add)),
        ("add", "u64", 64, two(u64::wrapping_add)),
        ("add", "f32", 32, two(sum(F32))),
        ("add", "f64", 64, two(sum(F64))),
        ("add", "noftz.f16", 16, two(sum(F16))),
        ("add", "noftz.bf16", 16, two(sum(BF16))),
        ("add", "noftz.f16x2", 32, two(in_halves(sum(F16)))),
        ("add", "noftz.bf16x2", 32, two(in_halves(sum(BF16)))),
        (
            "inc",
            "u32",
            32,
            low(|old, a| if old >= a { 0 } else { old + 1 }),
        ),
        (
            "dec",
            "u32",
            32,
            low(|old, a| if old == 0 || old > a { a } else { old - 1 }),
        ),
        ("min", "u32", 32, low(u32::min)),
        ("max", "u32", 32, low(u32::max)),
        ("min", "s32", 32, signed(i32::min)),
        ("max", "s32", 32, signed(i32::max)),
        ("min", "u64", 64, two(u64::min)),
        ("max", "u64", 64, two(u64::max)),
        ("min", "s64", 64, signed64(i64::min)),
        ("max", "s64", 64, signed64(i64::max)),
    ]
}

/// Where the cells are: the space as instructions name it, whether they are in shared memory, and whether the address is generic.
const SPACES: [(&str, bool, bool); 4] = [
    (".global", false, false),
    ("", false, true),
    (".shared", true, false),
    ("", true, true),
];

const ORDERS: [&str; 6] = [
    "",
    ".relaxed.gpu",
    ".acquire.cta",
    ".release.sys",
    ".acq_rel.gpu",
    ".relaxed.cta",
];

/// Thread i reads two operands at 24 i behind the cells, uses cell i mod 4, and leaves the old value behind its operands.
fn kernel(
    operation: &str,
    ty: &str,
    bits: u32,
    space: (&str, bool, bool),
    order: &str,
    returns: bool,
) -> String {
    let (register, load_type) = match bits {
        16 => ("%h", "u16"),
        32 => ("%r", "u32"),
        _ => ("%d", "u64"),
    };
    let (text, shared, generic) = space;
    let address = match (shared, generic) {
        (false, false) => "mov.u64 %a5, %a3;",
        (false, true) => "mov.u64 %a5, %a3;",
        (true, false) => "mov.u64 %a5, cells; add.u64 %a5, %a5, %a4;",
        (true, true) => "mov.u64 %a5, cells; add.u64 %a5, %a5, %a4; cvta.shared.u64 %a5, %a5;",
    };
    let second = if operation == "cas" {
        format!(", {register}3")
    } else {
        String::new()
    };
    let instruction = match returns {
        true => {
            format!("atom{order}{text}.{operation}.{ty} {register}4, [%a5], {register}2{second};")
        }
        false => format!(
            "red{order}{text}.{operation}.{ty} [%a5], {register}2;\nmov.b{bits} {register}4, 0;"
        ),
    };
    let (copy_in, copy_out) = match shared {
        true => (
            "mov.u64 %a6, cells; add.u64 %a6, %a6, %a4; ld.global.u64 %a7, [%a3]; st.shared.u64 [%a6], %a7; bar.sync 0;",
            "bar.sync 0; ld.shared.u64 %a7, [%a6]; st.global.u64 [%a3], %a7;",
        ),
        false => ("", ""),
    };
    format!(
        ".visible .entry k(.param .u64 p) {{\n.reg .b16 %h<8>; .reg .b32 %r<8>; .reg .b64 %d<9>; .reg .b64 %a<9>;\n.shared .align 8 .b8 cells[32];\n\
         ld.param.u64 %a1, [p];\nmov.u32 %r1, %tid.x;\nand.b32 %r5, %r1, 3;\nmul.wide.u32 %a4, %r5, 8;\nadd.u64 %a3, %a1, %a4;\n\
         mul.wide.u32 %a8, %r1, 24;\nadd.u64 %a8, %a1, %a8;\n{copy_in}\n\
         ld.global.{load_type} {register}2, [%a8+32];\nld.global.{load_type} {register}3, [%a8+40];\n{address}\n{instruction}\n\
         st.global.{load_type} [%a8+48], {register}4;\n{copy_out}\nret;\n}}\n"
    )
}

/// Small numbers often, so that comparisons and bounds are met.
fn operand(ty: &str, random: &mut Random) -> u64 {
    let (choice, bits) = (random.next(), random.next());
    match (ty, choice % 3) {
        ("f32", 0) => u64::from((bits as i32 as f32 / 1e6).to_bits()),
        ("f64", 0) => (bits as i64 as f64 / 1e9).to_bits(),
        (_, 0) => bits % 7,
        (_, 1) => bits & 0x3fff_ffff_3fff_3fff,
        _ => bits,
    }
}

fn is_same(ty: &str, found: u64, wanted: u64) -> bool {
    let nan = |format: Format, shift: u32| {
        let mask = u64::MAX >> (64 - format.bits());
        let parts = [found, wanted].map(|bits| bits >> shift & mask);
        parts[0] == parts[1] || parts.iter().all(|&bits| format.is_nan(bits))
    };
    match ty {
        "f32" => nan(F32, 0),
        "f64" => nan(F64, 0),
        "noftz.f16" => nan(F16, 0),
        "noftz.bf16" => nan(BF16, 0),
        "noftz.f16x2" => nan(F16, 0) && nan(F16, 16),
        "noftz.bf16x2" => nan(BF16, 0) && nan(BF16, 16),
        _ => found == wanted,
    }
}

fn check(text: &str, (ty, bits, step): (&str, u32, &Step), returns: bool, random: &mut Random) {
    let mask = u64::MAX >> (64 - bits);
    let mut words = vec![0u64; CELLS + 3 * THREADS];
    for word in &mut words[..CELLS] {
        *word = operand(ty, random) & mask;
    }
    for thread in 0..THREADS {
        words[CELLS + 3 * thread] = operand(ty, random) & mask;
        words[CELLS + 3 * thread + 1] = operand(ty, random) & mask;
    }
    let mut wanted = words.clone();
    for thread in 0..THREADS {
        let place = CELLS + 3 * thread;
        let old = wanted[thread % CELLS];
        wanted[thread % CELLS] = step(old, wanted[place], wanted[place + 1]) & mask;
        wanted[place + 2] = if returns { old } else { 0 };
    }
    launch(&load(text), "k", (1, THREADS as u32), &mut words);
    for (at, (found, wanted)) in words.iter().zip(&wanted).enumerate() {
        assert!(
            is_same(ty, *found, *wanted),
            "word {at}: {found:#x}, the model says {wanted:#x}\n{text}"
        );
    }
}

#[test]
fn atomics_of_all_types_in_all_spaces() {
    let mut random = Random(23);
    let (mut forms, mut turn) = (0, 0);
    for (operation, ty, bits, step) in operations() {
        for space in SPACES {
            for returns in [true, false] {
                if !returns && matches!(operation, "cas" | "exch") {
                    continue;
                }
                // Orders change nothing here: each form meets two of them.
                for _ in 0..2 {
                    turn += 1;
                    let order = ORDERS[turn % ORDERS.len()];
                    let order = if !returns && order.contains("acq") {
                        ""
                    } else {
                        order
                    };
                    let text = kernel(operation, ty, bits, space, order, returns);
                    check(&text, (ty, bits, &step), returns, &mut random);
                    forms += 1;
                }
            }
        }
    }
    assert_eq!(forms, 2 * 4 * (30 + 25));
}

/// Thread i exchanges or compares 16 bytes at the cells with its operands at 48 (i + 1), and leaves the old ones behind them.
fn wide_kernel(operation: &str, (text, shared, generic): (&str, bool, bool)) -> String {
    let second = if operation == "cas" { ", %q2" } else { "" };
    let (copy_in, copy_out) = match shared {
        true => (
            "mov.u64 %a3, cells; ld.global.b128 %q0, [%a1]; st.shared.b128 [%a3], %q0; bar.sync 0;",
            "bar.sync 0; mov.u64 %a3, cells; ld.shared.b128 %q0, [%a3]; st.global.b128 [%a1], %q0;",
        ),
        false => ("mov.u64 %a3, %a1;", ""),
    };
    let convert = if shared && generic {
        "cvta.shared.u64 %a3, %a3;"
    } else {
        ""
    };
    format!(
        ".visible .entry k(.param .u64 p) {{\n.reg .b128 %q<4>; .reg .b32 %r<2>; .reg .b64 %a<5>;\n.shared .align 16 .b8 cells[16];\n\
         ld.param.u64 %a1, [p];\nmov.u32 %r1, %tid.x;\nmad.wide.u32 %a2, %r1, 48, %a1;\n{copy_in}\n{convert}\n\
         ld.global.b128 %q1, [%a2+48];\nld.global.b128 %q2, [%a2+64];\n\
         atom{text}.{operation}.b128 %q3, [%a3], %q1{second};\nst.global.b128 [%a2+80], %q3;\n{copy_out}\nret;\n}}\n"
    )
}

#[test]
fn atomics_of_16_bytes() {
    let mut random = Random(29);
    for operation in ["exch", "cas"] {
        for space in SPACES {
            // Two values each, so that every other comparison holds.
            let mut words: Vec<u64> = (0..6 * (THREADS + 1)).map(|_| random.next() % 2).collect();
            let mut wanted = words.clone();
            let mut old = [words[0], words[1]];
            for place in (1..=THREADS).map(|thread| 6 * thread) {
                let [a, b] = [0, 2].map(|at| [words[place + at], words[place + at + 1]]);
                wanted[place + 4..place + 6].copy_from_slice(&old);
                old = match operation {
                    "cas" if old == a => b,
                    "cas" => old,
                    _ => a,
                };
            }
            wanted[..2].copy_from_slice(&old);
            let text = wide_kernel(operation, space);
            launch(&load(&text), "k", (1, THREADS as u32), &mut words);
            assert_eq!(words, wanted, "{text}");
        }
    }
}
