use super::*;
use proptest::prelude::*;

#[test]
fn decimal_units_are_exact() {
    let cases = [
        (Dimension::Bytes, "2 MiB", 2 << 20),
        (Dimension::Bytes, "128B", 128),
        (Dimension::Bytes, "1536 MB", 1_536_000_000),
        (Dimension::Bytes, "1.5 KiB", 1536),
        (Dimension::Bytes, "1_048_576 B", 1 << 20),
        (Dimension::Bandwidth, "16 GB/s", 16_000_000_000),
        (Dimension::Bandwidth, "0.1 GB/s", 100_000_000),
        (Dimension::Frequency, "1.4 GHz", 1_400_000_000),
        (Dimension::Frequency, "924 MHz", 924_000_000),
        (Dimension::Time, "600 ns", 600_000),
        (Dimension::Time, "1 us", 1_000_000),
        (Dimension::Time, "0.001 µs", 1_000),
        (Dimension::Cycles, "24 cycles", 24),
        (Dimension::Cycles, " 1 cycle ", 1),
        (Dimension::Bytes, "18446744073709551615 B", u64::MAX),
    ];
    for (dimension, text, amount) in cases {
        assert_eq!(dimension.parse(text), Ok(amount), "{text}");
    }
}

#[test]
fn what_is_no_quantity_is_refused_with_its_reason() {
    use Dimension::{Bandwidth, Bytes, Frequency, Time};
    let cases = [
        (Bytes, "", QuantityError::NoNumber(Bytes)),
        (Bytes, "-1 B", QuantityError::NoNumber(Bytes)),
        (Bytes, "MiB", QuantityError::NoNumber(Bytes)),
        (Bytes, "1__0 B", QuantityError::NoNumber(Bytes)),
        (Bytes, "1..0 B", QuantityError::NoNumber(Bytes)),
        (Bytes, ".5 MiB", QuantityError::NoNumber(Bytes)),
        (Bytes, "16", QuantityError::NoUnit(Bytes)),
        (
            Bandwidth,
            "16 GB",
            QuantityError::UnknownUnit(Bandwidth, "GB".into()),
        ),
        (
            Frequency,
            "1e9 Hz",
            QuantityError::UnknownUnit(Frequency, "e9 Hz".into()),
        ),
        (Bytes, "0.5 B", QuantityError::Fraction(Bytes)),
        (Time, "0.0001 ns", QuantityError::Fraction(Time)),
        (
            Bytes,
            "18446744073709551616 B",
            QuantityError::TooLarge(Bytes),
        ),
        (Bytes, "99999999 TiB", QuantityError::TooLarge(Bytes)),
    ];
    for (dimension, text, error) in cases {
        assert_eq!(dimension.parse(text), Err(error), "{text:?}");
    }
}

#[test]
fn the_unit_says_the_dimension() {
    let quantity = |dimension, amount| Some(Quantity { dimension, amount });
    assert_eq!(
        parse_any("16 GB/s"),
        quantity(Dimension::Bandwidth, 16_000_000_000)
    );
    assert_eq!(
        parse_any("2 s"),
        quantity(Dimension::Time, 2_000_000_000_000)
    );
    assert_eq!(parse_any("whole-page"), None);
    assert_eq!(parse_any("3"), None);
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in "\\PC*") {
        for dimension in Dimension::ALL {
            let _ = dimension.parse(&text);
        }
    }

    #[test]
    fn a_whole_number_of_any_unit_is_that_many_base_units(n in 0_u64..1 << 20) {
        for dimension in Dimension::ALL {
            for (unit, factor) in dimension.units() {
                prop_assert_eq!(dimension.parse(&format!("{n} {unit}")).ok(), n.checked_mul(*factor));
            }
        }
    }

    #[test]
    fn three_decimals_of_a_kilo_unit_are_base_units(n in 0_u64..1_000_000_000) {
        let text = format!("{}.{:03} kB", n / 1000, n % 1000);
        prop_assert_eq!(Dimension::Bytes.parse(&text), Ok(n));
    }
}
