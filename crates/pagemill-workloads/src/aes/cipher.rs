//! AES-128 as FIPS 197 writes it: bytes in, bytes out, no tables but the S-box, which is computed from its definition.

const ROUNDS: usize = 10;

/// Size of the expanded key: one block for the start and one for each round.
pub(super) const ROUND_KEY_BYTES: usize = 16 * (ROUNDS + 1);

/// A 4 x 4 byte state, column after column.
type Block = [u8; 16];

pub(super) struct Aes128 {
    sbox: [u8; 256],
    round_keys: [Block; ROUNDS + 1],
}

impl Aes128 {
    pub(super) fn new(key: Block) -> Self {
        let sbox = sbox();
        let round_keys = expand(key, &sbox);
        Self { sbox, round_keys }
    }

    pub(super) fn round_keys(&self) -> &[Block; ROUNDS + 1] {
        &self.round_keys
    }

    pub(super) fn encrypt(&self, plain: Block) -> Block {
        let mut state = xor(plain, self.round_keys[0]);
        for round in 1..=ROUNDS {
            state = shift_rows(state.map(|byte| self.sbox[usize::from(byte)]));
            if round < ROUNDS {
                state = mix_columns(state);
            }
            state = xor(state, self.round_keys[round]);
        }
        state
    }
}

fn xor(a: Block, b: Block) -> Block {
    std::array::from_fn(|i| a[i] ^ b[i])
}

/// Row `r` moves left by `r` columns.
fn shift_rows(state: Block) -> Block {
    std::array::from_fn(|i| state[(i + 4 * (i % 4)) % 16])
}

fn mix_columns(state: Block) -> Block {
    std::array::from_fn(|i| {
        let column = &state[i - i % 4..][..4];
        let byte = |down: usize| column[(i + down) % 4];
        double(byte(0)) ^ double(byte(1)) ^ byte(1) ^ byte(2) ^ byte(3)
    })
}

/// Product with x in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1.
fn double(a: u8) -> u8 {
    (a << 1) ^ if a & 0x80 != 0 { 0x1b } else { 0 }
}

/// Product in the same field.
fn multiply(a: u8, b: u8) -> u8 {
    (0..8).rev().fold(0, |product, bit| {
        double(product) ^ if b >> bit & 1 != 0 { a } else { 0 }
    })
}

/// The multiplicative inverse, 0 for 0: the field has 255 non-zero elements, so `a^254` is the inverse of `a`.
fn inverse(a: u8) -> u8 {
    (1..254).fold(a, |power, _| multiply(power, a))
}

fn sbox() -> [u8; 256] {
    std::array::from_fn(|byte| {
        let b = inverse(byte as u8);
        0x63 ^ b ^ b.rotate_left(1) ^ b.rotate_left(2) ^ b.rotate_left(3) ^ b.rotate_left(4)
    })
}

fn expand(key: Block, sbox: &[u8; 256]) -> [Block; ROUNDS + 1] {
    let mut keys = [key; ROUNDS + 1];
    let mut round_constant = 1;
    for round in 1..=ROUNDS {
        let before = keys[round - 1];
        let mut word: [u8; 4] =
            std::array::from_fn(|i| sbox[usize::from(before[12 + (i + 1) % 4])]);
        word[0] ^= round_constant;
        round_constant = double(round_constant);
        for i in 0..16 {
            word[i % 4] ^= before[i];
            keys[round][i] = word[i % 4];
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTING_KEY: Block = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

    #[test]
    fn fips_197_appendix_c1() {
        let plain = std::array::from_fn(|i| 0x11 * i as u8);
        let expected = 0x69c4_e0d8_6a7b_0430_d8cd_b780_70b4_c55a_u128;
        assert_eq!(
            Aes128::new(COUNTING_KEY).encrypt(plain),
            expected.to_be_bytes()
        );
    }

    #[test]
    fn fips_197_appendix_b() {
        let key = 0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c_u128.to_be_bytes();
        let plain = 0x3243_f6a8_885a_308d_3131_98a2_e037_0734_u128.to_be_bytes();
        let expected = 0x3925_841d_02dc_09fb_dc11_8597_196a_0b32_u128;
        assert_eq!(Aes128::new(key).encrypt(plain), expected.to_be_bytes());
    }

    #[test]
    fn fips_197_last_round_key() {
        let key = 0x2b7e_1516_28ae_d2a6_abf7_1588_09cf_4f3c_u128.to_be_bytes();
        let expected = 0xd014_f9a8_c9ee_2589_e13f_0cc8_b663_0ca6_u128;
        assert_eq!(Aes128::new(key).round_keys()[10], expected.to_be_bytes());
    }

    #[test]
    fn the_sbox_is_a_permutation_without_fixed_points() {
        let sbox = sbox();
        let mut sorted = sbox;
        sorted.sort_unstable();
        assert!(
            sorted
                .iter()
                .enumerate()
                .all(|(i, &value)| i == usize::from(value))
        );
        assert!(
            sbox.iter()
                .enumerate()
                .all(|(i, &value)| i != usize::from(value))
        );
        assert_eq!(
            [sbox[0x00], sbox[0x01], sbox[0x53], sbox[0xff]],
            [0x63, 0x7c, 0xed, 0x16]
        );
    }
}
