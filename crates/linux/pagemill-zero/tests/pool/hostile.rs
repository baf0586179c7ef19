use std::os::fd::AsFd;

use pagemill_linux::channel::Channel;
use pagemill_zero::pool::Quota;
use pagemill_zero_client::protocol::Reason;
use pagemill_zero_client::{ClientError, Request};
use proptest::test_runner::{Config as ProptestConfig, TestRunner};

use crate::running::{PAGE, borrow, is_zero, pool};

#[test]
fn a_client_that_goes_away_returns_what_it_had() {
    let Some(running) = pool(2, |_| {}) else {
        return;
    };
    let mut client = running.client();
    let lease = borrow(&mut client, 2);
    lease.map(true).expect("mapped").bytes_mut().fill(1);
    drop(client);
    running.until("returned", |status| status.pages.returned == 2);
    drop(lease);
    running.until_clean();
    let mut next = running.client();
    let lease = borrow(&mut next, 2);
    assert!(is_zero(lease.map(true).expect("mapped").bytes()));
}

#[test]
fn returning_without_unmapping_frees_nothing_and_stays_charged() {
    let Some(running) = pool(2, |config| config.quota = Quota::Pages(1)) else {
        return;
    };
    let mut client = running.client();
    let lease = borrow(&mut client, 1);
    let mut kept = lease.map(true).expect("mapped");
    client.give_back(lease).expect("given back");
    let error = client
        .lease(&Request::bytes(PAGE))
        .expect_err("over its quota");
    let is_quota = matches!(
        error,
        ClientError::Refused {
            reason: Reason::Quota,
            ..
        }
    );
    assert!(is_quota, "{error}");
    for round in 0..20_u8 {
        kept.bytes_mut().fill(round);
        let status = client.status().expect("a status");
        assert_eq!((status.pages.returned, status.users[0].pages), (1, 1));
    }
    drop(kept);
    running.until_clean();
    let lease = borrow(&mut client, 1);
    assert!(is_zero(lease.map(true).expect("mapped").bytes()));
}

#[test]
fn a_hole_punched_by_the_holder_is_filled_before_the_next() {
    let Some(running) = pool(2, |config| {
        config.shelves = vec![pagemill_zero::pool::ShelfSpec {
            file_pages: 2,
            files: 1,
        }];
    }) else {
        return;
    };
    let mut client = running.client();
    let lease = borrow(&mut client, 2);
    lease.map(true).expect("mapped").bytes_mut().fill(1);
    let flags = rustix::fs::FallocateFlags::PUNCH_HOLE | rustix::fs::FallocateFlags::KEEP_SIZE;
    let file = lease.files()[0].descriptor.as_fd();
    rustix::fs::fallocate(file, flags, 0, PAGE).expect("punched");
    assert!(rustix::fs::ftruncate(file, 0).is_err(), "sealed");
    client.give_back(lease).expect("given back");
    running.until_clean();
    let lease = borrow(&mut client, 2);
    assert!(is_zero(lease.map(true).expect("mapped").bytes()));
}

#[test]
fn a_file_made_longer_by_its_holder_is_not_recycled() {
    let Some(running) = pool(4, |config| {
        config.shelves = vec![pagemill_zero::pool::ShelfSpec {
            file_pages: 1,
            files: 1,
        }];
    }) else {
        return;
    };
    let mut client = running.client();
    let lease = borrow(&mut client, 1);
    let longer = pagemill_linux::Backing::File(lease.files()[0].descriptor.as_fd());
    drop(pagemill_linux::Mapping::new(
        longer,
        3 * PAGE as usize,
        true,
    ));
    client.give_back(lease).expect("given back");
    running.until_clean();
    let lease = borrow(&mut client, 1);
    assert_eq!(lease.bytes() as u64, PAGE);
    assert!(is_zero(lease.map(true).expect("mapped").bytes()));
}

#[test]
fn a_lease_of_another_connection_cannot_be_returned() {
    let Some(running) = pool(1, |_| {}) else {
        return;
    };
    let mut owner = running.client();
    let _lease = borrow(&mut owner, 1);
    let other = Channel::connect(&running.socket()).expect("connected");
    for lease in 0..4 {
        let ask = format!("{{\"op\":\"return\",\"lease\":{lease}}}");
        other.send(ask.as_bytes(), &[]).expect("sent");
        let mut answer = [0; 4096];
        let bytes = other.receive(&mut answer, true).expect("answered").bytes;
        let answer = String::from_utf8_lossy(&answer[..bytes]);
        assert!(answer.contains("unknown_lease"), "{answer}");
    }
    assert_eq!(owner.status().expect("a status").pages.lent, 1);
}

/// Sends one message, takes what comes back, and waits for the end of the connection.
fn is_thrown_out(channel: &Channel, message: &[u8]) -> bool {
    channel.send(message, &[]).expect("sent");
    let mut answer = vec![0; 64 << 10];
    let first = channel
        .receive(&mut answer, true)
        .map_or(0, |received| received.bytes);
    let said_no = String::from_utf8_lossy(&answer[..first]).contains("garbage");
    said_no
        && channel
            .receive(&mut answer, true)
            .map_or(0, |received| received.bytes)
            == 0
}

