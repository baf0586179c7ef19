use super::super::AttSpec;
use super::*;

#[test]
fn tables_a_power_of_two_apart_use_all_sets() {
    let spec = AttSpec {
        organization: &ENTRY,
        ..AttSpec::of_entries(4096, 8)
    };
    let organization = (ENTRY.build)(&spec);
    assert_eq!((organization.sets, organization.ways), (512, 8));
    for shift in [9, 13, 18, 44] {
        let mut used = vec![0_u32; 512];
        for table in 0..256_u64 {
            for line in 0..8 {
                used[organization.set_of((table << shift) + line) as usize] += 1;
            }
        }
        let over: u32 = used.iter().map(|lines| lines.saturating_sub(8)).sum();
        assert!(
            over < 2048 / 10,
            "2^{shift} apart: {over} of 2048 lines find no place"
        );
    }
    let one = AttSpec::of_entries(8, 8);
    let one = AttSpec {
        organization: &ENTRY,
        ..one
    };
    assert_eq!((ENTRY.build)(&one).set_of(u64::MAX), 0, "a single set");
}
