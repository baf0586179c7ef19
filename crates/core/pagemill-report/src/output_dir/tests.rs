use super::*;

const OLD: &str = "{\n  \"schema\": \"pagemill-results/2\",\n  \"seed\": 1\n}\n";
const NEW: &str = "{\n  \"schema\": \"pagemill-results/2\",\n  \"seed\": 2\n}\n";

const STEPS: [Step; 7] = [
    Step::Create,
    Step::WriteFile,
    Step::SyncFile,
    Step::SyncStaging,
    Step::Exchange,
    Step::MoveAside,
    Step::MoveIn,
];

fn failing(step: Step) -> Fault {
    Box::new(move |at| {
        if at == step {
            Err(io::Error::other("injected"))
        } else {
            Ok(())
        }
    })
}

fn write_new(mut out: OutputDir) -> Result<(), OutputDirError> {
    out.write("results.csv", |file| file.write_all(b"seed\r\n2\r\n"))?;
    out.write("results.json", |file| file.write_all(NEW.as_bytes()))?;
    out.commit()
}

fn old_results(dir: &Path) -> PathBuf {
    let target = dir.join("out");
    fs::create_dir(&target).unwrap();
    fs::write(target.join("results.json"), OLD).unwrap();
    fs::write(target.join("report.html"), "old").unwrap();
    target
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn assert_old(dir: &Path) {
    assert_eq!(names(dir), ["out"], "nothing is left beside the target");
    assert_eq!(names(&dir.join("out")), ["report.html", "results.json"]);
    assert_eq!(
        fs::read_to_string(dir.join("out/results.json")).unwrap(),
        OLD
    );
}

fn assert_new(dir: &Path) {
    assert_eq!(names(dir), ["out"], "nothing is left beside the target");
    assert_eq!(names(&dir.join("out")), ["results.csv", "results.json"]);
    assert_eq!(
        fs::read_to_string(dir.join("out/results.json")).unwrap(),
        NEW
    );
}

#[test]
fn a_new_directory_appears_whole() {
    let dir = tempfile::tempdir().unwrap();
    write_new(OutputDir::stage(&dir.path().join("out")).unwrap()).unwrap();
    assert_new(dir.path());
}

#[test]
fn missing_parents_are_made() {
    let dir = tempfile::tempdir().unwrap();
    write_new(OutputDir::stage(&dir.path().join("a/b/out")).unwrap()).unwrap();
    assert_new(&dir.path().join("a/b"));
}

#[test]
fn old_results_are_replaced_whole() {
    let dir = tempfile::tempdir().unwrap();
    let target = old_results(dir.path());
    write_new(OutputDir::stage(&target).unwrap()).unwrap();
    assert_new(dir.path());
}

#[test]
fn a_file_system_that_cannot_swap_replaces_in_two_steps() {
    let dir = tempfile::tempdir().unwrap();
    let target = old_results(dir.path());
    let out = OutputDir::stage_with(&target, failing(Step::Exchange)).unwrap();
    write_new(out).unwrap();
    assert_new(dir.path());
}

#[test]
fn whatever_fails_the_old_results_stay() {
    for step in STEPS {
        for nth in 0..2 {
            let dir = tempfile::tempdir().unwrap();
            let target = old_results(dir.path());
            let mut passed = 0;
            let fault: Fault = Box::new(move |at| {
                // The two-step way is only taken where the swap fails.
                let needs_no_swap = matches!(step, Step::MoveAside | Step::MoveIn);
                if at == Step::Exchange && needs_no_swap {
                    return Err(io::Error::other("cannot swap"));
                }
                if at != step || passed < nth {
                    passed += usize::from(at == step);
                    return Ok(());
                }
                Err(io::Error::other(format!("injected at {at:?}")))
            });
            let result = OutputDir::stage_with(&target, fault).and_then(write_new);
            match result {
                Err(error) => {
                    assert!(error.to_string().contains("out"), "{error}");
                    assert_old(dir.path());
                }
                // The step was not reached that often, or there was another way.
                Ok(()) => {
                    assert!(nth > 0 || step == Step::Exchange, "{step:?}");
                    assert_new(dir.path());
                }
            }
        }
    }
}

#[test]
fn whatever_fails_nothing_new_appears() {
    for step in [
        Step::Create,
        Step::WriteFile,
        Step::SyncFile,
        Step::SyncStaging,
        Step::MoveIn,
    ] {
        let dir = tempfile::tempdir().unwrap();
        let out = OutputDir::stage_with(&dir.path().join("out"), failing(step));
        let result = out.and_then(write_new);
        assert!(result.is_err(), "{step:?}");
        assert_eq!(names(dir.path()), [""; 0], "{step:?}");
    }
}

#[test]
fn a_writer_that_fails_half_way_leaves_the_old_results() {
    let dir = tempfile::tempdir().unwrap();
    let target = old_results(dir.path());
    let mut out = OutputDir::stage(&target).unwrap();
    let error = out
        .write("results.json", |file| {
            file.write_all(b"{")?;
            Err(io::Error::other("disk full"))
        })
        .unwrap_err();
    assert!(
        error.to_string().contains("results.json: disk full"),
        "{error}"
    );
    drop(out);
    assert_old(dir.path());
}

#[test]
fn foreign_directories_are_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let target = old_results(dir.path());
    fs::write(target.join("thesis.tex"), "years of work").unwrap();
    let error = OutputDir::stage(&target).err().unwrap().to_string();
    assert!(
        error.contains("thesis.tex") && error.contains("another directory"),
        "{error}"
    );
    fs::remove_file(target.join("thesis.tex")).unwrap();

    fs::write(target.join("results.json"), "{}").unwrap();
    let error = OutputDir::check(&target).unwrap_err().to_string();
    assert!(
        error.contains("holds no `results.json` of pagemill"),
        "{error}"
    );

    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(
        OutputDir::check(&file)
            .unwrap_err()
            .to_string()
            .contains("is not a directory")
    );
    assert!(OutputDir::check(Path::new("/")).is_err());
}

