//! Requests that wait for pages that the pool is clearing, and what the pool keeps of programs.

use std::sync::mpsc::{Receiver, Sender, channel};

use pagemill_zero::engines::{Engine, EngineError, Timing};
use pagemill_zero_client::protocol::{Refusals, Status};
use pagemill_zero_client::{Client, ClientError, Exhausted, Lease, Request};

use crate::running::{PAGE, PATIENCE_MS, Running, borrow, is_zero, pool, pool_with};

/// A user gets all of the pool in these tests.
fn ask(client: &mut Client, pages: u64) -> Result<Lease, ClientError> {
    let request = Request::bytes(pages * PAGE);
    client.lease(&request.when_exhausted(Exhausted::WaitForCleaning(PATIENCE_MS)))
}

fn is_exhausted(result: &Result<Lease, ClientError>) -> bool {
    result.as_ref().is_err_and(ClientError::is_exhausted)
}

#[test]
fn what_was_just_given_back_is_there_for_the_next_request() {
    let Some(running) = pool(6, |_| {}) else {
        return;
    };
    let mut client = running.client();
    let mut lease = borrow(&mut client, 6);
    for pages in [6, 5, 6, 4, 6, 6, 3, 6] {
        lease.map(true).expect("mapped").bytes_mut().fill(7);
        client.give_back(lease).expect("given back");
        lease = ask(&mut client, pages).expect("its own pages, clean again");
        assert!(is_zero(lease.map(true).expect("mapped").bytes()));
    }
    assert_eq!(
        running
            .client()
            .status()
            .expect("a status")
            .counters
            .exhausted,
        0
    );
}

#[test]
fn nothing_waits_for_pages_that_others_have() {
    let Some(running) = pool(4, |_| {}) else {
        return;
    };
    let mut holder = running.client();
    let held = borrow(&mut holder, 3);
    let mut other = running.client();
    assert!(is_exhausted(&ask(&mut other, 2)));
    ask(&mut other, 1).expect("one is clean, or will be");
    drop(held);
}

/// Clears a file for each message.
struct Gated(Receiver<()>);

impl Engine for Gated {
    fn name(&self) -> &'static str {
        "gated"
    }

    fn zero(&mut self, pages: &mut [&mut [u8]]) -> Result<Timing, EngineError> {
        // A test that has ended waits for nothing.
        let _ = self.0.recv();
        for page in pages.iter_mut() {
            page.fill(0);
        }
        Ok(Timing::default())
    }
}

/// A pool of single pages, all of them returned and none of them cleared.
fn all_dirty(pages: usize) -> Option<(Running, Sender<()>)> {
    let (gate, gated) = channel();
    let running = pool_with(pages, Box::new(Gated(gated)), |_| {})?;
    running.until_clean();
    let mut client = running.client();
    let lease = borrow(&mut client, pages as u64);
    client.give_back(lease).expect("given back");
    Some((running, gate))
}

#[test]
fn requests_that_wait_for_cleaning_go_before_later_ones() {
    let Some((running, gate)) = all_dirty(4) else {
        return;
    };
    let waits = |pages: u64| {
        let mut client = running.client();
        std::thread::spawn(move || ask(&mut client, pages).map(|lease| (lease, client)))
    };
    let first = waits(3);
    running.until("one waits", |status: &Status| status.waiting == 1);
    // Two of the four pages would be left for the first.
    assert!(is_exhausted(&ask(&mut running.client(), 2)));
    let second = waits(1);
    running.until("two wait", |status: &Status| status.waiting == 2);
    for _ in 0..2 {
        gate.send(()).expect("the engine waits");
    }
    running.until("one has its page", |status: &Status| status.waiting == 1);
    // One page is clean, and it is not for those who come later.
    let now = Request::bytes(PAGE);
    let refused = running.client().lease(&now);
    assert!(is_exhausted(&refused), "{refused:?}");
    drop(gate);
    let (lease, _client) = first.join().expect("no panic").expect("a lease");
    assert_eq!(lease.bytes() as u64, 3 * PAGE);
    second.join().expect("no panic").expect("a lease");
}

#[test]
fn the_pool_knows_what_each_program_got_and_why_not_more() {
    let Some(running) = pool(4, |_| {}) else {
        return;
    };
    running.until_clean();
    let mut client = running.client();
    let lease = borrow(&mut client, 3);
    assert!(client.lease(&Request::bytes(2 * PAGE)).is_err());
    assert!(client.lease(&Request::bytes(5 * PAGE)).is_err());
    let mut watcher = running.client();
    let programs = watcher.status().expect("a status").programs;
    let [used] = &programs[..] else {
        panic!("one program asked: {programs:?}");
    };
    assert_eq!(used.process, std::process::id() as i32);
    assert!(!used.command.is_empty());
    assert!(used.is_connected);
    assert_eq!((used.lent_pages, used.refused_pages), (3, 7));
    let refused = Refusals {
        exhausted: 1,
        too_large: 1,
        ..Refusals::default()
    };
    assert_eq!(used.refused, refused);
    drop((lease, client));
    let status = running.until("it has ended", |status: &Status| {
        status.programs.iter().all(|used| !used.is_connected)
    });
    assert_eq!(status.programs.len(), 1);
    assert_eq!(status.programs[0].refused, refused);
}
