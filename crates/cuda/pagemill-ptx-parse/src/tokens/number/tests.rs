use super::*;

#[test]
fn every_notation() {
    let ok = |text, token, length| assert_eq!(scan(text), Ok((token, length)), "{text}");
    ok("0;", Token::Integer(0), 1);
    ok("123U)", Token::Integer(123), 4);
    ok("0x7fU", Token::Integer(0x7f), 5);
    ok("017 ", Token::Integer(15), 3);
    ok("0b101", Token::Integer(5), 5);
    ok("18446744073709551615", Token::Integer(u64::MAX), 20);
    ok("0f3F800000,", Token::Float32(0x3f80_0000), 10);
    ok("0d3ff0000000000000", Token::Float64(1f64.to_bits()), 18);
    ok("1.5e3;", Token::Float64(1500f64.to_bits()), 5);
    ok("2.;", Token::Float64(2f64.to_bits()), 2);
    ok("1e-2", Token::Float64(0.01f64.to_bits()), 4);
}

#[test]
fn malformed_literals_are_refused() {
    for text in [
        "0f3F8",
        "0d12",
        "0x",
        "0xg",
        "18446744073709551616",
        "09",
        "12ab",
        "1e",
        "5UU",
        "0b12",
    ] {
        assert!(scan(text).is_err(), "{text}");
    }
}
