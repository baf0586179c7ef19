//! `pagemill cuda --check`: each mistake is found at its line, and the same kernel without it is silent.

use std::path::{Path, PathBuf};

use crate::common::{Finished, pagemill};
use crate::toolkit::Toolkit;
use serde_json::Value;

/// Names in the source, and the kind of mistake.
const DEFECTS: [(&str, &str); 25] = [
    ("out-of-bounds", "out-of-bounds"),
    ("misaligned", "misaligned"),
    ("freed-memory", "freed-memory"),
    ("freed-heap", "freed-memory"),
    ("uninitialized-global", "uninitialized"),
    ("uninitialized-shared", "uninitialized"),
    ("uninitialized-rows", "uninitialized"),
    ("uninitialized-copy", "uninitialized"),
    ("uninitialized-copy-of-another", "uninitialized"),
    ("shared-race", "shared-race"),
    ("shared-race-of-rounds", "shared-race"),
    ("shared-race-in-warp", "shared-race"),
    ("shared-race-of-groups", "shared-race"),
    ("shared-race-of-producers", "shared-race"),
    ("shared-race-after-reads", "shared-race"),
    ("global-race-after-reads", "global-race"),
    ("global-race", "global-race"),
    ("global-race-of-writes", "global-race"),
    ("global-race-of-grid", "global-race"),
    ("global-race-of-block-fence", "global-race"),
    ("global-race-of-block-atomics", "global-race"),
    ("global-race-behind-atomic", "global-race"),
    ("divergence", "divergence"),
    ("divergence-of-shuffle", "divergence"),
    ("divergence-of-lanes", "divergence"),
];

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cuda/defects.cu")
}

/// The line of the source with the comment `HERE name`.
fn line_of(name: &str) -> usize {
    let text = std::fs::read_to_string(source()).expect("the source");
    let mark = format!("// HERE {name}");
    let at = text.lines().position(|line| line.ends_with(&mark));
    at.unwrap_or_else(|| panic!("no line of {name}")) + 1
}

fn compiled(name: &str) -> Option<PathBuf> {
    // The first that has `cp.async`.
    let arch = "arch=compute_80,code=compute_80";
    let flags = ["-lineinfo", "-std=c++17", "-gencode", arch];
    Some(Toolkit::find()?.compile(&source(), name, &flags))
}

fn run(program: &Path, options: &[&str], arguments: &[&str]) -> Finished {
    let mut command = pagemill(&std::env::temp_dir());
    command.args(["cuda", "--check"]).args(options).arg("--");
    command.arg(program).args(arguments);
    Finished::from(command.output().expect("the command starts"))
}

/// Lines of standard error that tell of a mistake.
fn told(finished: &Finished) -> Vec<&str> {
    let is_told = |line: &&str| line.starts_with("pagemill: check: ") && line.contains(" at ");
    finished.stderr.lines().filter(is_told).collect()
}

#[test]
fn each_mistake_is_found_at_its_line_and_its_twin_is_silent() {
    let Some(program) = compiled("defects") else {
        return;
    };
    for (name, defect) in DEFECTS {
        let finished = run(&program, &[], &[name]);
        let place = format!("{defect} at defects.cu:{},", line_of(name));
        let lines = told(&finished);
        // A race may have the other side as well, and read what is not yet written.
        let here: Vec<_> = lines.iter().filter(|line| line.contains(&place)).collect();
        assert_eq!(here.len(), 1, "{name}: {}", finished.stderr);
        assert!(here[0].contains(", block ("), "{name}: {here:?}");
        assert_eq!(finished.code, Some(1), "{name}: {}", finished.stderr);
        let twin = run(&program, &[], &[name, "mended"]);
        assert!(!twin.stderr.contains("check:"), "{name}: {}", twin.stderr);
        assert!(
            twin.stdout.contains(": no error"),
            "{name}: {}",
            twin.stdout
        );
        assert_eq!(twin.code, Some(0), "{name}: {}", twin.stderr);
    }
}

#[test]
fn a_write_after_reads_names_a_reader_that_is_not_the_writer() {
    let Some(program) = compiled("defects_after_reads") else {
        return;
    };
    for (name, reader) in [
        ("shared-race-after-reads", "a read by thread (32, 0, 0) at"),
        ("global-race-after-reads", "of block (0, 0, 0) at"),
    ] {
        let finished = run(&program, &[], &[name]);
        let place = format!("defects.cu:{},", line_of(name));
        let lines = told(&finished);
        let here = lines.iter().find(|line| line.contains(&place));
        let here = here.unwrap_or_else(|| panic!("{name}: {}", finished.stderr));
        assert!(
            here.contains(" after a read by ") && here.contains(reader),
            "{here}"
        );
        assert!(
            finished.stderr.contains("1 defect, seen once"),
            "{}",
            finished.stderr
        );
    }
}

#[test]
fn what_only_looks_like_a_mistake_is_none() {
    let Some(program) = compiled("no_defects") else {
        return;
    };
    let finished = run(&program, &[], &["none"]);
    assert!(!finished.stderr.contains("check:"), "{}", finished.stderr);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
}

#[test]
fn rows_count_what_was_found() {
    let Some(program) = compiled("counted_defects") else {
        return;
    };
    let name = "uninitialized-shared";
    let finished = run(&program, &["--format", "json"], &[name]);
    let results: Value = serde_json::from_str(&finished.stdout).expect("JSON");
    let rows = results["rows"].as_array().expect("rows");
    assert_eq!(rows[0]["findings"], 1);
    let place = format!("defects.cu:{}", line_of(name));
    let mut defects = rows.iter().filter(|row| row["table"] == "defect");
    let row = defects.find(|row| row["line"] == place.as_str());
    let row = row.unwrap_or_else(|| panic!("no row {place} in {rows:?}"));
    // Half of the 64 threads read what the other half did not write.
    assert_eq!(row["seen"], 32);
    let detail = row["detail"].as_str().expect("text");
    assert!(
        detail.contains("half_tile") && detail.contains("block (0, 0, 0), thread (0, 0, 0)"),
        "{detail}"
    );
    assert!(
        finished.stderr.contains("1 defect, seen 32 times"),
        "{}",
        finished.stderr
    );
}

#[test]
fn findings_are_written_for_forges() {
    let Some(program) = compiled("reported_defects") else {
        return;
    };
    let out = tempfile::tempdir().expect("a folder");
    let folder = out.path().join("out");
    let finished = run(
        &program,
        &["--out", folder.to_str().expect("UTF-8")],
        &["shared-race"],
    );
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
    let text = std::fs::read_to_string(folder.join("findings.sarif")).expect("the file");
    let log: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(log["version"], "2.1.0");
    let results = log["runs"][0]["results"].as_array().expect("results");
    let is_race = |result: &Value| {
        let place = &result["locations"][0]["physicalLocation"];
        let file = place["artifactLocation"]["uri"].as_str().unwrap_or("");
        result["ruleId"] == "shared-race"
            && place["region"]["startLine"] == line_of("shared-race")
            && file.ends_with("defects.cu")
    };
    assert!(results.iter().any(is_race), "{text}");
}

#[test]
fn without_the_option_nothing_is_looked_for() {
    let Some(program) = compiled("unchecked_defects") else {
        return;
    };
    let mut command = pagemill(&std::env::temp_dir());
    command.args(["cuda", "--functional", "--"]).arg(&program);
    let finished = Finished::from(command.arg("shared-race").output().expect("it starts"));
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(!finished.stderr.contains("check:"), "{}", finished.stderr);
}
