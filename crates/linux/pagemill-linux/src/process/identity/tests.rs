use super::*;
use std::process::Command;

#[test]
fn a_process_is_alive_until_it_is_killed_though_its_parent_has_not_waited() {
    let own = Identity::own().expect("/proc is there");
    assert!(own.is_alive());
    let mut child = Command::new("sleep").arg("1000").spawn().expect("started");
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.id())).expect("a child");
    let identity = Identity {
        process: child.id(),
        started: start_and_state(&stat).expect("fields").0,
        ..own
    };
    assert!(identity.is_alive());
    child.kill().expect("killed");
    while !fs::read_to_string(format!("/proc/{}/stat", child.id()))
        .expect("a zombie")
        .contains(") Z ")
    {
        std::thread::yield_now();
    }
    assert!(!identity.is_alive(), "a zombie has let go of everything");
    child.wait().expect("waited for");
    assert!(!identity.is_alive());
}

#[test]
fn the_same_number_with_another_start_is_another_process() {
    let own = Identity::own().expect("/proc is there");
    let former = Identity {
        started: own.started + 1,
        ..own
    };
    assert!(!former.is_alive());
}

#[test]
fn processes_of_other_namespaces_are_never_taken_for_dead() {
    let own = Identity::own().expect("/proc is there");
    let elsewhere = Identity {
        process: u32::MAX,
        namespace: own.namespace + 1,
        ..own
    };
    assert!(elsewhere.is_alive());
}

#[test]
fn text_is_read_back_and_nothing_else_is() {
    let own = Identity::own().expect("/proc is there");
    assert_eq!(own.to_string().parse(), Ok(own));
    for text in [
        "",
        "1",
        "1-2",
        "1-2-3-4",
        "+1-2-3",
        "01-2-3",
        "-1-2-3",
        "4294967296-1-1",
    ] {
        assert_eq!(text.parse::<Identity>(), Err(NoIdentity), "{text}");
    }
}

#[test]
fn a_name_with_parentheses_and_spaces_is_skipped() {
    let after: Vec<String> = (4..=52).map(|field| field.to_string()).collect();
    let stat = format!("7 (a) b (c)) S {}", after.join(" "));
    assert_eq!(start_and_state(&stat), Some((22, 'S')));
    assert_eq!(start_and_state("7 (sh) S 1 2"), None);
}
