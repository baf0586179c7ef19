use super::*;

fn names(parent: &Path) -> Vec<String> {
    let entries = fs::read_dir(parent).expect("a folder");
    let name = |entry: io::Result<fs::DirEntry>| entry.expect("one").file_name();
    let mut names: Vec<String> = entries
        .map(|entry| name(entry).into_string().expect("UTF-8"))
        .collect();
    names.sort();
    names
}

/// This process with another start: it has ended.
fn dead() -> String {
    let own = Identity::own().expect("/proc is there").to_string();
    let parts: Vec<&str> = own.split('-').collect();
    let started: u64 = parts[1].parse().expect("a number");
    format!("{}-{}-{}", parts[0], started + 1, parts[2])
}

#[test]
fn folders_of_dead_processes_are_removed_and_no_others() {
    let parent = tempfile::tempdir().expect("a folder");
    let own = Identity::own().expect("/proc is there");
    let dead = dead();
    let stay = [
        format!("pagemill-a-{own}-7"),
        format!("pagemill-b-{dead}-0"),
        format!("pagemill-a-{dead}"),
        format!("pagemill-a-{dead}-0-more"),
        "pagemill-a-1-2-3".to_owned(),
        "pagemill-a-x7f".to_owned(),
    ];
    for name in &stay {
        fs::create_dir(parent.path().join(name)).expect("made");
    }
    let abandoned = parent.path().join(format!("pagemill-a-{dead}-0"));
    fs::create_dir(&abandoned).expect("made");
    fs::write(abandoned.join("file"), "text").expect("written");
    let elsewhere = parent.path().join("elsewhere");
    fs::create_dir(&elsewhere).expect("made");
    fs::write(elsewhere.join("precious"), "text").expect("written");
    let link = parent.path().join(format!("pagemill-a-{dead}-1"));
    std::os::unix::fs::symlink(&elsewhere, &link).expect("linked");

    let scratch = Scratch::new_in(parent.path(), "a").expect("made");
    assert!(!abandoned.exists());
    assert!(link.is_symlink() && elsewhere.join("precious").exists());
    for name in &stay {
        assert!(parent.path().join(name).exists(), "{name}");
    }
    let before = names(parent.path()).len();
    drop(scratch);
    assert_eq!(names(parent.path()).len(), before - 1);
}

#[test]
fn folders_are_for_their_user_only_and_apart_from_each_other() {
    let parent = tempfile::tempdir().expect("a folder");
    let first = Scratch::new_in(parent.path(), "a").expect("made");
    let second = Scratch::new_in(parent.path(), "a").expect("made");
    assert_ne!(first.path(), second.path());
    assert_eq!(owner(first.path()), Some(Identity::own().expect("/proc")));
    assert_eq!(owner(parent.path()), None);
    let mode = fs::metadata(first.path()).expect("there").mode() & 0o777;
    assert_eq!(mode, 0o700);
}

#[test]
fn a_folder_that_a_dying_process_still_writes_to_is_removed() {
    let parent = tempfile::tempdir().expect("a folder");
    let folder = Scratch::new_in(parent.path(), "a").expect("made");
    let path = folder.path();
    let mut left = 3;
    remove(|| {
        for entry in fs::read_dir(path)?.flatten() {
            fs::remove_file(entry.path())?;
        }
        if left > 0 {
            left -= 1;
            fs::write(path.join("1.counters"), "late")?;
        }
        fs::remove_dir(path)
    });
    assert!(!path.exists());
    assert_eq!(left, 0);
}
