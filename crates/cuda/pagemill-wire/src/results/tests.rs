use super::*;
use pagemill_sim::{ExecutionStats, LaunchStats};

fn launch(instructions: u64) -> LaunchReport {
    let execution = ExecutionStats {
        warp_instructions: instructions,
        ..ExecutionStats::default()
    };
    LaunchReport {
        kernel: "k".to_owned(),
        stats: LaunchStats {
            execution,
            ..LaunchStats::default()
        },
    }
}

fn results(program: &str, launches: Vec<LaunchReport>) -> Results {
    let report = Report {
        time_ns: 7,
        launches,
        ..Report::default()
    };
    let failed = FailedLaunches {
        kernel: "k".to_owned(),
        status: "cudaErrorInvalidPtx".to_owned(),
        cause: "line 3".to_owned(),
        launches: 5,
    };
    Results::new(program.to_owned(), 1, report, vec![failed])
}

#[test]
fn what_is_written_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = |pid| Journal::new(folder.path(), pid).expect("it can be made");
    let whole = results("a", vec![launch(3)]);
    journal(20)
        .finish(whole.clone())
        .expect("it can be written");
    journal(3)
        .finish(results("b", Vec::new()))
        .expect("it can be written");
    journal(20)
        .finish(results("by exec", Vec::new()))
        .expect("it can be written");
    let read = Results::read_all(folder.path()).expect("they can be read");
    let programs: Vec<&str> = read.iter().map(|one| one.program.as_str()).collect();
    assert_eq!(programs, ["b", "a", "by exec"]);
    assert_eq!(read[1], whole);
    std::fs::write(folder.path().join("results-4-0.json"), "{}").expect("it can be written");
    assert!(Results::read_all(folder.path()).is_err());
}

/// However much of the last launch is there: the launches before it are, and the totals are theirs.
#[test]
fn what_a_program_kept_is_read_if_it_ends_at_any_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut journal = Journal::new(folder.path(), 1).expect("it can be made");
    let mut early = results("a", Vec::new());
    early.is_whole = false;
    journal.write(&early).expect("it can be written");
    let path = launches_file(folder.path(), "1-0");
    let length = || std::fs::metadata(&path).expect("it is there").len();
    let all = [launch(3), launch(40), launch(500)];
    journal.add_launches(&all[..2]).expect("it can be written");
    let before = length();
    journal.add_launches(&all).expect("it can be written");
    for cut in (before..=length()).rev() {
        let file = std::fs::File::options().write(true).open(&path);
        file.and_then(|file| file.set_len(cut)).expect("it is cut");
        let read = Results::read_all(folder.path()).expect("they can be read");
        let [Results { report, .. }] = &read[..] else {
            panic!("one program");
        };
        let is_last = cut == before;
        let kept = if report.launches.len() == 3 { 543 } else { 43 };
        assert_eq!(report.execution.warp_instructions, kept, "{cut}");
        assert!(report.launches.len() >= 2 && !(is_last && kept == 543));
    }
}
