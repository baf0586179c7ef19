//! `pagemill advise program`: allocations, what moves for them, and the calls that make the program faster.

use std::path::{Path, PathBuf};

use crate::common::{Finished, on, run};
use crate::toolkit::{Toolkit, root};
use pagemill_report::{ColumnKind, human};
use serde_json::Value;

const MIB: u64 = 1 << 20;

fn walk(name: &str, flags: &[&str]) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cuda/walk.cu");
    Some(Toolkit::find()?.compile(&source, name, flags))
}

const ADVISE: &[&str] = &["advise", "program"];

fn pagemill(command: &[&str], options: &[&str], program: &Path, arguments: &[&str]) -> Finished {
    let program = [program.to_str().expect("UTF-8")];
    let machine = match command {
        ["cuda"] => "gtx480",
        _ => A100[1],
    };
    run(&[
        command,
        &on(machine, options)[..],
        &["--"],
        &program,
        arguments,
    ]
    .concat())
}

/// The rows of an advice whose column `row` is `which`.
fn rows_of(results: &Value, which: &str) -> Vec<Value> {
    let rows = results["rows"].as_array().expect("rows").iter();
    rows.filter(|row| row["table"] == which).cloned().collect()
}

fn advise(options: &[&str], program: &Path, arguments: &[&str]) -> Value {
    let options = [&["--format", "json"], options].concat();
    let finished = pagemill(ADVISE, &options, program, arguments);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    serde_json::from_str(&finished.stdout).expect("JSON")
}

fn number(row: &Value, metric: &str) -> u64 {
    row[metric]
        .as_u64()
        .unwrap_or_else(|| panic!("{metric} of {row}"))
}

/// The simulated time of a run without advice.
fn time_of(options: &[&str], program: &Path, arguments: &[&str]) -> u64 {
    let options = [&["--format", "json"], options].concat();
    let finished = pagemill(&["cuda"], &options, program, arguments);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let results: Value = serde_json::from_str(&finished.stdout).expect("JSON");
    number(&results["rows"][0], "time_ns")
}

/// The line of `walk.cu` that has `text`.
fn line_of(text: &str) -> String {
    let source = include_str!("cuda/walk.cu");
    let line = source.lines().position(|line| line.contains(text));
    format!("walk.cu:{}", line.expect("it is there") + 1)
}

const A100: [&str; 2] = ["--machine", "a100-pcie4-x86"];

#[test]
fn allocations_are_named_by_line_and_have_what_moved_for_them() {
    let Some(program) = walk("walk_lines", &["-g"]) else {
        return;
    };
    let results = advise(&[&A100[..], &["--runs", "1"]].concat(), &program, &["4"]);
    assert_eq!(rows_of(&results, "change"), Vec::<Value>::new());
    let rows = rows_of(&results, "allocation");
    let of = |text: &str| {
        let line = line_of(text);
        let row = rows.iter().find(|row| row["allocation"] == line.as_str());
        row.unwrap_or_else(|| panic!("{line} in {rows:?}"))
    };
    // Everything fits: what the CPU filled moves once, and stays.
    let input = of("cudaMallocManaged(&in");
    assert_eq!(number(input, "bytes"), 4 * MIB);
    assert_eq!(number(input, "migrated_bytes"), 4 * MIB);
    assert_eq!(number(input, "repeated_bytes"), 0);
    assert_eq!(number(input, "returned_bytes"), 0);
    assert_eq!(input["pattern"], "all of it, once");
    assert_eq!(input["function"], "main");
    assert_eq!(input["first_kernel"], "walk");
    // Memory that only the GPU writes is allocated there, and moves back for the CPU.
    let output = of("cudaMallocManaged(&out");
    assert_eq!(number(output, "migrated_bytes"), 0);
    assert_eq!(number(output, "populated_bytes"), 2 * MIB);
    assert_eq!(number(output, "returned_bytes"), 2 * MIB);
    let rest = of("cudaMallocManaged(&rest");
    assert_eq!(rest["pattern"], "no kernel uses it");
    assert_eq!(
        number(rest, "migrated_bytes") + number(rest, "returned_bytes"),
        0
    );
}

