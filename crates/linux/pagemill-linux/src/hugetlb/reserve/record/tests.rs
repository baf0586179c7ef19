use super::*;

#[test]
fn a_lock_that_is_held_is_waited_for_only_so_long_and_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = folder.path().join("hugepages");
    let first = Record::open_in(&own, HugeSize::Mib2, PATIENCE).expect("open");
    let second = Record::open_in(&own, HugeSize::Mib2, Duration::ZERO);
    let message = second.err().expect("refused").to_string();
    assert!(message.contains("2048kB.lock"), "{message}");
    drop(first);
    Record::open_in(&own, HugeSize::Mib2, Duration::ZERO).expect("free again");
}

#[test]
fn a_folder_that_others_can_enter_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().expect("a folder");
    let own = folder.path().join("hugepages");
    drop(Record::open_in(&own, HugeSize::Mib2, PATIENCE).expect("open"));
    let mode = fs::metadata(&own).expect("made").mode() & 0o777;
    assert_eq!(mode, 0o700, "no other user opens the lock file");
    fs::set_permissions(&own, fs::Permissions::from_mode(0o755)).expect("ours");
    assert!(Record::open_in(&own, HugeSize::Mib2, PATIENCE).is_err());
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(folder.path(), &link).expect("a link");
    assert!(Record::open_in(&link, HugeSize::Mib2, PATIENCE).is_err());
}

#[test]
fn a_record_is_read_back_and_gone_with_its_last_holder() {
    let folder = tempfile::tempdir().expect("a folder");
    let own = folder.path().join("hugepages");
    let mut record = Record::open_in(&own, HugeSize::Mib2, PATIENCE).expect("open");
    assert_eq!(record.load().expect("none yet"), Ledger::default());
    let ledger = Ledger {
        base_pages: 3,
        holders: vec![super::super::ledger::Holder {
            name: "1-2-3/0".to_owned(),
            pages: 4,
        }],
        change: None,
    };
    record.save(&ledger).expect("written");
    assert_eq!(record.load().expect("there"), ledger);
    record.save(&Ledger::default()).expect("removed");
    assert!(!own.join("2048kB.json").exists());
}
