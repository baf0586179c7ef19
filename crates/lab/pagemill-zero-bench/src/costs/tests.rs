use super::*;

const COSTS: Costs = Costs {
    fault_ns: 100.0,
    map_ns: 50.0,
    clear_small_ns: 400.0,
    clear_huge_ns: Some(60_000.0),
};

#[test]
fn parts_add_up_to_no_more_than_the_kernels_time() {
    let usage = Usage {
        system_ns: 2_000_000,
        minor_faults: 1000,
        ..Usage::default()
    };
    let parts = COSTS.split(&usage, 10, false);
    assert_eq!(parts.clearing_ns, 990.0 * 400.0 + 10.0 * 60_000.0);
    assert_eq!((parts.faulting_ns, parts.mapping_ns), (100_000.0, 50_000.0));
    let little = Usage {
        system_ns: 1000,
        ..usage
    };
    let parts = COSTS.split(&little, 10, false);
    let sum = parts.clearing_ns + parts.faulting_ns + parts.mapping_ns;
    assert!((sum - 1000.0).abs() < 1e-6, "{sum}");
    assert_eq!(COSTS.split(&usage, 10, true).faulting_ns, 0.0);
}

#[test]
fn this_machine_has_costs() {
    let costs = Costs::measure().expect("32 MiB");
    assert!(
        costs.clear_small_ns.is_finite() && costs.map_ns > 0.0,
        "{costs:?}"
    );
}
