use super::*;
use crate::document::{SourceText, parse_argument};
use proptest::prelude::*;

fn values(text: &str) -> Result<Values, Problem> {
    Values::read("a.b", &parse_argument(&SourceText::argument(text), 0))
}

fn at(text: &str, place: f64) -> String {
    values(text).expect("values").at(place)
}

#[test]
fn the_ends_are_as_written_and_numbers_between_are_short() {
    let range = "{ from = \"200 ns\", to = \"800 ns\" }";
    assert_eq!(
        [0.0, 0.5, 1.0].map(|place| at(range, place)),
        ["\"200 ns\"", "\"500 ns\"", "\"800 ns\""]
    );
    // The middle by factors of 1 and 100.
    assert_eq!(at("{ from = \"1 us\", to = \"100 us\" }", 0.5), "\"10 us\"");
    assert_eq!(at("{ from = 0, to = 100, scale = \"linear\" }", 0.5), "50");
    assert_eq!(at("{ from = 0.0, to = 1.0 }", 1.0 / 3.0), "0.333");
    assert_eq!(at("{ from = \"1 B\", to = \"4 B\" }", 0.25), "\"2 B\"");
    assert_eq!(
        at("{ from = \"1 GB/s\", to = \"2 GB/s\" }", 0.123),
        "\"1.12 GB/s\""
    );
}

#[test]
fn a_list_is_divided_evenly() {
    let list = "[\"x\", 2, { y = true }]";
    assert_eq!(
        [0.0, 0.34, 0.999, 1.0].map(|place| at(list, place)),
        ["\"x\"", "2", "{ \"y\" = true }", "{ \"y\" = true }"]
    );
}

#[test]
fn what_is_no_list_and_no_range_is_refused() {
    let cases = [
        (
            "[]",
            "`a.b` has nothing to choose from: at least two values are needed",
        ),
        (
            "[7]",
            "`a.b` has one value to choose from: at least two values are needed",
        ),
        ("7", "`a.b` is 7: a list or a range is needed"),
        ("{ from = 3 }", "the range of `a.b` lacks its key `to`"),
        (
            "{ from = 3, to = 3 }",
            "the range of `a.b` is empty: it goes from 3 to 3",
        ),
        (
            "{ from = \"1 us\", to = \"9 ns\" }",
            "the ends of the range of `a.b` have different units",
        ),
        (
            "{ from = 3, to = 4, step = 1 }",
            "unknown key `step` of the range of `a.b`",
        ),
        (
            "{ from = 0, to = 4, scale = \"log\" }",
            "the scale of the range of `a.b` is \"log\"",
        ),
        (
            "{ from = \"x\", to = 4 }",
            "an end of the range of `a.b` is \"x\": a number, or a number with its unit, is needed",
        ),
    ];
    for (text, message) in cases {
        assert_eq!(values(text).expect_err(text).to_string(), message);
    }
}

proptest! {
    #[test]
    fn every_place_of_a_range_reads_as_a_number_of_the_range(from in 1_u64..1000, more in 1_u64..100_000, place in 0.0..=1.0) {
        let to = from + more;
        let whole: u64 = at(&format!("{{ from = {from}, to = {to} }}"), place).parse().expect("a number");
        prop_assert!((from..=to).contains(&whole));
        let bytes = at(&format!("{{ from = \"{from} KiB\", to = \"{to} KiB\" }}"), place);
        let bytes = Dimension::Bytes.parse(bytes.trim_matches('"')).expect("bytes");
        prop_assert!((from << 10..=to << 10).contains(&bytes));
    }
}
