//! Pages of 1 GiB. A machine needs a free run of that length, so these tests may have to be skipped.

use pagemill_linux::hugetlb::HugeSize;
use pagemill_zero::engines::by_name;
use pagemill_zero_client::{ClientError, Exhausted, Request};

use crate::running::{PATIENCE_MS, Running, is_zero, pool_of};

const GIB: u64 = 1 << 30;

fn pool_of_one() -> Option<Running> {
    let engine = by_name("auto").expect("every machine has a CPU");
    pool_of(HugeSize::Gib1, 1, engine, |_| {})
}

#[test]
fn a_page_of_a_gibibyte_is_lent_cleared_by_the_engine_and_lent_again() {
    let Some(running) = pool_of_one() else {
        return;
    };
    let mut client = running.client();
    let request = Request::bytes(GIB)
        .page_bytes(GIB)
        .when_exhausted(Exhausted::Wait(PATIENCE_MS));
    for _ in 0..2 {
        let lease = client.lease(&request).expect("a lease");
        let mut memory = lease.map(true).expect("mapped");
        assert_eq!(memory.len() as u64, GIB);
        assert!(is_zero(memory.bytes()));
        memory.bytes_mut().fill(0xAA);
        drop(memory);
        client.give_back(lease).expect("given back");
    }
    let counters = running.until_clean().counters;
    assert_eq!((counters.fresh_pages, counters.recycled_pages), (1, 2));
}

#[test]
fn a_pool_of_gigantic_pages_says_so_to_those_who_want_huge_ones() {
    let Some(running) = pool_of_one() else {
        return;
    };
    let refused = running.client().lease(&Request::bytes(2 << 20));
    let Err(ClientError::Refused { message, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert!(message.contains("1073741824"), "{message}");
}
