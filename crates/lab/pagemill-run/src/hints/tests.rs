use super::*;

#[test]
fn ranges_that_touch_are_one() {
    let ranges = vec![[8, 12], [0, 4], [4, 8], [20, 24], [21, 23]];
    assert_eq!(joined(ranges), [[0, 12], [20, 24]]);
    assert_eq!(joined(Vec::new()), [[0u64; 2]; 0]);
}

#[test]
fn a_program_of_several_processes_is_refused() {
    let made = |bytes| Made {
        site: 1,
        bytes,
        is_variable: false,
        first_launch: None,
    };
    assert!(only(&[]).unwrap_err().contains("no managed memory"));
    assert_eq!(only(&[vec![made(1)]]).unwrap().len(), 1);
    let error = only(&[vec![made(1)], vec![made(2)]]).unwrap_err();
    assert!(error.starts_with("2 processes"), "{error}");
}

#[test]
fn each_allocation_of_a_site_is_copied_before_its_own_launch() {
    let made = |site| Made {
        site,
        bytes: 4096,
        is_variable: false,
        first_launch: None,
    };
    let hint = |site, hint| pagemill_wire::SiteHint { site, hint };
    let configuration = Configuration {
        hints: vec![
            hint(7, Hint::Prefetch(vec![Some(2), None])),
            hint(9, Hint::StayOnCpu),
        ],
        ..Configuration::default()
    };
    let calls = site_calls(&[made(7), made(9), made(7)], &configuration);
    let shown: Vec<_> = calls
        .iter()
        .map(|(place, call)| (*place, call.action, call.before_launch))
        .collect();
    assert_eq!(
        shown,
        [
            (0, HintAction::PrefetchGpu, Some(3)),
            (1, HintAction::PreferCpu, None),
            (1, HintAction::AccessedByGpu, None),
        ]
    );
}