#[test]
fn garbage_ends_its_connection_and_no_other() {
    let Some(running) = pool(1, |_| {}) else {
        return;
    };
    let mut witness = running.client();
    let _lease = borrow(&mut witness, 1);
    let connect = || Channel::connect(&running.socket()).expect("connected");
    let fixed: [&[u8]; 7] = [
        b"\0",
        b"{}",
        b"{\"op\":\"lease\"}",
        b"{\"op\":\"lease\",\"bytes\":-1,\"page_bytes\":2097152}",
        b"{\"op\":\"status\",\"extra\":1}",
        b"[[[[[[[[[[[[[[[[[[[[[[[[[[",
        &[b'['; 60_000],
    ];
    for message in fixed {
        assert!(is_thrown_out(&connect(), message), "{message:?}");
    }
    let mut runner = TestRunner::new(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let bytes = proptest::collection::vec(proptest::num::u8::ANY, 1..2000);
    let tried = runner.run(&bytes, |message| {
        proptest::prop_assert!(is_thrown_out(&connect(), &message));
        Ok(())
    });
    tried.expect("no message brings the daemon down");
    assert_eq!(witness.status().expect("a status").pages.lent, 1);
}

#[test]
fn descriptors_and_messages_that_are_too_long_are_garbage() {
    let Some(running) = pool(1, |_| {}) else {
        return;
    };
    let with_descriptor = Channel::connect(&running.socket()).expect("connected");
    let file = tempfile::tempfile().expect("a file");
    with_descriptor
        .send(b"{\"op\":\"status\"}", &[file.as_fd()])
        .expect("sent");
    let mut answer = vec![0; 4096];
    let bytes = with_descriptor
        .receive(&mut answer, true)
        .expect("answered")
        .bytes;
    assert!(String::from_utf8_lossy(&answer[..bytes]).contains("garbage"));
    let too_long = Channel::connect(&running.socket()).expect("connected");
    assert!(is_thrown_out(&too_long, &vec![b' '; 100_000]));
    let status = running.until("counted", |status| status.counters.garbage == 2);
    assert_eq!(status.pages.lent, 0);
}

#[test]
fn a_client_that_never_reads_is_dropped_and_delays_no_other() {
    let Some(running) = pool(1, |_| {}) else {
        return;
    };
    let silent = Channel::connect(&running.socket()).expect("connected");
    let mut sent = 0;
    // Until our side is full, which it is when the daemon has dropped us or reads no more.
    while sent < 20_000 && silent.send(b"{\"op\":\"metrics\"}", &[]).is_ok() {
        sent += 1;
    }
    let mut client = running.client();
    let lease = borrow(&mut client, 1);
    assert!(is_zero(lease.map(true).expect("mapped").bytes()));
    running.until("dropped", |status| status.connections <= 2);
}

#[test]
fn two_requests_at_a_time_are_garbage() {
    let Some(running) = pool(1, |_| {}) else {
        return;
    };
    let mut holder = running.client();
    let _lease = borrow(&mut holder, 1);
    let channel = Channel::connect(&running.socket()).expect("connected");
    let ask = b"{\"op\":\"lease\",\"bytes\":1,\"page_bytes\":2097152,\"wait_ms\":100000}";
    channel.send(ask, &[]).expect("sent");
    running.until("waiting", |status| status.waiting == 1);
    assert!(is_thrown_out(&channel, ask));
    running.until("forgotten", |status| status.waiting == 0);
}

#[test]
fn connections_of_one_user_are_limited() {
    let Some(running) = pool(1, |_| {}) else {
        return;
    };
    let mut first = running.client();
    let crowd: Vec<_> = (0..80).map(|_| running.client()).collect();
    let status = first.status().expect("the first goes on");
    assert!(status.connections <= 64, "{status:?}");
    drop(crowd);
    while first.status().expect("a status").connections > 1 {
        std::thread::yield_now();
    }
}

#[test]
fn a_restarted_daemon_leaves_holders_alone_and_lends_none_of_their_pages() {
    let Some(mut running) = pool(4, |_| {}) else {
        return;
    };
    let mut before = running.client();
    let lease = borrow(&mut before, 2);
    let mut held = lease.map(true).expect("mapped");
    held.bytes_mut().fill(0x5A);
    running.restart();
    let mut after = running.client();
    let fresh = borrow(&mut after, 2);
    let memory = fresh.map(true).expect("mapped");
    assert!(is_zero(memory.bytes()));
    assert!(
        held.bytes().iter().all(|&byte| byte == 0x5A),
        "still the holder's"
    );
    let error = after
        .lease(&Request::bytes(PAGE))
        .expect_err("two are still held");
    assert!(error.is_exhausted(), "{error}");
    drop(held);
    before.give_back(lease).expect_err("that daemon is gone");
    running.until("all are found", |status| status.pages.clean == 2);
}
