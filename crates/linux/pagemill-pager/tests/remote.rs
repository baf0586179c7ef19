//! A page server and its clients: what they keep, and what they refuse.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use pagemill_pager::UNIT_BYTES;
use pagemill_pager::remote::{Address, Remote, Server, ServerConfig, Token, read_metrics};
use pagemill_pager::store::{Compressed, NO_SLOT, Slot, Store, StoreError, Unit};

const SECRETS: [&str; 2] = ["the secret of the first tenant", "the secret of the second"];

fn token(index: usize) -> Token {
    Token::new(SECRETS[index]).expect("long enough")
}

fn server(address: Address, quota_bytes: u64, grace: Duration) -> Server {
    let tenants = ["one", "two"].iter().enumerate();
    let config = ServerConfig {
        address,
        tenants: tenants
            .map(|(index, name)| ((*name).to_owned(), token(index), quota_bytes))
            .collect(),
        grace,
    };
    Server::start(config, Arc::new(Compressed::new(u64::MAX))).expect("a server")
}

fn tcp() -> Address {
    Address::Tcp("127.0.0.1:0".to_owned())
}

fn unit(byte: u8) -> Unit {
    let mut unit = [byte; UNIT_BYTES];
    unit[0] = !byte;
    unit
}

fn put(store: &dyn Store, bytes: &[u8]) -> Result<Vec<Slot>, StoreError> {
    let units: Vec<Unit> = bytes.iter().map(|byte| unit(*byte)).collect();
    let units: Vec<&Unit> = units.iter().collect();
    let mut slots = vec![NO_SLOT; units.len()];
    store.put(&units, &mut slots).map(|_| slots)
}

fn has(store: &dyn Store, slots: &[Slot], bytes: &[u8]) -> bool {
    let mut units = vec![0; slots.len() * UNIT_BYTES];
    store.get(slots, &mut units).is_ok()
        && (units.chunks_exact(UNIT_BYTES).zip(bytes)).all(|(found, byte)| found == unit(*byte))
}

fn long_grace() -> Duration {
    Duration::from_secs(600)
}

#[test]
fn units_come_back_over_either_transport() {
    let folder = tempfile::tempdir().expect("a folder");
    for address in [tcp(), Address::Unix(folder.path().join("pages.sock"))] {
        let server = server(address, 1 << 30, long_grace());
        let remote = Remote::connect(server.address(), "one", &token(0)).expect("a client");
        let bytes: Vec<u8> = (0..200).collect();
        let mut slots = put(&remote, &bytes).expect("room");
        assert!(has(&remote, &slots, &bytes));
        // Others in the place of some.
        let fresh = unit(77);
        remote.put(&[&fresh], &mut slots[5..6]).expect("room");
        assert!(has(&remote, &slots[5..6], &[77]));
        assert!(has(&remote, &slots[6..], &bytes[6..]));
        remote.free(&slots[..100]);
        assert!(has(&remote, &slots[100..], &bytes[100..]));
        assert!(!has(&remote, &slots[..1], &bytes[..1]), "freed is gone");
        assert_eq!(remote.usage().units, 100);
        let text = server.metrics();
        assert!(
            text.contains("pagemill_pager_tenant_bytes{tenant=\"one\"} 409600\n"),
            "{text}"
        );
        drop(remote);
        let told = read_metrics(server.address(), "two", &token(1)).expect("metrics");
        assert!(
            told.contains("# TYPE pagemill_pager_put_units_total counter"),
            "{told}"
        );
    }
}

/// Lines of 64 bytes that a server was sent in changes.
fn lines_put(server: &Server) -> u64 {
    let text = server.metrics();
    let mut lines = text.lines();
    let found = lines.find_map(|line| line.strip_prefix("pagemill_pager_put_lines_total "));
    found
        .and_then(|count| count.parse().ok())
        .expect("a counter")
}

#[test]
fn only_changed_lines_of_a_unit_that_came_back_are_sent() {
    let server = server(tcp(), 1 << 30, long_grace());
    let remote = Remote::connect(server.address(), "one", &token(0)).expect("a client");
    let remote = remote.with_twins(64);
    let mut slots = put(&remote, &[1, 2, 3]).expect("room");
    let mut units: Vec<Unit> = [1, 2, 3].map(unit).to_vec();
    let send = |units: &[Unit], slots: &mut [Slot]| {
        let units: Vec<&Unit> = units.iter().collect();
        remote.put(&units, slots).expect("room")
    };
    let is_kept = |units: &[Unit], slots: &[Slot]| {
        let mut bytes = vec![0; slots.len() * UNIT_BYTES];
        remote.get(slots, &mut bytes).expect("they are kept");
        bytes == units.as_flattened()
    };
    units[0][70] = 99;
    assert_eq!(send(&units[..1], &mut slots[..1]), 4096, "never came back");
    assert!(is_kept(&units, &slots));
    units[0][70] = 98;
    units[1][..130].fill(97);
    units[2].fill(96);
    // One line, three lines, and a whole unit; a change has a head of 32 bytes.
    assert_eq!(send(&units, &mut slots), 32 + 64 + 32 + 3 * 64 + 4096);
    assert_eq!(lines_put(&server), 4);
    assert!(is_kept(&units, &slots));
    // What a slot had before it was freed is nothing that is known of the next unit there.
    remote.free(&slots[..1]);
    slots[0] = NO_SLOT;
    assert_eq!(send(&units[..1], &mut slots[..1]), 4096);
    assert!(is_kept(&units, &slots));
}

