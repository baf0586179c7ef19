use super::*;
use crate::json;

fn set() -> ResultSet {
    ResultSet {
        scenario: "s".to_owned(),
        title: "T".to_owned(),
        about: "A".to_owned(),
        pagemill_version: "1".to_owned(),
        seed: u64::MAX,
        columns: vec![
            Column::parameter("factor", ColumnKind::Number, "f"),
            Column::metric("time_ns", ColumnKind::TimeNs, ""),
        ],
        rows: vec![
            Row::new()
                .parameter("factor", 1.5)
                .metric("time_ns", u64::MAX),
            Row::new()
                .parameter("factor", i64::MIN)
                .metric("is_whole", true),
        ],
        ..ResultSet::default()
    }
}

fn text(set: &ResultSet) -> String {
    let mut bytes = Vec::new();
    json::write(set, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn what_was_written_is_read() {
    let mut set = set();
    let read = read(&text(&set)).unwrap();
    set.columns = set.all_columns();
    assert_eq!(read, set);
    let same = ["\u{feff}TEXT", "TEXT \r\n", "\nTEXT"];
    for same in same.map(|form| form.replace("TEXT", &text(&set))) {
        assert_eq!(super::read(&same).as_ref(), Ok(&set), "{same}");
    }
}

#[test]
fn bad_files_are_refused_with_the_place() {
    let good = text(&set());
    let cases = [
        (String::new(), "not JSON: EOF"),
        ("[".repeat(100_000), "not JSON: recursion limit"),
        ("[]".to_owned(), "the top level is not an object"),
        ("{}".to_owned(), "`schema` is missing"),
        (
            good.replace("\"seed\": 18446744073709551615", "\"seed\": -1"),
            "`seed` is missing",
        ),
        (
            good.replace(
                "\"seed\": 18446744073709551615",
                "\"seed\": 18446744073709551616",
            ),
            "`seed` is missing",
        ),
        (good.replace("results/2", "results/3"), "pagemill-results/3"),
        (good.replace("\"rows\"", "\"lines\""), "`rows` is missing"),
        (
            good.replace("\"parameter\"", "\"guess\""),
            "column 0: `role` is neither",
        ),
        (
            good.replace("\"time_ns\":18446744073709551615", "\"time_ns\":[1]"),
            "row 0: `time_ns` is neither",
        ),
        (
            good.replace("\"factor\":1.5", "\"faktor\":1.5"),
            "row 0: it holds `faktor`",
        ),
        (
            good.replace("\"factor\":1.5", "\"factor\":1e999"),
            "number out of range",
        ),
        (
            good.replace("\"name\":\"time_ns\"", "\"name\":\"factor\""),
            "column `factor` is described twice",
        ),
    ];
    for (text, expected) in cases {
        let error = read(&text).unwrap_err().to_string();
        assert!(error.contains(expected), "{error} lacks {expected}");
    }
}
