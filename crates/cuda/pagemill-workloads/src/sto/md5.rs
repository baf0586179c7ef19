//! MD5 as RFC 1321 describes it.

use std::num::Wrapping;

const BLOCK_BYTES: usize = 64;
const INITIAL: [u32; 4] = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476];
const ROTATIONS: [[u32; 4]; 4] = [
    [7, 12, 17, 22],
    [5, 9, 14, 20],
    [4, 11, 16, 23],
    [6, 10, 15, 21],
];

#[rustfmt::skip]
const SINES: [u32; 64] = [
    0xd76a_a478, 0xe8c7_b756, 0x2420_70db, 0xc1bd_ceee, 0xf57c_0faf, 0x4787_c62a, 0xa830_4613, 0xfd46_9501,
    0x6980_98d8, 0x8b44_f7af, 0xffff_5bb1, 0x895c_d7be, 0x6b90_1122, 0xfd98_7193, 0xa679_438e, 0x49b4_0821,
    0xf61e_2562, 0xc040_b340, 0x265e_5a51, 0xe9b6_c7aa, 0xd62f_105d, 0x0244_1453, 0xd8a1_e681, 0xe7d3_fbc8,
    0x21e1_cde6, 0xc337_07d6, 0xf4d5_0d87, 0x455a_14ed, 0xa9e3_e905, 0xfcef_a3f8, 0x676f_02d9, 0x8d2a_4c8a,
    0xfffa_3942, 0x8771_f681, 0x6d9d_6122, 0xfde5_380c, 0xa4be_ea44, 0x4bde_cfa9, 0xf6bb_4b60, 0xbebf_bc70,
    0x289b_7ec6, 0xeaa1_27fa, 0xd4ef_3085, 0x0488_1d05, 0xd9d4_d039, 0xe6db_99e5, 0x1fa2_7cf8, 0xc4ac_5665,
    0xf429_2244, 0x432a_ff97, 0xab94_23a7, 0xfc93_a039, 0x655b_59c3, 0x8f0c_cc92, 0xffef_f47d, 0x8584_5dd1,
    0x6fa8_7e4f, 0xfe2c_e6e0, 0xa301_4314, 0x4e08_11a1, 0xf753_7e82, 0xbd3a_f235, 0x2ad7_d2bb, 0xeb86_d391,
];

/// The digest of a message.
pub(super) fn digest(message: &[u8]) -> [u8; 16] {
    let (blocks, rest) = message.as_chunks::<BLOCK_BYTES>();
    let state = blocks.iter().fold(INITIAL, absorb);

    let mut end = [0; 2 * BLOCK_BYTES];
    end[..rest.len()].copy_from_slice(rest);
    end[rest.len()] = 0x80;
    let blocks = if rest.len() + 1 + 8 <= BLOCK_BYTES {
        1
    } else {
        2
    };
    let bits = message.len() as u64 * 8;
    end[blocks * BLOCK_BYTES - 8..][..8].copy_from_slice(&bits.to_le_bytes());
    let (end, _) = end.as_chunks::<BLOCK_BYTES>();
    let state = end[..blocks].iter().fold(state, absorb);

    let mut digest = [0; 16];
    for (bytes, word) in digest.as_chunks_mut::<4>().0.iter_mut().zip(state) {
        *bytes = word.to_le_bytes();
    }
    digest
}

fn absorb(state: [u32; 4], block: &[u8; BLOCK_BYTES]) -> [u32; 4] {
    let words = block.as_chunks::<4>().0;
    let mut registers = state.map(Wrapping);
    for step in 0..64 {
        let [a, b, c, d] = registers;
        let round = step / 16;
        let (mixed, word) = match round {
            0 => ((b & c) | (!b & d), step),
            1 => ((b & d) | (c & !d), 5 * step + 1),
            2 => (b ^ c ^ d, 3 * step + 5),
            _ => (c ^ (b | !d), 7 * step),
        };
        let word = Wrapping(u32::from_le_bytes(words[word % 16]));
        let sum = a + mixed + word + Wrapping(SINES[step]);
        let turned = Wrapping(sum.0.rotate_left(ROTATIONS[round][step % 4]));
        registers = [d, b + turned, b, c];
    }
    std::array::from_fn(|i| state[i].wrapping_add(registers[i].0))
}

#[cfg(test)]
mod tests;