#[test]
fn lines_with_the_same_hash_by_chance_are_sent_as_a_whole_unit() {
    let server = server(tcp(), 1 << 30, long_grace());
    let remote = Remote::connect(server.address(), "one", &token(0)).expect("a client");
    let remote = remote.with_twins(1);
    let mut slot = [NO_SLOT];
    remote.put(&[&[0; UNIT_BYTES]], &mut slot).expect("room");
    let mut bytes = [0; UNIT_BYTES];
    let mut units_that_differed = 0;
    // Among so many lines, some have the hash of 16 bits of the line before.
    for number in 1_u64..400_000 {
        if units_that_differed == 1 {
            return;
        }
        remote.get(&slot, &mut bytes).expect("it is kept");
        let mut unit = bytes;
        unit[..8].copy_from_slice(&number.to_le_bytes());
        let sent = remote.put(&[&unit], &mut slot).expect("room");
        units_that_differed += u64::from(sent > UNIT_BYTES as u64);
        remote.get(&slot, &mut bytes).expect("it is kept");
        assert!(bytes == unit, "number {number}");
    }
    panic!("no two lines had the same hash");
}

#[test]
fn tenants_never_see_each_others_bytes() {
    let server = server(tcp(), 1 << 30, long_grace());
    let one = Remote::connect(server.address(), "one", &token(0)).expect("a client");
    let two = Remote::connect(server.address(), "two", &token(1)).expect("a client");
    let slots = put(&one, &[1, 2, 3]).expect("room");
    assert!(
        !has(&two, &slots, &[1, 2, 3]),
        "the same numbers name nothing of its own"
    );
    let others = put(&two, &[9, 9, 9]).expect("room");
    assert_eq!(slots, others, "each counts by itself");
    assert!(has(&one, &slots, &[1, 2, 3]));
    assert!(has(&two, &others, &[9, 9, 9]));
    // What one gave up is never another's: a unit is written before it can be read.
    one.free(&slots);
    assert!(!has(&one, &slots, &[1, 2, 3]));
    assert!(has(&two, &others, &[9, 9, 9]));
    // A second client of the same tenant has a session of its own, too.
    let again = Remote::connect(server.address(), "one", &token(0)).expect("a client");
    assert!(!has(&again, &slots, &[1, 2, 3]));
}

#[test]
fn a_quota_is_the_tenants_and_not_the_servers() {
    let server = server(tcp(), 10 * UNIT_BYTES as u64, long_grace());
    let one = Remote::connect(server.address(), "one", &token(0)).expect("a client");
    let two = Remote::connect(server.address(), "two", &token(1)).expect("a client");
    let kept = put(&one, &[5; 10]).expect("room");
    let error = put(&one, &[6]).expect_err("no more");
    assert!(
        matches!(
            error,
            StoreError::Full {
                used_bytes: 40960,
                ..
            }
        ),
        "{error}"
    );
    assert!(has(&one, &kept, &[5; 10]), "nothing is lost");
    put(&two, &[7; 10]).expect("its own quota");
    one.free(&kept[..1]);
    put(&one, &[6]).expect("room again");
}

#[test]
fn a_broken_connection_loses_nothing_and_a_lost_server_is_named() {
    let first = server(tcp(), 1 << 30, long_grace());
    let remote = Remote::connect(first.address(), "one", &token(0)).expect("a client");
    let slots = put(&remote, &[1, 2]).expect("room");
    // Another server at the same address knows nothing.
    let address = first.address().clone();
    drop(first);
    let error = remote
        .get(&slots, &mut [0; 2 * UNIT_BYTES])
        .expect_err("gone");
    assert!(
        error
            .to_string()
            .contains("cannot reach the page server at tcp://127.0.0.1:"),
        "{error}"
    );
    let second = server(address, 1 << 30, long_grace());
    let error = remote
        .get(&slots, &mut [0; 2 * UNIT_BYTES])
        .expect_err("other");
    assert!(
        error.to_string().contains("what it kept is lost"),
        "{error}"
    );
    drop(second);
}

#[test]
fn strangers_are_refused() {
    let server = server(tcp(), 1 << 30, long_grace());
    for (tenant, token) in [("one", token(1)), ("three", token(0)), ("", token(0))] {
        let error = Remote::connect(server.address(), tenant, &token).expect_err("refused");
        let text = error.to_string();
        assert!(
            text.ends_with("refuses: the tenant or its token is wrong"),
            "{text}"
        );
    }
    let absent = Address::Unix("/none/such.sock".into());
    let text = Remote::connect(&absent, "one", &token(0))
        .expect_err("no server")
        .to_string();
    assert!(
        text.starts_with("cannot reach the page server at unix:/none/such.sock: "),
        "{text}"
    );
    assert!(
        text.ends_with("; start `pagemill pager serve` there"),
        "{text}"
    );
    // What is no client is left alone, and the server goes on.
    let Address::Tcp(host) = server.address() else {
        unreachable!("it listens at a port");
    };
    let mut stream = TcpStream::connect(host).expect("connected");
    stream.write_all(&[0xff; 200]).expect("written");
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    assert!(Remote::connect(server.address(), "one", &token(0)).is_ok());
}

#[test]
fn what_answers_at_an_address_may_be_something_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("other.sock");
    let listener = std::os::unix::net::UnixListener::bind(&path).expect("bound");
    let other = std::thread::spawn(move || {
        let (mut stream, _): (UnixStream, _) = listener.accept().expect("a client");
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .expect("written");
    });
    let text = Remote::connect(&Address::Unix(path), "one", &token(0))
        .expect_err("no server")
        .to_string();
    assert!(
        text.ends_with("is no page server of this version"),
        "{text}"
    );
    other.join().expect("a thread");
}
