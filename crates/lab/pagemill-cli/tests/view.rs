//! `pagemill report pages`: page maps of a run, and what is none.

use std::fs;

use crate::common::{names, run_in};
use pagemill_map::Map;
use pagemill_report::pages;

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
    let said = run_in(folder.path(), &["report", "pages", "results"]).result();
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

/// Maps and rows have one definition of what moved again.
#[test]
fn where_nothing_is_paged_there_is_no_map() {
    let folder = tempfile::tempdir().expect("a folder");
    let copies = "transfer.mode=programmer-copy";
    run_in(
        folder.path(),
        &["run", "smoke", "--set", copies, "--out", "results"],
    )
    .result();
    assert!(!names(&folder.path().join("results")).contains(&"pages.json".to_owned()));
    let page = fs::read_to_string(folder.path().join("results/report.html")).expect("a page");
    assert!(!page.contains("Where the pages were"));
}

#[test]
fn what_moved_again_is_the_same_in_maps_and_rows() {
    let folder = tempfile::tempdir().expect("a folder");
    let modes = "transfer.mode=[\"multi-range\", \"single-range\", \"whole-page\"]";
    let arguments = [&SMALL_GPU[..2], &["--set", modes], &SMALL_GPU[4..]].concat();
    run_in(folder.path(), &arguments).result();
    let read =
        |name: &str| fs::read_to_string(folder.path().join("results").join(name)).expect(name);
    let maps = pages::read(&read("pages.json")).expect("page maps");
    let results = pagemill_report::read(&read("results.json")).expect("results");
    let mut all = 0.0;
    assert_eq!(maps.len(), results.rows.len());
    for (map, row) in maps.iter().zip(&results.rows) {
        let tiles = Map::decode(&map.data).expect("a page map").tiles;
        let again = tiles.iter().map(|tile| tile.repeated).sum::<u64>() as f64;
        assert_eq!(row.number("repeated_bytes"), Some(again), "{}", map.title);
        all += again;
    }
    assert!(all > 0.0);
}

/// The first page map of what `arguments` run.
fn first_map(arguments: &[&str]) -> Map {
    let folder = tempfile::tempdir().expect("a folder");
    let out = ["--out", "results", "--jobs=1"];
    run_in(folder.path(), &[arguments, &out].concat()).result();
    let text = fs::read_to_string(folder.path().join("results/pages.json")).expect("maps");
    let maps = pages::read(&text).expect("page maps");
    run_in(folder.path(), &["report", "pages", "results"]).result();
    Map::decode(&maps[0].data).expect("a page map")
}

/// How often a cause is in a map.
fn count(map: &Map, cause: &str) -> u64 {
    let names = map.legend.causes.iter();
    let place = names.clone().position(|known| known.name == cause);
    let place = place.unwrap_or_else(|| panic!("{cause}"));
    map.bands.iter().map(|band| band.counts[place]).sum()
}

#[test]
fn a_driver_a_pattern_and_a_pager_have_maps_too() {
    let driver = first_map(&[
        "run",
        "smoke",
        "--set",
        "machine=a100-pcie4-x86",
        "--set",
        "transfer.mode=on-demand",
        "--set",
        "transfer.page_size=2 MiB",
    ]);
    assert_eq!(driver.page_bytes, 2 << 20);
    assert!(count(&driver, "fault") > 0 && driver.launched > 0);
    let pattern = first_map(&[
        "run",
        "uvm-on-demand",
        "--set",
        "machine=a100-pcie4-x86",
        "--set",
        "access.pattern=grid-stride",
        "--set",
        "residency.factor=1.25",
        "--set",
        "residency.ballast=0.99",
    ]);
    assert!(count(&pattern, "fault") > 0 && count(&pattern, "moved along") > 0);
    assert!(count(&pattern, "eviction") > 0);
    let pager = first_map(&[
        "run",
        "pager-budgets",
        "--set",
        "workload.name=random",
        "--set",
        "pager.memory=16 MiB",
        "--set",
        "pager.policy=multi-range",
        "--set",
        "pager.read_ahead=streams",
        "--set",
        "pager.store=folder",
    ]);
    assert_eq!(pager.page_bytes, 64 << 10);
    assert!(count(&pager, "read fault") > 0 && count(&pager, "eviction, written") > 0);
    assert!(count(&pager, "changed") > 0 && pager.launched == 0);
}

#[test]
fn what_is_no_map_is_code_2() {
    let folder = tempfile::tempdir().expect("a folder");
    let error = run_in(folder.path(), &["report", "pages", "nowhere"]).error(2);
    assert!(error.contains("--out DIR"), "{error}");
    fs::write(folder.path().join("pages.json"), "{}").expect("a file");
    let error = run_in(folder.path(), &["report", "pages", "pages.json"]).error(2);
    assert!(error.contains("missing field"), "{error}");
    fs::write(
        folder.path().join("pages.json"),
        r#"{"schema":"pagemill-pages/1","maps":[{"title":"x","data":"AAAA"}]}"#,
    )
    .expect("a file");
    let error = run_in(folder.path(), &["report", "pages", "pages.json"]).error(2);
    assert!(error.contains("no page map"), "{error}");
    assert_eq!(names(folder.path()), ["pages.json"]);
}
