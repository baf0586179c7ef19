use super::*;

fn hint(site: u64, hint: Hint) -> Change {
    Change::Hint(SiteHint { site, hint })
}

#[test]
fn contradictions_are_not_tried() {
    let none = Configuration::default();
    let kept = none.with(&hint(1, Hint::ReadMostly));
    assert!(kept.allows(&hint(1, Hint::Prefetch(vec![Some(0)]))));
    assert!(kept.allows(&hint(2, Hint::StayOnCpu)));
    assert!(!kept.allows(&hint(1, Hint::ReadMostly)));
    assert!(!kept.allows(&hint(1, Hint::StayOnCpu)));
    assert!(!kept.allows(&Change::Mode("stripe")));
    // Only a placement of all memory has something to leave out.
    assert!(!kept.allows(&hint(2, Hint::LeaveAlone)));
    let placed = none.with(&Change::Mode("stripe"));
    assert!(placed.allows(&hint(2, Hint::LeaveAlone)));
    let left = placed.with(&hint(2, Hint::LeaveAlone));
    assert!(!left.allows(&hint(2, Hint::ReadMostly)));
    assert!(left.allows(&hint(1, Hint::ReadMostly)));
    let stays = none.with(&hint(1, Hint::StayOnCpu));
    assert!(!stays.allows(&hint(1, Hint::Prefetch(vec![Some(0)]))));
}

#[test]
fn calls_are_those_of_cuda() {
    let advise =
        |what: &str, side: &str| format!("cudaMemAdvise(p, bytes, cudaMemAdvise{what}, {side});");
    let stays = [
        advise("SetPreferredLocation", "cpu"),
        advise("SetAccessedBy", "device"),
    ]
    .join(" ");
    assert_eq!(hint(1, Hint::StayOnCpu).calls(), stays);
    assert_eq!(
        Change::Mode("zero-copy").calls(),
        format!("for each managed p: {stays}")
    );
    let divided = Change::Mode("stripe-even").calls();
    for part in [
        "for the stripe-even ranges",
        "cudaMemPrefetchAsync(p, bytes, device, stream);",
        "cudaMemPrefetchAsync(p, bytes, cpu, stream);",
        &advise("SetAccessedBy", "device"),
    ] {
        assert!(divided.contains(part), "{part} in {divided}");
    }
}

#[test]
fn whole_program_changes_need_a_driver() {
    assert!(for_program("multi-range").is_empty());
    let names: Vec<_> = for_program("on-demand").iter().map(Change::name).collect();
    assert!(
        names.contains(&"stripe") && !names.contains(&"on-demand"),
        "{names:?}"
    );
    assert!(!names.contains(&"partial-pages"), "{names:?}");
}
