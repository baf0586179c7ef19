use super::*;

fn value(text: &str) -> Option<i64> {
    Parser::new(text)
        .ok()?
        .integer_constant()
        .ok()
        .map(|value| value as i64)
}

#[test]
fn precedence_and_operators() {
    assert_eq!(value("1 + 2 * 3"), Some(7));
    assert_eq!(value("(1 + 2) * 3"), Some(9));
    assert_eq!(value("10 - 4 - 3"), Some(3));
    assert_eq!(value("1 << 4 | 3"), Some(19));
    assert_eq!(value("-7 / 2"), Some(-3));
    assert_eq!(value("-7 % 2"), Some(-1));
    assert_eq!(value("-8 >> 1"), Some(-4));
    assert_eq!(value("(.u64)-8 >> 60"), Some(15));
    assert_eq!(value("1 < 2 ? 5 : 6"), Some(5));
    assert_eq!(value("!3 || ~0 == -1"), Some(1));
    assert_eq!(value("WARP_SZ * 2"), Some(64));
}

#[test]
fn refused() {
    for text in ["1 / 0", "5 % 0", "1.0 + 2", "~1.0", "", "(1", "1 ? 2"] {
        assert_eq!(value(text), None, "{text}");
    }
    assert_eq!(value(&"(".repeat(100_000)), None);
    assert_eq!(value(&"-".repeat(100_000)), None);
    assert_eq!(value(&format!("{}1", "1?1:".repeat(100_000))), None);
}
