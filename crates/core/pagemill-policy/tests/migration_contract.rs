//! Every registered policy keeps the contract, and every policy file is registered.

use std::collections::BTreeSet;

use pagemill_policy::migration::POLICIES;
use pagemill_testkit::migration_policy_contract;

#[test]
fn every_registered_policy_keeps_the_contract() {
    for entry in &POLICIES {
        let report = migration_policy_contract(entry);
        assert!(
            report.pages > report.specs,
            "{}: nothing was reached: {report:?}",
            entry.name
        );
    }
}

#[test]
fn multi_range_reaches_every_subset_of_eight_units() {
    let entry = POLICIES.find("multi-range").unwrap();
    let report = migration_policy_contract(entry);
    assert!(report.pages > 256 * 2, "{report:?}");
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the test reads the sources, the policies do not"
)]
fn every_policy_file_is_registered() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/migration");
    let mut implemented = BTreeSet::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if std::fs::read_to_string(&path)
            .unwrap()
            .contains("impl MigrationPolicy for")
        {
            let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
            implemented.insert(stem.replace('_', "-"));
        }
    }
    let registered: BTreeSet<String> = POLICIES.iter().map(|entry| entry.name.to_owned()).collect();
    assert_eq!(
        registered.len(),
        POLICIES.len(),
        "two policies share a name"
    );
    assert_eq!(
        implemented, registered,
        "policy files and lines of registry.rs differ"
    );
}

#[test]
fn an_unknown_policy_is_told_the_known_ones() {
    let message = POLICIES.find("whole").unwrap_err().to_string();
    for entry in &POLICIES {
        assert!(message.contains(entry.name), "{message}");
    }
}