#[test]
fn allocations_add_up_to_the_program() {
    let Some(program) = walk("walk_sum", &[]) else {
        return;
    };
    for machine in ["a100-pcie4-x86", "gtx480"] {
        let options = ["--machine", machine, "--oversubscribe", "2"];
        let results = advise(&[&options[..], &["--runs", "1"]].concat(), &program, &["8"]);
        let rows = rows_of(&results, "allocation");
        assert_eq!(rows.len(), 3);
        let options = [&options[..], &["--format", "json"]].concat();
        let whole = pagemill(&["cuda"], &options, &program, &["8"]);
        let whole: Value = serde_json::from_str(&whole.stdout).expect("JSON");
        for metric in [
            "migrated_bytes",
            "returned_bytes",
            "repeated_bytes",
            "evictions",
        ] {
            let sum: u64 = rows.iter().map(|row| number(row, metric)).sum();
            assert_eq!(
                sum,
                number(&whole["rows"][0], metric),
                "{metric} on {machine}"
            );
        }
    }
}

#[test]
fn without_debug_information_they_are_named_by_function() {
    let Some(program) = walk("walk_bare", &[]) else {
        return;
    };
    let results = advise(&[&A100[..], &["--runs", "1"]].concat(), &program, &["4"]);
    for row in rows_of(&results, "allocation") {
        assert_eq!(row["function"], "main", "{row}");
        let name = row["allocation"].as_str().expect("a name");
        assert!(name.starts_with("walk_bare+0x"), "{name}");
    }
}

#[test]
fn every_hint_does_what_the_same_call_in_the_source_does() {
    let Some(program) = walk("walk_hints", &["-g"]) else {
        return;
    };
    let memory = [&A100[..], &["--gpu-memory", "6MiB"]].concat();
    // Eight changes to the whole program would come first with more runs.
    let options = [&memory[..], &["--runs", "5"]].concat();
    let results = advise(&options, &program, &["8"]);
    let line = line_of("cudaMallocManaged(&in");
    let as_it_is = time_of(&memory, &program, &["8"]);
    let mut seen = 0;
    for row in rows_of(&results, "change") {
        assert_eq!(
            row["allocation"],
            line.as_str(),
            "the one with most traffic is first"
        );
        assert_eq!(number(&row, "time_before_ns"), as_it_is);
        let by_hand = match row["change"].as_str().expect("text") {
            "read mostly" => "1",
            "stay on the CPU, accessed by the GPU" => "2",
            "prefer the GPU" => "3",
            "prefetch" => "4",
            other => panic!("{other}"),
        };
        let expected = time_of(&memory, &program, &["8", by_hand]);
        assert_eq!(number(&row, "time_ns"), expected, "{row}");
        seen += 1;
        if by_hand == "4" {
            let place = format!("before walk at {}", line_of("walk<<<"));
            assert_eq!(row["place"], place.as_str());
        } else {
            assert_eq!(row["place"], format!("after {line}").as_str());
        }
    }
    assert_eq!(seen, 4);
}

/// The calls of the placements by hand, for 16 MiB on a GPU of 6: of 8 stripes 3 fit.
const PLACEMENTS: [(&str, &str); 5] = [
    ("zero-copy", "zior"),
    ("read-mostly", "mior"),
    ("bulk-prefetch", "pior"),
    // Every third but the first, because 3 of 8 are rounded to that.
    ("stripe", "scccgccgc"),
    // Stripe s where (s + 1) * 3 / 8 is more than s * 3 / 8.
    ("stripe-even", "sccgccgcg"),
];

