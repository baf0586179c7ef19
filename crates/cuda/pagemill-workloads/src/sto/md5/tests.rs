use super::*;

fn hex(message: &str) -> String {
    digest(message.as_bytes())
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[test]
fn the_test_suite_of_rfc_1321() {
    let digits = "1234567890".repeat(8);
    for (message, expected) in [
        ("", "d41d8cd98f00b204e9800998ecf8427e"),
        ("a", "0cc175b9c0f1b6a831c399e269772661"),
        ("abc", "900150983cd24fb0d6963f7d28e17f72"),
        ("message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
        (
            "abcdefghijklmnopqrstuvwxyz",
            "c3fcd3d76192e4007dfb496cca67e13b",
        ),
        (
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
            "d174ab98d277d9f5a5611c2c9f419d9f",
        ),
        (digits.as_str(), "57edf4a22be3c955ac49da2e2107b67a"),
    ] {
        assert_eq!(hex(message), expected, "{message:?}");
    }
}

#[test]
fn the_constants_are_the_sines_the_rfc_names() {
    for (index, &constant) in (1..).zip(&SINES) {
        assert_eq!(
            constant,
            (f64::from(index).sin().abs() * 2f64.powi(32)) as u32
        );
    }
}
