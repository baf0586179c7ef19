use pagemill_linux::process::Identity;

use super::*;

fn about(program: &str) -> String {
    let setup = Setup::new(8 << 20, "compressed");
    let program = program.to_owned();
    serde_json::to_string(&About { program, setup }).expect("plain values")
}

fn counters(folder: &Path, process: u32, units: u64) {
    let mut words = [0_u64; Counters::FILE_BYTES as usize / 8];
    words[Count::ReadFaults as usize] = units;
    words[Count::ResidentUnits as usize] = units;
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    std::fs::write(folder.join(format!("{process}.counters")), bytes).expect("written");
}

#[test]
fn processes_are_added_up_and_the_dead_hold_nothing() {
    let parent = tempfile::tempdir().expect("a folder");
    let own = Identity::own().expect("/proc is there");
    let folder = parent.path().join(format!("pagemill-pager-{own}-0"));
    std::fs::create_dir(&folder).expect("made");
    std::fs::write(folder.join(ABOUT), about("sort")).expect("written");
    counters(&folder, own.process(), 5);
    // More than any system's greatest process number.
    counters(&folder, 1 << 23, 100);
    let found = running(parent.path()).expect("a folder");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].program, "sort");
    assert_eq!(found[0].process, own.process());
    assert_eq!(found[0].setup.budget_bytes, 8 << 20);
    assert_eq!(found[0].processes, 1);
    assert_eq!(found[0].get(Count::ReadFaults), 105);
    assert_eq!(found[0].get(Count::ResidentUnits), 5);
}

#[test]
fn what_is_no_pager_is_left_out() {
    let parent = tempfile::tempdir().expect("a folder");
    let own = Identity::own().expect("/proc is there");
    let folder = |number| {
        let path = (parent.path()).join(format!("pagemill-pager-{own}-{number}"));
        std::fs::create_dir(&path).expect("made");
        path
    };
    std::fs::write(folder(0).join(ABOUT), "{\"program\": 7}").expect("written");
    let link = folder(1).join(ABOUT);
    let elsewhere = parent.path().join("elsewhere");
    std::fs::write(&elsewhere, about("linked")).expect("written");
    std::os::unix::fs::symlink(&elsewhere, link).expect("a link");
    let _empty = folder(2);
    std::fs::write(parent.path().join("pagemill-pager-1-2"), "").expect("written");
    let ended = folder(3);
    std::fs::write(ended.join(ABOUT), about("ended")).expect("written");
    let (start, rest) = own
        .to_string()
        .split_once('-')
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .expect("parts");
    let dead = parent
        .path()
        .join(format!("pagemill-pager-{start}-1{rest}-0"));
    std::fs::rename(ended, dead).expect("renamed");
    let short = folder(4);
    std::fs::write(short.join(ABOUT), about("begins")).expect("written");
    std::fs::write(short.join("1.counters"), [1; 100]).expect("written");
    let pipe = short.join("2.counters");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .expect("a pipe");
    let found = running(parent.path()).expect("a folder");
    let names: Vec<&str> = found.iter().map(|one| one.program.as_str()).collect();
    assert_eq!(names, ["begins"]);
    assert_eq!(found[0].processes, 0);
    running(&parent.path().join("none")).expect_err("no folder");
}

/// As a process that was slow to see that its starter was killed.
const LEFT: &str = "
import mmap, signal, sys
with open(sys.argv[1], 'r+b') as file:
    counters = mmap.mmap(file.fileno(), 4096)
print('ready', flush=True)
signal.pause()
";

#[test]
fn processes_of_a_killed_run_end_before_the_next_removes_its_folder() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    let parent = tempfile::tempdir().expect("a folder");
    let own = Identity::own().expect("/proc is there").to_string();
    let (process, rest) = own.split_once('-').expect("parts");
    let dead = (parent.path()).join(format!("pagemill-pager-{process}-1{rest}-0"));
    std::fs::create_dir(&dead).expect("made");
    counters(&dead, 1, 0);
    let left = Command::new("python3")
        .args(["-c", LEFT])
        .arg(dead.join("1.counters"))
        .stdout(Stdio::piped())
        .spawn();
    let mut left = left.expect("python3");
    let mut line = String::new();
    let stdout = left.stdout.take().expect("piped");
    BufReader::new(stdout).read_line(&mut line).expect("a line");
    assert_eq!(line, "ready\n");
    let mut setup = Setup::new(8 << 20, "compressed");
    let announced = Announcement::new_in(parent.path(), "sort", &mut setup).expect("made");
    assert!(left.try_wait().expect("our child").is_some());
    assert!(!dead.exists());
    drop(announced);
    assert_eq!(std::fs::read_dir(parent.path()).expect("there").count(), 0);
}
