//! The search against programs that are formulas.

use std::sync::atomic::AtomicBool;

use pagemill_report::Value;
use pagemill_scenario::document::SourceText;
use pagemill_scenario::{CudaPoint, PointSpec, load_text};
use pagemill_sim::{AllocationReport, Report, Traffic};
use pagemill_wire::{Hint, Results, Sites, Stack};

use super::*;

fn spec() -> CudaPoint {
    let text = "title = \"t\"\nkind = \"cuda\"\nmachine = \"a100-pcie4-x86\"\n[program]\ncommand = [\"p\"]\n[transfer]\nmode = \"on-demand\"\n";
    let scenario = load_text(&SourceText::built_in("t", text), &[]).expect("it is sound");
    match scenario.points.into_iter().next().map(|point| point.spec) {
        Some(PointSpec::Cuda(point)) => *point,
        _ => panic!("another kind"),
    }
}

fn variable(name: &str) -> Stack {
    Stack {
        frames: Vec::new(),
        variable: Some(name.to_owned()),
    }
}

/// A run of a program with the allocations `a`, which moves less than `b`.
fn trial(time_ns: u64, output: &str) -> Trial {
    let allocation = |migrated_bytes| {
        let mut traffic = Traffic::default();
        traffic.migrated_bytes = migrated_bytes;
        traffic.first_launch = Some(0);
        AllocationReport { bytes: 10, traffic }
    };
    let report = Report {
        time_ns,
        allocations: vec![allocation(5), allocation(9)],
        ..Report::default()
    };
    let sites = Sites {
        stacks: vec![variable("a"), variable("b")],
        allocations: vec![0, 1],
        launches: Vec::new(),
    };
    let mut results = Results::new("p".to_owned(), 1, report, Vec::new());
    results.sites = Some(sites);
    Trial {
        exit_code: 0,
        output: output.into(),
        errors: Vec::new(),
        results: vec![results],
    }
}

fn has(configuration: &Configuration, name: &str, hint: &Hint) -> bool {
    let site = variable(name).key();
    let mut hints = configuration.hints.iter();
    hints.any(|own| own.site == site && own.hint == *hint)
}

