use base64::Engine as _;
use sha2::{Digest, Sha256};

use super::*;

fn hash(text: &str) -> String {
    base64::engine::general_purpose::STANDARD.encode(Sha256::digest(text))
}

/// A change detector: put the printed hashes into `CONTENT_POLICY` when style or script change.
#[test]
fn the_policy_allows_exactly_our_style_and_script() {
    for (directive, text) in [("style-src", STYLE), ("script-src", SORT_SCRIPT)] {
        let expected = format!("{directive} 'sha256-{}'", hash(text));
        assert!(
            CONTENT_POLICY.contains(&expected),
            "put `{expected}` into CONTENT_POLICY"
        );
    }
}

#[test]
fn style_and_script_ask_for_nothing_from_elsewhere() {
    for text in [STYLE, SORT_SCRIPT] {
        for forbidden in ["url(", "@import", "http", "//", "fetch", "</", "<!--"] {
            assert!(!text.contains(forbidden), "{forbidden}");
        }
    }
}
