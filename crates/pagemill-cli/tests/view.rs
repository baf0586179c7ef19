//! `pagemill view`: page maps of a run, and what is none.

mod common;

use std::fs;

use common::{names, run_in};

const SMALL_GPU: [&str; 9] = [
    "run",
    "smoke",
    "--set",
    "transfer.mode=multi-range",
    "--set",
    "machine.dram.capacity=\"16 KiB\"",
    "--out",
    "results",
    "--jobs=1",
];

#[test]
fn a_run_can_be_viewed() {
    let folder = tempfile::tempdir().expect("a folder");
    run_in(folder.path(), &SMALL_GPU).result();
    assert!(names(&folder.path().join("results")).contains(&"pages.json".to_owned()));
    let said = run_in(folder.path(), &["view", "results"]).result();
    let page = folder.path().join("results-pages.html");
    assert!(said.trim_end().ends_with("results-pages.html"), "{said}");
    let text = fs::read_to_string(&page).expect("a page");
    assert!(text.contains("default-src &#39;none&#39;") || text.contains("default-src 'none'"));
    assert!(text.contains("<canvas"));
    // The report of the run holds the same maps, and says why the slowest points were slow.
    let report = fs::read_to_string(folder.path().join("results/report.html")).expect("a report");
    assert_eq!(
        text.matches("<script type=\"text/plain\">").count(),
        report.matches("<script type=\"text/plain\">").count()
    );
    assert!(report.contains("Why it was slow"));
    assert!(report.contains("been there before"));
}

#[test]
fn what_is_no_map_is_code_2() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = run_in(folder.path(), &["view", "nowhere"]).error(2);
    assert!(error.contains("--out DIR"), "{error}");
    fs::write(folder.path().join("pages.json"), "{}").expect("a file");
    let error = run_in(folder.path(), &["view", "pages.json"]).error(2);
    assert!(error.contains("missing field"), "{error}");
    fs::write(
        folder.path().join("pages.json"),
        r#"{"schema":"pagemill-pages/1","maps":[{"title":"x","data":"AAAA"}]}"#,
    )
    .expect("a file");
    let error = run_in(folder.path(), &["view", "pages.json"]).error(2);
    assert!(error.contains("no page map"), "{error}");
    assert_eq!(names(folder.path()), ["pages.json"]);
}
