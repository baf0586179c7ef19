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
                state = multiply_columns(state);
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

fn multiply_columns(state: Block) -> Block {
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
mod tests;
