use pagemill_zero::engines::NoOp;
use pagemill_zero::pool::{Config, ConfigError, Quota, Recycle, ShelfSpec};
use pagemill_zero_client::protocol::Reason;
use pagemill_zero_client::{Client, ClientError, Exhausted, Request};

use crate::running::{PAGE, borrow, is_zero, pool, pool_with};

fn reason(error: &ClientError) -> Option<Reason> {
    match error {
        ClientError::Refused { reason, .. } => Some(*reason),
        _ => None,
    }
}

fn refused(client: &mut Client, request: &Request) -> Option<Reason> {
    reason(&client.lease(request).expect_err("refused"))
}

#[test]
fn what_is_lent_is_zero_and_there_and_zero_again_for_the_next() {
    let Some(running) = pool(4, |_| {}) else {
        return;
    };
    let mut client = running.client();
    for _ in 0..5 {
        let lease = borrow(&mut client, 4);
        let mut memory = lease.map(true).expect("mapped");
        assert_eq!(memory.len() as u64, 4 * PAGE);
        assert!(is_zero(memory.bytes()));
        memory.bytes_mut().fill(0xAA);
        drop(memory);
        client.give_back(lease).expect("given back");
    }
    let counters = running.until_clean().counters;
    assert_eq!(counters.fresh_pages, 4);
    assert_eq!(counters.recycled_pages, 20, "cleared by the engine");
    assert_eq!(counters.leases, 5);
}

#[test]
fn without_recycling_every_lease_is_of_fresh_files() {
    let change = |config: &mut Config| config.recycle = Recycle::Never;
    // The engine is of no importance then.
    let Some(running) = pool_with(2, Box::new(NoOp), change) else {
        return;
    };
    let mut client = running.client();
    for _ in 0..4 {
        let lease = borrow(&mut client, 2);
        let mut memory = lease.map(false).expect("mapped");
        assert!(is_zero(memory.bytes()));
        memory.bytes_mut().fill(0xAA);
        drop(memory);
        client.give_back(lease).expect("given back");
    }
    assert_eq!(running.until_clean().counters.recycled_pages, 0);
}

/// The test that has to be red where the engine does nothing: see that it is.
#[test]
fn an_engine_that_does_nothing_is_seen() {
    let Some(running) = pool_with(1, Box::new(NoOp), |_| {}) else {
        return;
    };
    let mut client = running.client();
    let lease = borrow(&mut client, 1);
    lease.map(true).expect("mapped").bytes_mut()[4096] = 7;
    client.give_back(lease).expect("given back");
    let lease = borrow(&mut client, 1);
    assert!(!is_zero(lease.map(true).expect("mapped").bytes()));
}

#[test]
fn an_exhausted_pool_refuses_at_once_or_waits_as_asked() {
    let Some(running) = pool(2, |_| {}) else {
        return;
    };
    let mut holder = running.client();
    let lease = borrow(&mut holder, 2);
    let mut other = running.client();
    assert_eq!(
        refused(&mut other, &Request::bytes(PAGE)),
        Some(Reason::Exhausted)
    );
    let briefly = Request::bytes(PAGE).when_exhausted(Exhausted::Wait(20));
    assert_eq!(refused(&mut other, &briefly), Some(Reason::Exhausted));
    let waiting = std::thread::spawn(move || {
        let lease = borrow(&mut other, 1);
        is_zero(lease.map(true).expect("mapped").bytes())
    });
    running.until("waiting", |status| status.waiting == 1);
    holder.give_back(lease).expect("given back");
    assert!(waiting.join().expect("no panic"));
}

