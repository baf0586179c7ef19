//! Everything a user can ask for that is no run: help, listings, doctor, and mistakes.

use std::io::Read;
use std::process::Stdio;

use crate::common::{pagemill, run, run_in};
use insta::assert_snapshot;
use serde_json::Value;

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Change detector: help is read by people and quoted in documents.
#[test]
fn help() {
    assert_snapshot!(run(&["--help"]).result(), @r#"
Simulates page-level memory management: which pages move, when, and at what cost

Usage: pagemill <COMMAND>

Simulate:
  run      Run a scenario and show its results
  list     List machines, workloads, policies and scenarios
  report   Make a site of several runs, compare two, or show where the pages of one were

Run your programs:
  cuda     Run an unmodified CUDA program on a simulated GPU
  gpu      Run a CUDA program on a real GPU with memory hints, unmodified
  mpi      Run an MPI program over the simulated network interface
  pager    Run programs with less memory than they use
  zero     Use or serve huge pages that are cleared in advance
  color    Give programs their own part of a shared cache
  mrc      Compute the miss curve of a trace or a program

Decide:
  advise   Advise on memory hints, places for data, settings of the pager and kinds of pages
  rank     Rank policies by their time over several programs, with confidence

Help:
  doctor   Show what this machine has and how to enable the rest; measure it
  help     Print this message or the help of the given subcommand(s)

Options:
  -h, --help     Print help
  -V, --version  Print version

Exit codes: 0 done, 1 the run failed, 2 bad usage or input, 3 the GPU, kernel module or emulator
that was asked for is not there, 130 ended by Ctrl-C.
"#);
    assert_snapshot!(run(&["run", "--help"]).result(), @r#"
Run a scenario and show its results

Usage: pagemill run [OPTIONS] <SCENARIO>

Arguments:
  <SCENARIO>
          A scenario file, or the name of a built-in scenario

Options:
      --machine <NAME,..>
          The machine instead of the scenario's, by name or by file; several are swept

      --set <KEY=VALUE>
          Replace a value or a sweep of the scenario or its machine; a list sweeps
          
          Examples: --set transfer.mode=whole-page, --set 'transfer.unit=["1 KiB", "4 KiB"]'

      --jobs <N>
          Points to run at the same time [default: the number of cores]

      --threads <N>
          Threads of one point, where kernels run without time [default: the cores that no other
          point uses]

      --format <FORMAT>
          What to write to standard output
          
          [default: table]
          [possible values: table, json, csv]

      --out <DIR>
          Also write results.json, results.csv, results.parquet, report.html and timeline.pftrace
          there
          
          Replaced as a whole at the end; refused if it holds anything but earlier results.

      --keep <DIR>
          Keep each point there as it ends (parts/), and the results of all at the end (results/)
          
          Points that the folder holds are not run again: a killed run resumes where it stopped.
          `pagemill.sweep` of Python uses the same folder, on any number of machines.

  -h, --help
          Print help (see a summary with '-h')
"#);
    assert_snapshot!(run(&["list", "--help"]).result(), @r#"
List machines, workloads, policies and scenarios

Usage: pagemill list [OPTIONS] <WHAT>

Arguments:
  <WHAT>  What to list [possible values: machines, workloads, policies, scenarios]

Options:
      --format <FORMAT>  What to write to standard output [default: table] [possible values: table,
                         json]
  -h, --help             Print help
"#);
}

#[test]
fn every_command_is_in_the_completions_and_in_the_manual() {
    let folder = tempfile::tempdir().expect("a folder");
    let pages = folder.path().join("man");
    let bash = run(&["completions", "bash"]).result();
    assert!(bash.contains("PAGEMILL_COMPLETE"), "{bash}");
    run(&["manual", "--out", pages.to_str().expect("UTF-8")]).result();
    let manual = run(&["manual"]).result();
    for command in ["run", "doctor", "report", "zero"] {
        assert!(pages.join(format!("pagemill-{command}.1")).is_file());
        let section = format!(".SH \"PAGEMILL {}\"", command.to_uppercase());
        assert!(manual.contains(&section), "{section}");
    }
    let page = std::fs::read_to_string(pages.join("pagemill-cuda.1")).expect("a page");
    for part in [
        ".SH SYNOPSIS\n.nf\npagemill cuda [OPTIONS] \\-\\- <PROGRAM>...\n",
        ".SH EXAMPLES\n.nf\npagemill cuda \\-\\- ./program\n",
        ".SH \"EXIT STATUS\"\n0 done, 1 the run failed",
    ] {
        assert!(page.contains(part), "{part}\n{page}");
    }
    assert!(
        manual.starts_with(".ie") && manual.contains(".TH pagemill 1"),
        "{manual}"
    );
    assert_eq!(run(&["completions", "csh"]).code, Some(2));
}

/// What bash offers for the last of `words`.
fn completed_by_bash(words: &[&str]) -> Vec<String> {
    let command = env!("CARGO_BIN_EXE_pagemill");
    let folder = std::path::Path::new(command).parent().expect("a folder");
    let script = format!(
        "export PATH='{}':$PATH; source <(pagemill completions bash); COMP_WORDS=({}); COMP_CWORD={}; COMP_TYPE=9; \
         eval \"$(complete -p pagemill | sed 's/.*-F \\([^ ]*\\).*/\\1/') pagemill ''\"; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        folder.display(),
        words.join(" "),
        words.len() - 1
    );
    let output = std::process::Command::new("bash")
        .args(["-c", &script])
        .output();
    let output = output.expect("there is a bash");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    text.lines().map(|line| line.trim().to_owned()).collect()
}

#[test]
fn bash_completes_commands_options_and_names() {
    let offers = |words: &[&str], one: &str| {
        let offered = completed_by_bash(words);
        assert!(
            offered.iter().any(|word| word == one),
            "{words:?}: {offered:?}"
        );
    };
    offers(&["pagemill", "rep"], "report");
    offers(&["pagemill", "report", "ns"], "nsight");
    offers(&["pagemill", "run", "uvm-on"], "uvm-on-demand");
    offers(
        &["pagemill", "cuda", "--machine", "a100-p"],
        "a100-pcie4-x86",
    );
    offers(&["pagemill", "cuda", "--mach"], "--machine");
    offers(&["pagemill", "mpi", "--machine", "pn"], "pni");
    let cards = completed_by_bash(&["pagemill", "cuda", "--machine", "pn"]);
    assert!(!cards.contains(&"pni".to_owned()), "{cards:?}");
    assert!(!completed_by_bash(&["pagemill", "man"]).contains(&"manual".to_owned()));
}

#[test]
fn what_options_say_wrong_has_no_place_in_a_file_and_near_names() {
    for (arguments, near) in [
        (
            &["cuda", "--machine", "h100-smx", "--", "true"][..],
            "did you mean `h100-sxm`?",
        ),
        (
            &["advise", "program", "--machine", "a100", "--", "true"],
            "did you mean `a100-pcie4-x86`?",
        ),
        (&["cuda", "--mode", "on-demnd", "--", "true"], "`on-demand`"),
        (
            &["cuda", "--hints", "/no/such/h.toml", "--", "true"],
            "there is no folder /no/such",
        ),
        (&["run", "smoke", "--jobs", "0"], "at least 1"),
        (&["run", "smoke", "--keep", "/dev/null"], "it is no folder"),
        (
            &["rank", "quickstart", "--metric", "tme_ns"],
            "did you mean `time_ns`?",
        ),
    ] {
        let error = run(arguments).error(2);
        assert!(error.contains(near), "{arguments:?}: {error}");
        assert!(!error.contains("built in") && error.len() < 500, "{error}");
    }
}

#[test]
fn letters_that_changed_places_are_one_mistake() {
    for (typed, meant) in [("rnu", "'run'"), ("rnak", "'rank'"), ("dotcor", "'doctor'")] {
        let said = run(&[typed]).error(2);
        assert!(said.contains(meant), "{typed}: {said}");
    }
    assert!(!run(&["walk"]).error(2).contains("similar"));
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
        &["run", "smoke", "--jobs", "many"],
        &["run", "smoke", "--format", "xml"],
        &["run", "smoke", "--set"],
        &["list"],
        &["list", "colors"],
        &["doctor", "now"],
    ] {
        let message = run(arguments).error(2);
        assert!(
            message.contains("Usage") || message.contains("For more information"),
            "{arguments:?}: {message}"
        );
    }
    let none = run(&["run", "smoke", "--jobs", "0"]).error(2);
    assert!(
        none.contains("--jobs <N> is 0: use a number of at least 1"),
        "{none}"
    );
}

/// Change detector: the shape of a message about bad input.
#[test]
fn bad_input_is_code_2_and_says_where() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "title = \"x\"\nkind = \"gpu\"\nmachine = \"gtx480\"\n[workload]\nname = \"bfs\"\n[transfer]\nmode = \"whole-page\"\npage_size = \"3 KiB\"\n";
    std::fs::write(folder.path().join("bad.toml"), text).expect("a scenario");
    assert_snapshot!(run_in(folder.path(), &["run", "bad.toml"]).error(2), @r#"
 × `transfer.page_size` is "3 KiB": a page size is a power of two from 256 B to 1 GiB
  ╭─[bad.toml:8:13]
7 │ mode = "whole-page"
8 │ page_size = "3 KiB"
  ·             ───────
  ╰────
 help: the next page size is "4 KiB"
"#);
    assert_snapshot!(run_in(folder.path(), &["run", "bed.toml"]).error(2), @r#"
× there is no file bed.toml
help: . holds: bad.toml
"#);
    assert_snapshot!(run(&["run", "smoke", "--set", "machine.link.bandwidth=0 GB/s"]).error(2), @r#"
 × `machine.link.bandwidth` is "0 GB/s": a bandwidth above zero is needed
  ╭─[--set:1:24]
1 │ machine.link.bandwidth=0 GB/s
  ·                        ──────
  ╰────
 help: write for example "16 GB/s"
"#);
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
    assert_eq!(backends.len(), 11);
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
fn output_that_cannot_be_written_is_a_failure() {
    for arguments in [
        &["--help"][..],
        &["run", "--help"],
        &["--version"],
        &["list", "workloads"],
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        let limited = r#"trap "" XFSZ; ulimit -f 0; exec "$0" "$@" > out"#;
        let mut command = std::process::Command::new("sh");
        command.args(["-c", limited, env!("CARGO_BIN_EXE_pagemill")]);
        let output = command.args(arguments).current_dir(folder.path()).output();
        let output = output.expect("the command starts");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {errors}");
        assert!(errors.contains("File too large"), "{errors}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    for arguments in [
        &["--help"][..],
        &["--version"],
        &["list", "workloads"],
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

#[test]
fn a_machine_is_chosen_by_one_option() {
    let folder = tempfile::tempdir().expect("a folder");
    let set = [
        "run",
        "quickstart",
        "--format",
        "json",
        "--set",
        "machine=v100-pcie",
    ];
    let named = [
        "run",
        "quickstart",
        "--format",
        "json",
        "--machine",
        "v100-pcie",
    ];
    let (set, named) = (run_in(folder.path(), &set), run_in(folder.path(), &named));
    assert_eq!(
        (named.code, &named.stdout),
        (Some(0), &set.stdout),
        "{}",
        named.stderr
    );
    let two = [
        "run",
        "quickstart",
        "--machine",
        "v100-pcie,h100",
        "--format",
        "csv",
    ];
    assert_eq!(run_in(folder.path(), &two).code, Some(0));
    let both = [
        "run",
        "quickstart",
        "--machine",
        "h100",
        "--set",
        "machine=v100-pcie",
    ];
    let error = run_in(folder.path(), &both).error(2);
    assert!(error.contains("both name the machine"), "{error}");
}

#[test]
fn a_profile_of_nsight_systems_is_read_by_the_line_that_is_said() {
    for words in [
        &["report", "nsight", "it's.sqlite", "--format", "json"][..],
        &["report", "nsight", "it's.sqlite"],
    ] {
        let finished = run(words);
        assert_eq!(finished.code, Some(2), "{}", finished.stdout);
        let line =
            "python3 -c 'import pagemill; pagemill.nsight(\"it'\\''s.sqlite\").save(\"profiled\")'";
        assert!(finished.stderr.contains(line), "{}", finished.stderr);
    }
}

#[test]
fn a_language_model_is_sized_by_the_line_that_is_said() {
    for words in [
        &["advise", "model", "a b.gguf", "--machine", "gh200"][..],
        &[
            "advise",
            "model",
            "a b.gguf",
            "--machine",
            "gh200",
            "--format",
            "json",
        ],
    ] {
        let error = run(words).error(2);
        let line = "python3 examples/model_size.py 'a b.gguf' --machine gh200";
        assert!(error.contains(line), "{error}");
    }
}