/// Searches within `runs` runs, each of which takes what `time` says.
fn searched(runs: usize, time: impl Fn(&Configuration) -> (u64, &'static str)) -> (Answer, usize) {
    let spec = spec();
    let question = Question {
        spec: &spec,
        runs,
        ignored: &[],
        stop: &AtomicBool::new(false),
    };
    let mut made = 0;
    let mut run = |configuration: &Configuration| {
        made += 1;
        let (time_ns, output) = time(configuration);
        Ok(trial(time_ns, output))
    };
    let answer = search(&question, &mut run, &mut |_, _| {}).expect("it runs");
    (answer, made)
}

#[test]
fn what_gains_is_kept_and_adds_up() {
    let prefetch = Hint::Prefetch(vec![Some(0)]);
    let (answer, made) = searched(60, |configuration| {
        let mut time = 1000;
        time -= if has(configuration, "b", &Hint::StayOnCpu) {
            300
        } else {
            0
        };
        time -= if has(configuration, "b", &Hint::ReadMostly) {
            200
        } else {
            0
        };
        time -= if has(configuration, "a", &Hint::ReadMostly) {
            100
        } else {
            0
        };
        time -= if has(configuration, "a", &prefetch) {
            50
        } else {
            0
        };
        time += if has(configuration, "a", &Hint::StayOnCpu) {
            500
        } else {
            0
        };
        (time, "")
    });
    assert_eq!((answer.before_ns, answer.best_ns), (1000, 550));
    assert_eq!(answer.runs, made);
    assert!(has(&answer.best, "b", &Hint::StayOnCpu));
    assert!(has(&answer.best, "a", &Hint::ReadMostly));
    assert!(has(&answer.best, "a", &prefetch));
    assert_eq!(answer.best.hints.len(), 3);
    // The allocation with more traffic is tried first.
    let first = answer
        .tried
        .iter()
        .find(|tried| matches!(tried.change, Change::Hint(_)));
    let Some(Change::Hint(first)) = first.map(|tried| &tried.change) else {
        panic!("hints are tried");
    };
    assert_eq!(first.site, variable("b").key());
}

#[test]
fn a_placement_of_everything_may_be_better() {
    let (answer, _) = searched(40, |configuration| match configuration.mode {
        Some("stripe") => (400, ""),
        Some(_) => (2000, ""),
        None if has(configuration, "b", &Hint::ReadMostly) => (700, ""),
        None => (1000, ""),
    });
    assert_eq!(answer.best.mode, Some("stripe"));
    assert_eq!(answer.best_ns, 400);
    let kept = answer
        .tried
        .iter()
        .filter(|tried| tried.verdict == Verdict::Kept);
    assert_eq!(kept.count(), 1);
}

#[test]
fn hints_are_tried_on_top_of_a_placement() {
    let time = |configuration: &Configuration| {
        let mut time = match configuration.mode {
            Some("stripe") => 600,
            Some(_) => 2000,
            None => 1000,
        };
        let is_placed = configuration.mode == Some("stripe");
        if is_placed && has(configuration, "b", &Hint::StayOnCpu) {
            time -= 100;
        }
        if is_placed && has(configuration, "a", &Hint::LeaveAlone) {
            time -= 50;
        }
        if !is_placed && has(configuration, "a", &Hint::ReadMostly) {
            time -= 300;
        }
        (time, "")
    };
    let (answer, made) = searched(60, time);
    assert!(made <= 60);
    assert_eq!((answer.best.mode, answer.best_ns), (Some("stripe"), 450));
    assert_eq!(time(&answer.best).0, answer.best_ns);
    assert_eq!(answer.best.hints.len(), 2);
    let kept = answer
        .tried
        .iter()
        .filter(|tried| tried.verdict == Verdict::Kept);
    let times: Vec<(u64, u64)> = kept
        .map(|tried| (tried.before_ns, tried.after_ns))
        .collect();
    assert_eq!(times, [(1000, 600), (600, 500), (500, 450)]);
    let set = super::super::result_set(&spec(), &answer, 0);
    let call = set.rows.iter().find_map(|row| {
        let is_placement = row.get("allocation") == Some(&Value::from("(all)"));
        let is_kept = row.get("verdict") == Some(&Value::from("kept"));
        row.get("call").filter(|_| is_placement && is_kept)
    });
    let call = call.map(Value::to_string).unwrap_or_default();
    assert!(call.starts_with("but for allocations"), "{call}");
}

#[test]
fn more_runs_never_make_the_advice_slower() {
    // A placement gains more than each hint, and two hints more than the placement.
    let time = |configuration: &Configuration| {
        let hints = configuration.hints.len() as u64;
        let time = match configuration.mode {
            Some("bulk-prefetch") => 700 - 10 * hints,
            Some(_) => 900,
            None => 1000 - 200 * hints,
        };
        (time, "")
    };
    let mut before = u64::MAX;
    for runs in 1..60 {
        let (answer, made) = searched(runs, time);
        assert!(made <= runs && answer.best_ns <= answer.before_ns);
        assert_eq!(time(&answer.best).0, answer.best_ns, "{runs} runs");
        // A search of fewer than ten runs tries no placement.
        assert!(answer.best_ns <= before || runs == 10, "{runs} runs");
        before = answer.best_ns;
    }
    assert_eq!(before, 600);
}

#[test]
fn other_results_are_never_advised() {
    let (answer, _) = searched(40, |configuration| match configuration.hints.is_empty() {
        true => (1000, "right\n"),
        false => (10, "wrong\n"),
    });
    assert_eq!(answer.best, Configuration::default());
    let differ = answer
        .tried
        .iter()
        .filter(|tried| tried.verdict == Verdict::OutputDiffers(1));
    assert!(differ.count() >= 8);
}

#[test]
fn what_is_known_when_the_search_is_stopped_is_the_answer() {
    for last in [2, 5, 9] {
        let (spec, stop) = (spec(), AtomicBool::new(false));
        let question = Question {
            spec: &spec,
            runs: 60,
            ignored: &[],
            stop: &stop,
        };
        let mut made = 0;
        let mut run = |configuration: &Configuration| {
            made += 1;
            if made == last {
                // The signal ends the program that runs, too.
                stop.store(true, Ordering::Relaxed);
                return Err(PointError::Failed("ended by a signal".to_owned()));
            }
            Ok(trial(1000 - 10 * configuration.hints.len() as u64, ""))
        };
        let answer = search(&question, &mut run, &mut |_, _| {}).expect("it runs");
        assert_eq!((answer.runs, made), (last - 1, last));
        assert_eq!(answer.tried.len(), last - 2);
    }
}

#[test]
fn no_more_runs_are_made_than_allowed() {
    for runs in [1, 2, 7, 12] {
        let (answer, made) = searched(runs, |configuration| {
            (1000 - 10 * configuration.hints.len() as u64, "")
        });
        assert!(made <= runs && answer.runs == made, "{runs}: {made}");
    }
}

#[test]
fn the_rows_say_what_was_found() {
    let (answer, _) = searched(40, |configuration| {
        let stays = has(configuration, "b", &Hint::StayOnCpu);
        (if stays { 500 } else { 1000 }, "")
    });
    let spec = spec();
    let set = super::super::result_set(&spec, &answer, 0);
    let kept = set
        .rows
        .iter()
        .filter(|row| row.get("verdict") == Some(&Value::from("kept")));
    let kept: Vec<_> = kept.collect();
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].get("allocation"), Some(&Value::from("b")));
    assert_eq!(kept[0].number("speedup"), Some(2.0));
    assert_eq!(set.rows[0].get("table"), Some(&Value::from("allocation")));
    for row in &set.rows {
        for (name, _) in row.parameters.iter().chain(&row.metrics) {
            assert!(
                set.columns.iter().any(|column| column.name == *name),
                "{name}"
            );
        }
    }
}

