use super::*;

fn stack(base: u64, offsets: &[u64]) -> Stack {
    let frame = |offset: &u64| Frame {
        module: "program".to_owned(),
        base,
        address: base + offset,
    };
    Stack {
        frames: offsets.iter().map(frame).collect(),
        variable: None,
    }
}

#[test]
fn a_key_does_not_depend_on_where_files_are_loaded() {
    assert_eq!(stack(0x1000, &[1, 2]).key(), stack(0x9000, &[1, 2]).key());
    assert_ne!(stack(0x1000, &[1, 2]).key(), stack(0x1000, &[2, 1]).key());
    let variable = Stack {
        variable: Some("table".to_owned()),
        ..Stack::default()
    };
    assert_ne!(variable.key(), Stack::default().key());
}

#[test]
fn what_is_written_is_read() {
    let folder = tempfile::tempdir().expect("a folder");
    assert_eq!(Plan::read(folder.path()), Ok(None));
    let hint = |hint| SiteHint {
        site: u64::MAX,
        hint,
    };
    let plan = Plan {
        hints: vec![
            hint(Hint::StayOnCpu),
            hint(Hint::Prefetch(vec![None, Some(3)])),
        ],
    };
    plan.write(folder.path()).expect("it can be written");
    assert_eq!(Plan::read(folder.path()), Ok(Some(plan)));
    std::fs::write(folder.path().join(FILE), "{").expect("it can be written");
    assert!(Plan::read(folder.path()).is_err());
}

#[test]
fn equal_stacks_have_one_number() {
    let mut sites = Sites::default();
    let numbers = [[1], [2], [1]].map(|offsets| sites.number(stack(0, &offsets)));
    assert_eq!(numbers, [0, 1, 0]);
}
