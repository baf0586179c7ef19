use super::*;

fn check(at_least: u64, at_most: u64) -> Result<()> {
    let mut report = Report::default();
    report.see_observed("value a.misses 7 misses");
    report.see_observed("no value");
    let claim = Claim {
        name: "c".to_owned(),
        value: "a.misses".to_owned(),
        at_least,
        at_most,
    };
    claim.check(&report)
}

#[test]
fn bounds_are_inclusive() {
    assert!(check(7, 7).is_ok());
    assert!(check(0, u64::MAX).is_ok());
    let above = check(0, 6).unwrap_err().to_string();
    assert_eq!(above, "a.misses is 7, and has to be at most 6");
    let below = check(8, u64::MAX).unwrap_err().to_string();
    assert!(below.ends_with("at least 8"), "{below}");
    assert!(check(8, 8).unwrap_err().to_string().ends_with("be 8"));
}

#[test]
fn a_value_that_is_not_there_holds_nothing() {
    let claim: Claim = toml::from_str("name = \"c\"\nvalue = \"b\"").unwrap();
    assert!(claim.check(&Report::default()).is_err());
}
