use base64::Engine as _;
use sha2::{Digest, Sha256};

use super::*;

fn hash(text: &str) -> String {
    base64::engine::general_purpose::STANDARD.encode(Sha256::digest(text))
}

/// Browsers compare the whole text of an element with what the policy allows.
#[test]
fn the_policy_allows_exactly_our_style_and_script() {
    let page = page(&ResultSet::default()).into_string();
    let text = |element: &str| {
        let (_, rest) = page.split_once(&format!("<{element}>")).unwrap();
        rest.split_once(&format!("</{element}>")).unwrap().0
    };
    for (directive, text) in [("style-src", text("style")), ("script-src", text("script"))] {
        assert!(page.contains(&format!("{directive} 'sha256-{}'", hash(text))));
    }
}

#[test]
fn style_and_script_ask_for_nothing_from_elsewhere() {
    for text in [STYLE, SCRIPT] {
        for forbidden in ["url(", "@import", "http", "//", "fetch", "</", "<!--"] {
            assert!(!text.contains(forbidden), "{forbidden}");
        }
    }
}

#[test]
fn measurements_promise_no_same_numbers() {
    for measured in [false, true] {
        let set = ResultSet {
            measured,
            ..ResultSet::default()
        };
        let page = super::page(&set).into_string();
        assert_eq!(page.contains("the same numbers"), !measured);
        assert_eq!(page.contains("another run gives other numbers"), measured);
        let mut json = Vec::new();
        crate::json::write(&set, &mut json).expect("memory");
        let text = String::from_utf8(json).expect("UTF-8");
        assert_eq!(crate::read(&text).expect("results").measured, measured);
    }
}
