//! What every store promises, against a map.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use pagemill_pager::UNIT_BYTES;
use pagemill_pager::remote::{Address, Remote, Server, ServerConfig, Token};
use pagemill_pager::store::{
    Compressed, Directory, NO_SLOT, Slot, Store, StoreError, Tiered, Unit,
};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Step {
    /// New units, each of a kind of bytes.
    Put(Vec<u8>),
    /// Other bytes for some of what is kept.
    Replace(Vec<(usize, u8)>),
    Get(Vec<usize>),
    Free(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let some = |least| proptest::collection::vec(any::<usize>(), least..40);
    prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..40).prop_map(Step::Put),
        proptest::collection::vec((any::<usize>(), any::<u8>()), 1..20).prop_map(Step::Replace),
        some(0).prop_map(Step::Get),
        any::<usize>().prop_map(Step::Free),
    ]
}

/// Bytes that compress well, little, or not at all.
fn unit(kind: u8) -> Box<Unit> {
    let mut unit = Box::new([0; UNIT_BYTES]);
    let mut state = u64::from(kind) * 2 + 1;
    let random = usize::from(kind % 3) * UNIT_BYTES / 2;
    for byte in &mut unit[..random] {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        *byte = (state >> 33) as u8;
    }
    unit[UNIT_BYTES - 1] = kind;
    unit
}

fn put(store: &dyn Store, kinds: &[u8], slots: &mut [Slot]) -> Result<u64, StoreError> {
    let units: Vec<Box<Unit>> = kinds.iter().map(|kind| unit(*kind)).collect();
    let units: Vec<&Unit> = units.iter().map(|unit| &**unit).collect();
    store.put(&units, slots)
}

fn check(store: &dyn Store, steps: &[Step]) {
    let mut model: BTreeMap<Slot, u8> = BTreeMap::new();
    for step in steps {
        let known: Vec<Slot> = model.keys().copied().collect();
        let pick = |index: &usize| known[index % known.len()];
        match step {
            Step::Put(kinds) => {
                let mut slots = vec![NO_SLOT; kinds.len()];
                put(store, kinds, &mut slots).expect("there is room");
                for (slot, kind) in slots.into_iter().zip(kinds) {
                    assert!(slot != NO_SLOT && slot < 1 << 60, "slot {slot}");
                    assert_eq!(model.insert(slot, *kind), None, "slot {slot} is taken");
                }
            }
            _ if known.is_empty() => {}
            Step::Replace(changes) => {
                let changes: BTreeMap<usize, u8> = (changes.iter())
                    .map(|(index, kind)| (index % known.len(), *kind))
                    .collect();
                let old: Vec<Slot> = changes.keys().map(pick).collect();
                let kinds: Vec<u8> = changes.values().copied().collect();
                let mut slots = old.clone();
                put(store, &kinds, &mut slots).expect("there is room");
                for ((old, new), kind) in old.iter().zip(slots).zip(kinds) {
                    model.remove(old);
                    assert_eq!(model.insert(new, kind), None);
                }
            }
            Step::Get(indices) => {
                let slots: Vec<Slot> = indices.iter().map(pick).collect();
                let mut bytes = vec![0xee; slots.len() * UNIT_BYTES];
                store.get(&slots, &mut bytes).expect("they are kept");
                for (slot, bytes) in slots.iter().zip(bytes.chunks_exact(UNIT_BYTES)) {
                    assert_eq!(bytes, &unit(model[slot])[..], "slot {slot}");
                }
            }
            Step::Free(index) => {
                let slot = pick(index);
                store.free(&[slot]);
                model.remove(&slot);
            }
        }
        assert_eq!(store.usage().units, model.len() as u64);
    }
    let slots: Vec<Slot> = model.keys().copied().collect();
    store.free(&slots);
    let usage = store.usage();
    assert_eq!((usage.units, usage.bytes), (0, 0), "all was freed");
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn directory(folder: &Path) -> Box<dyn Store> {
    Box::new(Directory::open(folder, 1 << 30).expect("a store"))
}

fn server() -> (Server, Token) {
    let token = Token::new("the secret of this test").expect("long enough");
    let config = ServerConfig {
        address: Address::Tcp("127.0.0.1:0".to_owned()),
        tenants: vec![("one".to_owned(), token.clone(), 1 << 30)],
        grace: Duration::from_secs(60),
    };
    let store = Arc::new(Compressed::new(u64::MAX));
    (Server::start(config, store).expect("a server"), token)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn stores_keep_what_they_are_given(steps in proptest::collection::vec(step(), 1..40)) {
        let folder = folder();
        check(&Compressed::new(u64::MAX), &steps);
        check(&*directory(folder.path()), &steps);
        let (server, token) = server();
        for twins in [0, 8, 64] {
            let remote = Remote::connect(server.address(), "one", &token).expect("a client");
            check(&remote.with_twins(twins), &steps);
        }
        let first = Box::new(Compressed::new(50_000));
        check(&Tiered::new(first, directory(folder.path())), &steps);
    }
}

/// A full store says so, and keeps all that it has.
fn fills(store: &dyn Store) {
    let mut kept = Vec::new();
    let error = loop {
        let kind = 2 + 3 * (kept.len() % 50) as u8;
        let mut slot = [NO_SLOT];
        match put(store, &[kind], &mut slot) {
            Ok(_) => kept.push((slot[0], kind)),
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    assert!(error.to_string().contains("is full at"), "{error}");
    assert!(kept.len() > 10);
    for &(slot, kind) in &kept {
        let mut bytes = [0; UNIT_BYTES];
        store.get(&[slot], &mut bytes).expect("it is kept");
        assert_eq!(bytes, *unit(kind));
    }
    store.free(&[kept[0].0]);
    let mut slot = [NO_SLOT];
    put(store, &[2], &mut slot).expect("there is room again");
}

#[test]
fn a_full_store_loses_nothing() {
    let folder = folder();
    fills(&Compressed::new(100_000));
    fills(&Directory::open(folder.path(), 100_000).expect("a store"));
    let second = Directory::open(folder.path(), 60_000).expect("a store");
    fills(&Tiered::new(
        Box::new(Compressed::new(60_000)),
        Box::new(second),
    ));
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let error = Directory::open(Path::new("/none/such"), 1 << 20).expect_err("there is none");
    let text = error.to_string();
    assert!(
        text.starts_with("cannot make a file in the folder /none/such: "),
        "{text}"
    );
}
