//! Page sizes, clocks and rates: limits and rounding.

use pagemill_types::{Bandwidth, Clock, PageSize, Picos, VirtAddr};

#[test]
fn page_sizes_are_powers_of_two_within_limits() {
    for bytes in [256, 4096, 65_536, 2 << 20, 1 << 30] {
        assert_eq!(PageSize::new(bytes).map(PageSize::bytes), Ok(bytes));
    }
    for bytes in [0, 1, 128, 4095, 4097, 3 << 20, 2 << 30, u64::MAX] {
        let error = PageSize::new(bytes).unwrap_err();
        assert!(error.to_string().contains(&bytes.to_string()));
    }
}

#[test]
fn an_address_is_its_page_and_its_offset() {
    let page = PageSize::KIB_4;
    for address in [0, 1, 4095, 4096, 0x7fff_ffff_ffff, u64::MAX] {
        let address = VirtAddr(address);
        let base = page.base_of(page.page_of(address));
        assert_eq!(
            base.checked_add(u64::from(page.offset_of(address))),
            Some(address)
        );
    }
    assert_eq!(VirtAddr(u64::MAX).checked_add(1), None);
}

#[test]
fn clocks_refuse_what_has_no_period() {
    assert!(Clock::new(0).is_none());
    assert!(Clock::new(1_000_000_000_001).is_none());
}

#[test]
fn cycles_stay_within_a_picosecond_in_a_million() {
    let clock = Clock::new(1_400_000_000).unwrap();
    assert_eq!(clock.cycles(0), Picos::ZERO);
    assert_eq!(clock.cycles(7), Picos(5000));
    let second = clock.cycles(1_400_000_000).0;
    assert!(
        second.abs_diff(1_000_000_000_000) <= 1_000_000,
        "{second} ps"
    );
}

#[test]
fn transfers_round_up() {
    let link = Bandwidth::new(16_000_000_000).unwrap();
    assert_eq!(link.time_for(0), Picos::ZERO);
    assert_eq!(link.time_for(1), Picos(63));
    assert_eq!(link.time_for(2 << 20), Picos(131_072_000));
    assert!(Bandwidth::new(0).is_none());
}

#[test]
fn nanoseconds_round_to_nearest() {
    assert_eq!(Picos(1499).as_nanos(), 1);
    assert_eq!(Picos(1500).as_nanos(), 2);
    assert_eq!(
        Picos::from_nanos(3).saturating_since(Picos::from_nanos(5)),
        Picos::ZERO
    );
}
