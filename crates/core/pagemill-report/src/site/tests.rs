use base64::Engine as _;
use sha2::{Digest, Sha256};

use super::*;
use crate::Row;

fn hash(text: &str) -> String {
    base64::engine::general_purpose::STANDARD.encode(Sha256::digest(text))
}

#[test]
fn the_policy_allows_exactly_our_style_and_script() {
    let page = page("title", &[]).into_string();
    let style = format!("{STYLE}{SITE_STYLE}");
    for (directive, text) in [("style-src", style.as_str()), ("script-src", SITE_SCRIPT)] {
        assert!(page.contains(&format!("{directive} 'sha256-{}'", hash(text))));
        assert!(page.contains(text));
    }
}

#[test]
fn style_and_script_ask_for_nothing_from_elsewhere() {
    for text in [SITE_STYLE, SITE_SCRIPT] {
        for forbidden in [
            "url(",
            "@import",
            "http",
            "//",
            "fetch",
            "</",
            "<!--",
            "innerHTML",
        ] {
            assert!(!text.contains(forbidden), "{forbidden}");
        }
    }
}

fn index(set: &ResultSet) -> String {
    let run = SiteRun {
        name: "a",
        set,
        report: Some("a/report.html"),
    };
    let mut bytes = Vec::new();
    write_index("Runs", &[run], &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn hostile_text_stays_text() {
    let evil = "</script><script>alert(1)</script><!--";
    let set = ResultSet {
        title: evil.to_owned(),
        rows: vec![Row::new().parameter(evil, evil)],
        ..ResultSet::default()
    };
    let page = index(&set);
    assert!(!page.contains("alert(1)</script>"), "{page}");
    assert_eq!(page.matches("<script").count(), 2);
}

#[test]
fn a_large_run_leaves_rows_out_and_says_so() {
    let row = |n: u64| Row::new().parameter("n", n).metric("text", "x".repeat(500));
    let set = ResultSet {
        rows: (0..6000).map(row).collect(),
        ..ResultSet::default()
    };
    let page = index(&set);
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
    assert!(page.contains("rows are left out"));
}
