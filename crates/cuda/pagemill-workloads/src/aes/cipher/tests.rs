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
