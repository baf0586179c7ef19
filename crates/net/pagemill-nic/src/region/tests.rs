use super::*;

const PORT: PortId = PortId(0);

#[test]
fn a_key_is_good_for_its_bytes_and_no_others() {
    let mut regions = Regions::default();
    let key = regions.register(PORT, 1000, 100);
    assert_eq!(regions.check(key, PORT, 1000, 100), Ok(()));
    assert_eq!(regions.check(key, PORT, 1099, 1), Ok(()));
    assert_eq!(regions.check(key, PORT, 1100, 0), Ok(()));
    assert_eq!(regions.check(key, PORT, 1099, 2), Err(Status::OutOfBounds));
    assert_eq!(regions.check(key, PORT, 999, 1), Err(Status::OutOfBounds));
    assert_eq!(
        regions.check(key, PORT, 1001, u64::MAX),
        Err(Status::OutOfBounds)
    );
    assert_eq!(
        regions.check(key, PortId(1), 1000, 1),
        Err(Status::ForeignPort)
    );
}

#[test]
fn a_key_that_was_taken_back_stays_bad() {
    let mut regions = Regions::default();
    let old = regions.register(PORT, 0, 64);
    assert_eq!(regions.deregister(old), Some((PORT, 0, 64)));
    assert_eq!(regions.deregister(old), None);
    assert_eq!(regions.check(old, PORT, 0, 1), Err(Status::Unregistered));
    let new = regions.register(PORT, 0, 64);
    assert_eq!(regions.check(old, PORT, 0, 1), Err(Status::WrongKey));
    assert_eq!(regions.check(new, PORT, 0, 1), Ok(()));
    assert_eq!(
        regions.check(Key(77), PORT, 0, 1),
        Err(Status::Unregistered)
    );
}