#[test]
fn every_placement_does_what_the_same_calls_in_the_source_do() {
    let Some(program) = walk("walk_placements", &["-g"]) else {
        return;
    };
    for machine in ["a100-pcie4-x86", "gh200"] {
        let memory = ["--machine", machine, "--gpu-memory", "6MiB"];
        let options = [&memory[..], &["--runs", "10"]].concat();
        let results = advise(&options, &program, &["8"]);
        let mut seen = 0;
        for row in rows_of(&results, "change") {
            if row["allocation"] != "(all)" {
                continue;
            }
            let mut placements = PLACEMENTS.iter();
            let found = placements.find(|(mode, _)| row["change"] == *mode);
            let Some((mode, by_hand)) = found else {
                panic!("{row}");
            };
            let expected = time_of(&memory, &program, &["8", "0", by_hand]);
            assert_eq!(
                number(&row, "time_ns"),
                expected,
                "{mode} on {machine}: {row}"
            );
            seen += 1;
        }
        assert_eq!(seen, PLACEMENTS.len());
    }
}

#[test]
fn a_placement_leaves_out_what_has_hints_of_its_own() {
    let Some(program) = walk("walk_left_out", &["-g"]) else {
        return;
    };
    let memory = [&A100[..], &["--gpu-memory", "6MiB"]].concat();
    let options = [&memory[..], &["--runs", "5", "--mode", "bulk-prefetch"]].concat();
    let results = advise(&options, &program, &["8"]);
    let rows = rows_of(&results, "change");
    let all = time_of(&memory, &program, &["8", "0", "pior"]);
    for (change, hint) in [
        ("read mostly", "1"),
        ("stay on the CPU, accessed by the GPU", "2"),
        ("prefer the GPU", "3"),
        ("prefetch", "4"),
    ] {
        let row = rows.iter().find(|row| row["change"] == change);
        let row = row.unwrap_or_else(|| panic!("{change} in {rows:?}"));
        assert_eq!(number(row, "time_before_ns"), all);
        let expected = time_of(&memory, &program, &["8", hint, "por"]);
        assert_eq!(number(row, "time_ns"), expected, "{change}");
    }
}

#[test]
fn the_advice_can_be_applied() {
    let Some(toolkit) = Toolkit::find() else {
        return;
    };
    let source = root().join("examples/cuda/hash_join.cu");
    let program = toolkit.compile(&source, "hash_join_advised", &["-g"]);
    let options = [&A100[..], &["--oversubscribe", "1.5", "--runs", "9"]].concat();
    let results = advise(&options, &program, &["4"]);
    let changes = rows_of(&results, "change");
    let kept: Vec<&Value> = changes
        .iter()
        .filter(|row| row["verdict"] == "kept")
        .collect();
    assert!(!kept.is_empty(), "{changes:?}");
    let before = changes
        .iter()
        .map(|row| number(row, "time_before_ns"))
        .max();
    let best = kept.iter().map(|row| number(row, "time_ns")).min();
    let (Some(before), Some(best)) = (before, best) else {
        panic!("no change");
    };
    assert!(best < before);
    let applied = pagemill(
        ADVISE,
        &[&options[..], &["--apply"]].concat(),
        &program,
        &["4"],
    );
    assert_eq!(applied.code, Some(0), "{}", applied.stderr);
    assert_eq!(
        applied.stdout,
        "hash_join: 1 of 1 values agree with the CPU\n"
    );
    let time = |ns: u64| human(&ns.into(), ColumnKind::TimeNs);
    let said = format!(
        "takes {} of simulated time instead of {}",
        time(best),
        time(before)
    );
    assert!(applied.stderr.contains(&said), "{said}: {}", applied.stderr);
    assert!(applied.stderr.contains("kept"), "{}", applied.stderr);
}

#[test]
fn times_that_a_program_prints_may_differ() {
    let Some(program) = walk("walk_times", &[]) else {
        return;
    };
    let options = [&A100[..], &["--runs", "16"]].concat();
    let learned = advise(&options, &program, &["4", "t"]);
    let ignoring = [&options[..], &["--ignore-lines", "time:"]].concat();
    let told = advise(&ignoring, &program, &["4", "t"]);
    for results in [&learned, &told] {
        let changes = rows_of(results, "change");
        let verdicts: Vec<&str> = changes
            .iter()
            .map(|row| row["verdict"].as_str().expect("a verdict"))
            .collect();
        assert!(verdicts.contains(&"kept"), "{verdicts:?}");
        assert!(
            !verdicts.iter().any(|verdict| verdict.contains("differs")),
            "{verdicts:?}"
        );
    }
    let about = |results: &Value| results["about"].as_str().expect("text").to_owned();
    assert!(about(&learned).contains("Ignored, "), "{}", about(&learned));
    assert!(!about(&told).contains("Ignored, "), "{}", about(&told));
}