/// Searches a program whose output is a function of how it is run and of how often it was.
fn judged(output: impl Fn(&Configuration, usize) -> String) -> (Answer, String) {
    let spec = spec();
    let question = Question {
        spec: &spec,
        runs: 60,
        ignored: &[],
        stop: &AtomicBool::new(false),
    };
    let mut made = 0;
    let mut run = |configuration: &Configuration| {
        made += 1;
        let is_fast = has(configuration, "b", &Hint::StayOnCpu);
        let time_ns = if is_fast { 100 } else { 1000 };
        Ok(trial(time_ns, &output(configuration, made)))
    };
    let answer = search(&question, &mut run, &mut |_, _| {}).expect("it runs");
    let about = super::super::result_set(&spec, &answer, 0).about;
    (answer, about)
}

#[test]
fn what_a_program_prints_by_itself_hides_no_gain() {
    let time = |configuration: &Configuration| match configuration {
        // Simulated times are the same in every run on the same GPU.
        slower if slower.is_slower => "9.5",
        fast if has(fast, "b", &Hint::StayOnCpu) => "1.1",
        _ => "8.2",
    };
    let (answer, about) = judged(|how, _| format!("sum 7, {} ms\n", time(how)));
    assert_eq!(answer.best_ns, 100, "{about}");
    assert!(about.contains("# in line 1, \"sum 7, # ms\""), "{about}");
    // Process numbers, the order of threads, lines by chance.
    let (answer, about) = judged(|_, made| {
        let lines = ["thread 0 ok\n", "thread 1 ok\n"];
        let (one, other) = (lines[made % 2], lines[(made + 1) % 2]);
        format!("[{made}]\n{}{one}{other}sum 7\n", "step\n".repeat(made % 5))
    });
    assert_eq!(answer.best_ns, 100, "{about}");
    // A result that is wrong beside a time is refused, and nothing is said to be best left alone.
    let (answer, about) = judged(|how, made| match has(how, "b", &Hint::StayOnCpu) {
        true => format!("sum 8, {made} ms\n"),
        false => format!("sum 7, {made} ms\n"),
    });
    assert_eq!(answer.best_ns, 1000, "{about}");
    assert!(about.contains("--ignore-lines"), "{about}");
    assert!(!about.contains("leave it as it is"), "{about}");
    // Nothing stays the same: nothing was judged, which is said.
    let (answer, about) = judged(|_, made| format!("{made} {}\n", "x".repeat(made)));
    assert_eq!(answer.best_ns, 100, "{about}");
    assert!(about.contains("not judged"), "{about}");
    assert!(about.contains("--ignore-lines"), "{about}");
}