#[test]
fn what_can_never_be_lent_is_refused_without_waiting() {
    let shelves = vec![
        ShelfSpec {
            file_pages: 2,
            files: 1,
        },
        ShelfSpec {
            file_pages: 1,
            files: 2,
        },
    ];
    let Some(running) = pool(4, |config| config.shelves = shelves) else {
        return;
    };
    let mut client = running.client();
    let patient = |request: Request| request.when_exhausted(Exhausted::Wait(3_600_000));
    let cases = [
        (Request::bytes(5 * PAGE), Reason::TooLarge),
        (Request::bytes(u64::MAX), Reason::TooLarge),
        (Request::bytes(3 * PAGE).single_file(), Reason::TooLarge),
        (Request::bytes(PAGE).page_bytes(4096), Reason::PageSize),
        (Request::bytes(0), Reason::Garbage),
    ];
    for (request, expected) in cases {
        assert_eq!(
            refused(&mut client, &patient(request)),
            Some(expected),
            "{request:?}"
        );
    }
    running.until_clean();
    let lease = client
        .lease(&Request::bytes(PAGE + 1).single_file())
        .expect("one file");
    assert_eq!(lease.files().len(), 1);
    assert_eq!(lease.files()[0].bytes as u64, 2 * PAGE);
}

#[test]
fn many_files_come_in_several_messages() {
    const FILES: usize = 130;
    let shelf = ShelfSpec {
        file_pages: 1,
        files: FILES,
    };
    let Some(running) = pool(FILES, |config| config.shelves = vec![shelf]) else {
        return;
    };
    let mut client = running.client();
    let lease = borrow(&mut client, FILES as u64);
    assert_eq!(lease.files().len(), FILES);
    assert!(is_zero(lease.map(true).expect("mapped").bytes()));
}

#[test]
fn large_files_go_first_and_small_requests_get_small_files() {
    let Some(running) = pool(72, |_| {}) else {
        return;
    };
    let mut client = running.client();
    running.until_clean();
    let lengths = |lease: &pagemill_zero_client::Lease| -> Vec<u64> {
        lease
            .files()
            .iter()
            .map(|file| file.bytes as u64 / PAGE)
            .collect()
    };
    let small = client.lease(&Request::bytes(2 * PAGE)).expect("a lease");
    assert_eq!(lengths(&small), [1, 1]);
    let large = client.lease(&Request::bytes(33 * PAGE)).expect("a lease");
    assert_eq!(lengths(&large), [32, 1]);
    client.give_back(large).expect("given back");
    running.until("clean", |status| status.pages.clean == 70);
    // Too few single pages: the one large file does, alone.
    let singles = 72 - 32 - 2;
    let rest: Vec<_> = (0..singles - 3).map(|_| borrow(&mut client, 1)).collect();
    let one = client.lease(&Request::bytes(6 * PAGE)).expect("a lease");
    assert_eq!(lengths(&one), [32]);
    drop(rest);
}

#[test]
fn metrics_are_prometheus_text() {
    let Some(running) = pool(2, |_| {}) else {
        return;
    };
    let mut client = running.client();
    let _lease = borrow(&mut client, 1);
    let text = client.metrics().expect("metrics");
    assert!(
        text.contains("pagemill_zero_pages{state=\"lent\"} 1\n"),
        "{text}"
    );
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    for sample in samples {
        let (name, value) = sample.rsplit_once(' ').expect("a name and a value");
        assert!(name.starts_with("pagemill_zero_"), "{sample}");
        assert!(value.parse::<f64>().is_ok(), "{sample}");
    }
}

#[test]
fn a_pool_that_cannot_lend_is_refused() {
    let mut config = Config::new("unused".into(), pagemill_linux::hugetlb::HugeSize::Mib2, 0);
    assert_eq!(config.check(), Err(ConfigError::Empty));
    config.shelves = Config::usual_shelves(config.size, 100);
    assert_eq!(config.pages(), 100);
    assert_eq!(config.check(), Ok(()));
    config.quota = Quota::Pages(0);
    assert_eq!(config.check(), Err(ConfigError::NoQuota));
}

#[test]
fn a_second_daemon_at_the_same_socket_is_refused() {
    let Some(running) = pool(1, |_| {}) else {
        return;
    };
    let engine = pagemill_zero::engines::by_name("memset").expect("always there");
    let error = pagemill_zero::pool::Pool::new(&running.config, engine);
    let message = error.err().expect("refused").to_string();
    assert!(message.contains("another daemon"), "{message}");
    running.client().status().expect("the first goes on");
}
