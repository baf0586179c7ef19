//! Change detectors: these texts may change, but only on purpose.
//! The JSON is a contract; a change there that is no addition needs a new schema version.

use pagemill_report::{ResultSet, csv, html, json};

fn text(write: impl FnOnce(&ResultSet, &mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut set = crate::common::sample();
    set.rows.truncate(4);
    let mut out = Vec::new();
    write(&set, &mut out).expect("a vector takes everything");
    String::from_utf8(out).expect("all formats are UTF-8")
}

#[test]
fn results_json() {
    insta::assert_snapshot!(text(|set, out| json::write(set, out)));
}

#[test]
fn results_csv() {
    insta::assert_snapshot!(text(|set, out| csv::write(set, out)));
}

#[test]
fn first_figure() {
    let page = text(|set, out| html::write(set, out));
    let start = page.find("<svg").expect("there is a figure");
    let end = page.find("</svg>").expect("a figure ends") + "</svg>".len();
    insta::assert_snapshot!(page[start..end].replace('>', ">\n"));
}
