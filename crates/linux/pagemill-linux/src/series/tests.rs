use super::*;

#[test]
fn the_sources_know_each_series() {
    let header = include_str!("../../../../../kmod/include/kcompat.h");
    let known = header.split("#if ").next().expect("the range stands first");
    let versions = known.split("KERNEL_VERSION(").skip(1);
    let version = |text: &str| -> (u32, u32) {
        let mut numbers = text.split([',', '.']).map(|number| number.trim().parse());
        let mut next = || numbers.next().expect("a number").expect("a number");
        (next(), next())
    };
    let bounds: Vec<_> = versions.map(version).collect();
    assert!(bounds.len().is_multiple_of(2) && !bounds.is_empty());
    for series in KERNEL_SERIES {
        let is_known = |range: &[(u32, u32)]| (range[0]..range[1]).contains(&version(series));
        assert!(bounds.chunks(2).any(is_known), "{series}");
    }
}

#[test]
fn a_series_is_no_other_that_begins_alike() {
    assert!(is_of_series("6.1.0-56-amd64", "6.1"));
    assert!(!is_of_series("6.12.1-amd64", "6.1"));
    assert_eq!(kernel_series_in_words(), "6.1, 6.12 and 7.2");
}