#[test]
fn a_directory_that_turns_foreign_during_the_run_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let target = old_results(dir.path());
    let out = OutputDir::stage(&target).unwrap();
    fs::write(target.join("notes.txt"), "mine").unwrap();
    assert!(matches!(
        write_new(out),
        Err(OutputDirError::NotOurs { .. })
    ));
    assert_eq!(
        fs::read_to_string(target.join("notes.txt")).unwrap(),
        "mine"
    );
    assert_eq!(names(dir.path()), ["out"]);
}

#[test]
fn empty_directories_and_links_to_results_are_fine() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("out");
    fs::create_dir(&target).unwrap();
    write_new(OutputDir::stage(&target).unwrap()).unwrap();
    assert_new(dir.path());
    if cfg!(unix) {
        #[cfg(unix)]
        std::os::unix::fs::symlink("out", dir.path().join("latest")).unwrap();
        write_new(OutputDir::stage(&dir.path().join("latest")).unwrap()).unwrap();
        assert_eq!(names(dir.path()), ["latest", "out"]);
        assert!(dir.path().join("latest").is_symlink());
    }
}

#[test]
fn only_files_of_a_results_directory_are_written() {
    let dir = tempfile::tempdir().unwrap();
    let mut out = OutputDir::stage(&dir.path().join("out")).unwrap();
    let error = out.write("../escape", |_| Ok(())).unwrap_err();
    assert!(matches!(error, OutputDirError::UnknownFile { .. }));
}

#[test]
fn the_marker_is_how_results_begin() {
    let mut text = Vec::new();
    crate::json::write(&crate::ResultSet::default(), &mut text).unwrap();
    assert!(text.starts_with(MARKER.as_bytes()));
}

/// What a process that was killed at that point leaves: nothing is dropped, and its lock is gone.
fn abandon(dir: &Path, name: &str, files: &[&str]) -> PathBuf {
    let path = dir.join(name);
    fs::create_dir(&path).unwrap();
    for file in files {
        fs::write(path.join(file), OLD).unwrap();
    }
    path
}

#[test]
fn what_killed_processes_left_is_removed_by_the_next_one() {
    let dir = tempfile::tempdir().unwrap();
    let target = old_results(dir.path());
    abandon(dir.path(), ".out.pagemill-new-1-0", &["results.csv"]);
    abandon(dir.path(), ".other-1-2.pagemill-new-77-3", &[]);
    abandon(dir.path(), ".out.pagemill-old-1-0", &["results.json"]);
    OutputDir::check(&target).unwrap();
    assert_old(dir.path());
    abandon(dir.path(), ".out.pagemill-new-1-0", &["results.csv"]);
    write_new(OutputDir::stage(&target).unwrap()).unwrap();
    assert_new(dir.path());
}

#[test]
fn old_results_that_stepped_aside_for_a_killed_process_come_back() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("out");
    let files = ["results.json", "report.html"];
    abandon(dir.path(), ".out.pagemill-old-1-0", &files);
    abandon(dir.path(), ".out.pagemill-new-1-0", &["results.csv"]);
    OutputDir::check(&target).unwrap();
    assert_old(dir.path());
}

#[test]
fn folders_of_living_processes_and_of_others_stay() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("out");
    let mut staged = OutputDir::stage(&target).unwrap();
    for foreign in [
        ".out.pagemill-new-1",
        ".out.pagemill-new-1-0x",
        ".out.pagemill-new--0",
        ".out.pagemill-now-1-0",
        "out.pagemill-new-1-0",
        ".pagemill-new-1-0",
    ] {
        abandon(dir.path(), foreign, &[]);
    }
    let elsewhere = tempfile::tempdir().unwrap();
    let link = dir.path().join(".out.pagemill-new-1-0");
    std::os::unix::fs::symlink(elsewhere.path(), &link).unwrap();
    let before = names(dir.path());
    OutputDir::check(&target).unwrap();
    drop(OutputDir::stage(&target).unwrap());
    assert_eq!(names(dir.path()), before);
    staged
        .write("results.json", |file| file.write_all(NEW.as_bytes()))
        .unwrap();
}