#[test]
fn hints_without_effect_are_said_once_and_in_the_rows() {
    let Some(program) = walk("walk_unheeded", &[]) else {
        return;
    };
    let options = ["--machine", "gtx480", "--runs", "4", "--format", "json"];
    let finished = pagemill(ADVISE, &options, &program, &["4"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let said = finished
        .stderr
        .matches("have no effect under multi-range")
        .count();
    assert_eq!(said, 1, "{}", finished.stderr);
    let results: Value = serde_json::from_str(&finished.stdout).expect("JSON");
    let rows = rows_of(&results, "change");
    let unheeded = |row: &&Value| {
        row["unheeded_hints"]
            .as_u64()
            .is_some_and(|hints| hints > 0)
    };
    assert!(rows.iter().any(|row| unheeded(&row)), "{rows:?}");
}

#[test]
fn other_factors_are_judged() {
    let Some(program) = walk("walk_factors", &[]) else {
        return;
    };
    let more = [
        "--runs",
        "2",
        "--factors",
        "1,2",
        "--machines",
        "a100-pcie4-x86",
    ];
    let results = advise(&[&A100[..], &more].concat(), &program, &["8"]);
    let rows = rows_of(&results, "machine");
    assert_eq!(rows.len(), 2);
    // Sixteen MiB, all of it and a half.
    assert_eq!(number(&rows[0], "capacity_bytes"), 16 * MIB);
    assert_eq!(number(&rows[1], "capacity_bytes"), 8 * MIB);
    assert!(
        rows[0]["slowdown"].as_f64().expect("a ratio") <= 1.0,
        "{rows:?}"
    );
    assert_eq!(rows[0]["verdict"], "bearable");
    let about = results["about"].as_str().expect("text");
    assert!(about.contains("is bearable"), "{about}");
}

/// The machines of the repository that have a driver, by name.
fn driven_machines() -> Vec<String> {
    let files = std::fs::read_dir(root().join("machines")).expect("machines");
    let paths = files.map(|file| file.expect("a file").path());
    let driven = paths.filter(|path| {
        let text = std::fs::read_to_string(path).expect("a machine");
        text.lines().any(|line| line == "[driver]")
    });
    let name = |path: PathBuf| {
        path.file_stem()
            .expect("a name")
            .to_string_lossy()
            .into_owned()
    };
    let mut names: Vec<String> = driven.map(name).collect();
    names.sort();
    names
}

#[test]
fn all_machines_are_judged_and_everything_is_written() {
    let Some(program) = walk("walk_machines", &["-g"]) else {
        return;
    };
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("advise-all-machines");
    // What an earlier run left does not count.
    let _ = std::fs::remove_dir_all(&out);
    let folder = out.to_str().expect("UTF-8");
    let all = [
        "--runs",
        "1",
        "--machines",
        "all",
        "--factors",
        "1.5",
        "--out",
        folder,
    ];
    let results = advise(&[&A100[..], &all].concat(), &program, &["4"]);
    let rows = rows_of(&results, "machine");
    let mut judged: Vec<&str> = rows
        .iter()
        .filter_map(|row| row["machine"].as_str())
        .collect();
    judged.sort_unstable();
    assert_eq!(judged, driven_machines());
    for row in &rows {
        assert!(number(row, "time_ns") > 0, "{row}");
        let ratio = row["oversubscription"].as_f64().expect("a ratio");
        assert!((1.0..=1.5).contains(&ratio), "{row}");
    }
    let read = |file: &str| std::fs::read_to_string(out.join(file)).expect(file);
    let written: Value = serde_json::from_str(&read("results.json")).expect("JSON");
    assert_eq!(written["rows"], results["rows"]);
    let lines = read("results.csv").lines().count();
    assert_eq!(lines, 1 + results["rows"].as_array().expect("rows").len());
    let page = read("report.html");
    for part in [
        line_of("cudaMallocManaged(&in").as_str(),
        "gh200",
        "bearable",
    ] {
        assert!(page.contains(part), "no {part} in report.html");
    }
}

#[test]
fn hints_that_shared_page_tables_make_idle_are_said() {
    let Some(program) = walk("walk_shared_tables", &[]) else {
        return;
    };
    let options = ["--machine", "gh200", "--runs", "8", "--format", "json"];
    let finished = pagemill(ADVISE, &options, &program, &["4"]);
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let said = "have no effect on gh200, whose GPU walks the host's page tables";
    assert_eq!(
        finished.stderr.matches(said).count(),
        1,
        "{}",
        finished.stderr
    );
}

#[test]
fn what_cannot_be_advised_on_is_refused() {
    let error = run(&[
        "advise",
        "program",
        "--mode",
        "ideal-overlap",
        "--",
        "/bin/true",
    ])
    .error(2);
    assert!(error.contains("moves no pages"), "{error}");
    let error = run(&[
        "advise",
        "program",
        "--set",
        "transfer.stripe=[\"2 MiB\", \"4 MiB\"]",
        "--",
        "/bin/true",
    ]);
    assert!(error.error(2).contains("one value for each key"));
    let error = run(&["advise", "program", "--factor", "1.5", "--", "/bin/true"]).error(2);
    assert!(error.contains("unexpected argument '--factor'"), "{error}");
    let folder = tempfile::tempdir().expect("a folder");
    let plain = folder.path().join("plain");
    std::fs::write(&plain, "no program").expect("it can be written");
    let missing = folder.path().join("missing");
    for (program, remedy) in [
        (missing.as_path(), "correct the path after `--`"),
        (plain.as_path(), "chmod +x"),
        (folder.path(), "it is a folder"),
        (Path::new("pagemill-has-no-such-program"), "as ./NAME"),
        (Path::new("/bin/true"), "name a program that uses CUDA"),
    ] {
        for (command, options) in [
            (ADVISE, &[][..]),
            (ADVISE, &["--oversubscribe", "1.5"]),
            (&["cuda"], &[]),
        ] {
            let error = pagemill(command, options, program, &[]).error(2);
            assert!(error.contains(remedy), "{error}");
        }
    }

    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cuda/holds.cu");
    let Some(toolkit) = Toolkit::find() else {
        return;
    };
    let program = toolkit.compile(&source, "holds_unmanaged", &[]);
    let finished = pagemill(ADVISE, &[], &program, &["4", "0"]);
    assert_eq!(finished.code, Some(2), "{}", finished.stderr);
    assert!(
        finished.stderr.contains("no managed memory"),
        "{}",
        finished.stderr
    );
    let finished = pagemill(ADVISE, &["--oversubscribe", "2"], &program, &["0", "0"]);
    let error = finished.error(2);
    assert!(error.contains("leave the factor out"), "{error}");
    for factor in ["0", "NaN", "-1", "inf"] {
        let finished = pagemill(ADVISE, &["--oversubscribe", factor], &program, &["4", "0"]);
        let error = finished.error(2);
        assert!(error.contains("use a number above 0"), "{error}");
    }
    let no_driver = ["--machine", "gtx480", "--mode", "on-demand"];
    let error = pagemill(ADVISE, &no_driver, &program, &["4", "0"]).error(2);
    assert!(error.contains("use a machine with a [driver]"), "{error}");
    let finished = pagemill(ADVISE, &[], &program, &["0", "4", "5"]);
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
    for part in ["held it", "exit code 5 when it was run as it is"] {
        assert!(finished.stderr.contains(part), "{}", finished.stderr);
    }
}
