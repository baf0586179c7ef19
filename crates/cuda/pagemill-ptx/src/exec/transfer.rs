//! Moving lanes between registers and a run of bytes.

use super::pattern::Pattern;
use pagemill_ptx_ir::code::{MemoryInst, SINK};
use pagemill_ptx_ir::line::{FULL, Frame, LANE_BITS, LANES, Line, lanes_of};

/// The `N` bytes at `at`; the caller has checked that they are inside.
#[inline(always)]
fn read<const N: usize>(data: &[u8], at: usize) -> [u8; N] {
    data[at..at + N]
        .try_into()
        .expect("a slice of N bytes is an array of N bytes")
}

macro_rules! word_lines {
    ($read:ident, $write:ident, $set:ident, $word:ty, $bytes:literal) => {
        /// Loads one word a lane into register `slot`. Each pattern stores by itself, so that nothing goes through the stack.
        #[inline(always)]
        fn $read(
            frame: &mut Frame<'_>,
            slot: u16,
            mask: u32,
            data: &[u8],
            pattern: Pattern,
            offsets: &Line<u64>,
        ) {
            match pattern {
                Pattern::Block { start } => {
                    let mut out = [0; LANES];
                    let block = &data[start..start + $bytes * LANES];
                    for (word, bytes) in out.iter_mut().zip(block.as_chunks::<$bytes>().0) {
                        *word = <$word>::from_le_bytes(*bytes);
                    }
                    frame.$set(slot, mask, out);
                }
                Pattern::Broadcast { at } => {
                    frame.$set(slot, mask, [<$word>::from_le_bytes(read(data, at)); LANES]);
                }
                Pattern::Scattered => {
                    let mut out = [0; LANES];
                    for (word, &offset) in out.iter_mut().zip(&offsets.0) {
                        *word = <$word>::from_le_bytes(read(data, offset as usize));
                    }
                    frame.$set(slot, mask, out);
                }
            }
        }

        #[inline(always)]
        fn $write(
            data: &mut [u8],
            pattern: Pattern,
            offsets: &Line<u64>,
            mask: u32,
            words: &[$word; LANES],
        ) {
            match pattern {
                Pattern::Block { start } if mask == FULL => {
                    let block = &mut data[start..start + $bytes * LANES];
                    for (bytes, word) in block.as_chunks_mut::<$bytes>().0.iter_mut().zip(words) {
                        *bytes = word.to_le_bytes();
                    }
                }
                // Lanes that take no part get back what was there: faster than 32 decisions.
                Pattern::Block { start } => {
                    let block = &mut data[start..start + $bytes * LANES];
                    for (lane, bytes) in block.as_chunks_mut::<$bytes>().0.iter_mut().enumerate() {
                        let keep = if mask & LANE_BITS[lane] != 0 {
                            0
                        } else {
                            <$word>::MAX
                        };
                        let old = <$word>::from_le_bytes(*bytes);
                        *bytes = ((old & keep) | (words[lane] & !keep)).to_le_bytes();
                    }
                }
                Pattern::Broadcast { at } => {
                    let last =
                        (LANES as u32 - 1 - mask.leading_zeros().min(LANES as u32 - 1)) as usize;
                    data[at..at + $bytes].copy_from_slice(&words[last].to_le_bytes());
                }
                Pattern::Scattered => {
                    for lane in lanes_of(mask) {
                        let at = offsets[lane] as usize;
                        data[at..at + $bytes].copy_from_slice(&words[lane].to_le_bytes());
                    }
                }
            }
        }
    };
}

word_lines!(load_narrow, store_narrow, set_narrow, u32, 4);
word_lines!(load_wide, store_wide, set_wide, u64, 8);

#[inline(always)]
pub(crate) fn load(
    frame: &mut Frame<'_>,
    inst: &MemoryInst,
    mask: u32,
    data: &[u8],
    pattern: Pattern,
    offsets: &Line<u64>,
) {
    match (inst.element_bytes, inst.wide, inst.count) {
        (4, false, 1) if inst.registers[0] != SINK => {
            load_narrow(frame, inst.registers[0], mask, data, pattern, offsets);
        }
        (8, true, 1) if inst.registers[0] != SINK => {
            load_wide(frame, inst.registers[0], mask, data, pattern, offsets);
        }
        _ => load_any(frame, inst, mask, data, pattern, offsets),
    }
}

