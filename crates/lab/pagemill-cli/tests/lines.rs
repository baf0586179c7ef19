//! Results for each source line of a CUDA program that was compiled with `-lineinfo`, and what a report says of them.

use std::path::Path;

use crate::common::run_in;
use crate::toolkit::Toolkit;
use serde_json::Value;

/// The number of the line of `text` that has `part`.
fn line_of(text: &str, part: &str) -> usize {
    1 + text
        .lines()
        .position(|line| line.contains(part))
        .expect(part)
}

#[test]
fn a_report_names_the_line_that_thrashes() {
    let Some(toolkit) = Toolkit::find() else {
        return;
    };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cuda/join.cu");
    let program = toolkit.compile(&source, "join", &["-lineinfo"]);
    let text = std::fs::read_to_string(&source).expect("the source");
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = [
        "cuda",
        "--machine",
        "a100-pcie4-x86",
        "--gpu-memory",
        "8MiB",
        "--format",
        "json",
        "--out",
        "results",
        "--",
        program.to_str().expect("UTF-8"),
    ];
    let finished = run_in(folder.path(), &arguments);
    // Standard error has what the program printed.
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let results: Value = serde_json::from_str(&finished.stdout).expect("JSON");
    let rows = results["rows"].as_array().expect("rows");
    let row = |name: &str| {
        let found = rows
            .iter()
            .find(|row| row["table"] == name || row["line"] == name);
        found.unwrap_or_else(|| panic!("{name} in {results}"))
    };
    let number = |row: &Value, metric: &str| row[metric].as_f64().unwrap_or(0.0);
    let probe = format!("join.cu:{}", line_of(&text, "the line that thrashes"));
    let build = format!("join.cu:{}", line_of(&text, "table[at] = "));
    let keys = format!("join.cu:{}", line_of(&text, "keys[at] * "));
    // Nearly all that moved once more moved for the probe, and the warps waited for it.
    let again = number(row(&probe), "repeated_bytes");
    assert!(
        again > 0.9 * number(row("program"), "repeated_bytes"),
        "{again}"
    );
    assert!(number(row(&probe), "waiting_time_ns") > number(row(&keys), "waiting_time_ns"));
    assert!(number(row(&build), "faulted_pages") > 0.0);
    // One count in every table: each adds up to the whole.
    for table in ["line", "allocation", "kernel"] {
        let of_table = rows.iter().filter(|row| row["table"] == table);
        let sum: f64 = of_table.map(|row| number(row, "faulted_pages")).sum();
        assert_eq!(sum, number(row("program"), "faulted_pages"));
        assert!(
            sum < number(row("program"), "faults"),
            "accesses are more than pages"
        );
    }
    assert_eq!(
        number(row(&build), "waiting_time_ns"),
        0.0,
        "stores are not waited for"
    );
    let report =
        std::fs::read_to_string(folder.path().join("results/report.html")).expect("a report");
    // The first place is the list of sections.
    let reasons = report.rsplit("Why it was slow").next().expect("reasons");
    let reasons = reasons.split("<h2").next().expect("a section");
    // Which array thrashes, from which line, and what would help: all in the first row.
    let rows = reasons.split("<tbody").nth(1).expect("a table");
    let first = rows.split("</tr>").next().expect("a row");
    for part in [
        "managed #1",
        &probe,
        "been there before",
        "it does not fit",
        "more GPU memory",
    ] {
        assert!(first.contains(part), "{part:?} is not in {first}");
    }
}
