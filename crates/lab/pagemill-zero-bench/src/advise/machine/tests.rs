use super::*;

fn machine() -> Machine {
    Machine {
        transparent: TransparentPages::Advised,
        glibc: Some((2, 36)),
        free_pages: 8,
        library: Ok(PathBuf::from("lib.so")),
        pool: PoolPlace::Own,
    }
}

fn refused(machine: &Machine) -> Vec<&'static str> {
    let refused = Setting::ALL
        .into_iter()
        .filter(|one| machine.obstacle(*one).is_some());
    refused.map(Setting::name).collect()
}

#[test]
fn each_lack_rules_out_what_needs_it_and_no_more() {
    let all = machine();
    assert!(refused(&all).is_empty());
    let never = Machine {
        transparent: TransparentPages::Never,
        ..machine()
    };
    assert_eq!(refused(&never), ["thp", "glibc-thp"]);
    let missing = Machine {
        transparent: TransparentPages::Missing,
        ..machine()
    };
    assert_eq!(refused(&missing), ["thp", "glibc-thp", "4k"]);
    for glibc in [None, Some((2, 34))] {
        let old = Machine { glibc, ..machine() };
        assert_eq!(refused(&old), ["glibc-thp", "glibc-hugetlb"]);
    }
    let bare = Machine {
        library: Err("no library".to_owned()),
        ..machine()
    };
    assert_eq!(refused(&bare), ["thp", "populate", "hugetlb", "pool"]);
    let empty = Machine {
        free_pages: 0,
        ..machine()
    };
    assert_eq!(refused(&empty), ["glibc-hugetlb", "hugetlb", "pool"]);
    let served = Machine {
        pool: PoolPlace::Served(PathBuf::from("socket")),
        ..empty
    };
    assert_eq!(refused(&served), ["glibc-hugetlb", "hugetlb"]);
}