#[inline(always)]
pub(crate) fn store(
    frame: &Frame<'_>,
    inst: &MemoryInst,
    mask: u32,
    data: &mut [u8],
    pattern: Pattern,
    offsets: &Line<u64>,
) {
    match (inst.element_bytes, inst.wide, inst.count) {
        (4, false, 1) => store_narrow(
            data,
            pattern,
            offsets,
            mask,
            frame.narrow(inst.registers[0]),
        ),
        (8, true, 1) => store_wide(data, pattern, offsets, mask, frame.wide(inst.registers[0])),
        _ => store_any(frame, inst, mask, data, pattern, offsets),
    }
}

fn place(pattern: Pattern, offsets: &Line<u64>, lane: usize, lane_bytes: usize) -> usize {
    match pattern {
        Pattern::Block { start } => start + lane * lane_bytes,
        Pattern::Broadcast { at } => at,
        Pattern::Scattered => offsets[lane] as usize,
    }
}

#[inline(never)]
fn load_any(
    frame: &mut Frame<'_>,
    inst: &MemoryInst,
    mask: u32,
    data: &[u8],
    pattern: Pattern,
    offsets: &Line<u64>,
) {
    let lane_bytes = inst.lane_bytes() as usize;
    let places: [usize; LANES] =
        std::array::from_fn(|lane| place(pattern, offsets, lane, lane_bytes));
    let registers = &inst.registers[..usize::from(inst.count)];
    for (index, &register) in registers
        .iter()
        .enumerate()
        .filter(|(_, register)| **register != SINK)
    {
        let at = |lane: usize| places[lane] + index * usize::from(inst.element_bytes);
        // Inactive lanes read whatever is at their place, which is inside, and are not stored.
        let raw: [u64; LANES] = match inst.element_bytes {
            1 => std::array::from_fn(|lane| u64::from(data[at(lane)])),
            2 => std::array::from_fn(|lane| u64::from(u16::from_le_bytes(read(data, at(lane))))),
            4 => std::array::from_fn(|lane| u64::from(u32::from_le_bytes(read(data, at(lane))))),
            _ => std::array::from_fn(|lane| u64::from_le_bytes(read(data, at(lane)))),
        };
        let values = raw.map(|raw| extend(raw, inst.element_bytes, inst.signed));
        if inst.wide {
            frame.set_wide(register, mask, values);
        } else {
            frame.set_narrow(register, mask, values.map(|value| value as u32));
        }
    }
}

#[inline(never)]
fn store_any(
    frame: &Frame<'_>,
    inst: &MemoryInst,
    mask: u32,
    data: &mut [u8],
    pattern: Pattern,
    offsets: &Line<u64>,
) {
    let lane_bytes = inst.lane_bytes() as usize;
    let width = usize::from(inst.element_bytes);
    for (index, &register) in inst.registers[..usize::from(inst.count)].iter().enumerate() {
        for lane in lanes_of(mask) {
            let at = place(pattern, offsets, lane, lane_bytes) + index * width;
            let value = value_of(frame, inst, register, lane);
            data[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
        }
    }
}

fn value_of(frame: &Frame<'_>, inst: &MemoryInst, register: u16, lane: usize) -> u64 {
    match inst.wide {
        true => frame.wide(register)[lane],
        false => u64::from(frame.narrow(register)[lane]),
    }
}

/// Spreads one lane's bytes over the destination registers.
pub(crate) fn load_lane(frame: &mut Frame<'_>, inst: &MemoryInst, lane: usize, bytes: &[u8]) {
    let elements = bytes.chunks_exact(usize::from(inst.element_bytes));
    for (element, &register) in elements.zip(&inst.registers) {
        if register == SINK {
            continue;
        }
        let value = extend(little_endian(element), inst.element_bytes, inst.signed);
        let slot = usize::from(register);
        if inst.wide {
            frame.wide[slot].0[lane] = value;
        } else {
            frame.narrow[slot].0[lane] = value as u32;
        }
    }
}

/// Gathers one lane's bytes from the source registers.
pub(crate) fn store_lane(frame: &Frame<'_>, inst: &MemoryInst, lane: usize, bytes: &mut [u8]) {
    let width = usize::from(inst.element_bytes);
    for (element, &register) in bytes.chunks_exact_mut(width).zip(&inst.registers) {
        let value = value_of(frame, inst, register, lane);
        element.copy_from_slice(&value.to_le_bytes()[..width]);
    }
}

pub(crate) fn little_endian(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// Widens the low `bytes` bytes of `value` to 64 bits.
pub(crate) fn extend(value: u64, bytes: u8, signed: bool) -> u64 {
    let spare = 64 - 8 * u32::from(bytes.clamp(1, 8));
    if signed {
        ((value << spare) as i64 >> spare) as u64
    } else {
        value << spare >> spare
    }
}
