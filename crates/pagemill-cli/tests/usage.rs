//! Everything a user can ask for that is no run: help, listings, doctor, and mistakes.

mod common;

use std::io::Read;
use std::process::Stdio;

use common::{pagemill, run, run_in};
use insta::assert_snapshot;
use serde_json::Value;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Change detector: help is read by people and quoted in documents.
#[test]
fn help() {
    assert_snapshot!(run(&["--help"]).result(), @"");
    assert_snapshot!(run(&["run", "--help"]).result(), @"");
    assert_snapshot!(run(&["list", "--help"]).result(), @"");
}

#[test]
fn the_version_is_told() {
    assert_eq!(
        run(&["--version"]).result(),
        format!("pagemill {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn bad_usage_is_code_2() {
    for arguments in [
        &[][..],
        &["walk"],
        &["run"],
        &["run", "smoke", "--jobs", "0"],
        &["run", "smoke", "--jobs", "many"],
        &["run", "smoke", "--format", "xml"],
        &["run", "smoke", "--set"],
        &["list"],
        &["list", "colours"],
        &["doctor", "now"],
    ] {
        let message = run(arguments).error(2);
        assert!(
            message.contains("Usage") || message.contains("For more information"),
            "{arguments:?}: {message}"
        );
    }
}

/// Change detector: the shape of a message about bad input.
#[test]
fn bad_input_is_code_2_and_says_where() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "title = \"x\"\nkind = \"gpu\"\nmachine = \"gtx480\"\n[workload]\nname = \"bfs\"\n[transfer]\nmode = \"whole-page\"\npage_size = \"3 KiB\"\n";
    std::fs::write(folder.path().join("bad.toml"), text).expect("a scenario");
    assert_snapshot!(run_in(folder.path(), &["run", "bad.toml"]).error(2), @"");
    assert_snapshot!(run_in(folder.path(), &["run", "bed.toml"]).error(2), @"");
    assert_snapshot!(run(&["run", "smoke", "--set", "machine.link.bandwidth=0 GB/s"]).error(2), @"");
}

#[test]
fn everything_can_be_listed_as_text_and_json() {
    for (what, known) in [
        ("machines", "gtx480"),
        ("workloads", "vector-add"),
        ("policies", "multi-range"),
        ("scenarios", "quickstart"),
    ] {
        assert!(run(&["list", what]).result().contains(known), "{what}");
        let listed = json(&run(&["list", what, "--format", "json"]).result());
        let items = listed[what].as_array().expect("a list");
        assert!(items.iter().any(|item| item["name"] == known), "{what}");
        assert!(
            items
                .iter()
                .all(|item| !item["summary"].as_str().expect("a text").is_empty()),
            "{what}"
        );
    }
}

#[test]
fn doctor_never_fails_and_names_every_backend() {
    let text = run(&["doctor"]).result();
    let told = json(&run(&["doctor", "--format", "json"]).result());
    let backends = told["backends"].as_array().expect("a list");
    assert_eq!(backends.len(), 8);
    for backend in backends {
        assert!(text.contains(backend["name"].as_str().expect("a name")));
        assert_eq!(
            backend["status"] == "ready",
            backend["enable"].is_null(),
            "{backend}"
        );
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    for arguments in [
        &["list", "workloads"][..],
        &["doctor"],
        &["run", "smoke", "--format", "json"],
    ] {
        let mut child = pagemill(&std::env::temp_dir())
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        drop(child.stdout.take());
        let mut errors = String::new();
        child
            .stderr
            .take()
            .expect("piped")
            .read_to_string(&mut errors)
            .expect("UTF-8");
        let status = child.wait().expect("the command ends");
        assert!(
            status.success() && errors.is_empty(),
            "{arguments:?}: {status}: {errors}"
        );
    }
}
