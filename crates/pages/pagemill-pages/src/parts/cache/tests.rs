use super::*;
use proptest::prelude::*;

fn spec(sets: u32, ways: u32, mshr_entries: u32) -> CacheSpec {
    CacheSpec {
        bytes: sets * ways * 128,
        line_bytes: 128,
        ways,
        hit_latency_cycles: 1,
        mshr_entries,
        hashed_sets: false,
    }
}

/// The trivial model: a list per set, most recent first, with a dirty mark.
struct Model {
    sets: Vec<Vec<(u64, bool)>>,
    ways: usize,
    dirty_ways: usize,
}

impl Model {
    fn access(&mut self, line: u64, store: bool) -> (bool, Option<u64>) {
        let index = (line % self.sets.len() as u64) as usize;
        let set = &mut self.sets[index];
        if let Some(place) = set.iter().position(|entry| entry.0 == line) {
            let (_, dirty) = set.remove(place);
            set.insert(0, (line, dirty || store));
            return (true, clean_one(set, store, self.dirty_ways));
        }
        set.insert(0, (line, store));
        let victim = (set.len() > self.ways).then(|| set.pop().unwrap());
        let left = victim.and_then(|(line, dirty)| dirty.then_some(line));
        (
            false,
            left.or_else(|| clean_one(set, store, self.dirty_ways)),
        )
    }
}

/// After a store to the first of a set: the newest dirty line behind it, where more than may be are dirty.
fn clean_one(set: &mut [(u64, bool)], store: bool, dirty_ways: usize) -> Option<u64> {
    let dirty = set.iter().filter(|entry| entry.1).count();
    if !store || dirty <= dirty_ways {
        return None;
    }
    let (line, dirty) = set[1..].iter_mut().find(|entry| entry.1)?;
    *dirty = false;
    Some(*line)
}

#[test]
fn a_line_that_comes_in_parts_misses_what_is_not_there() {
    let mut cache = Cache::new(&spec(1, 1, 2));
    let mut load = |at: u64, line, sectors| match cache.load_sectors(Picos(at), line, sectors) {
        Lookup::Hit(_) => Ok(0),
        Lookup::Miss(miss) => {
            cache.fill(miss, Picos(at + 10));
            Ok(miss.sectors)
        }
        Lookup::Blocked(free_at) => Err(free_at.0),
    };
    assert_eq!(load(0, 7, 0b0011), Ok(0b0011));
    assert_eq!(load(1, 7, 0b0010), Ok(0), "there, or on the way");
    assert_eq!(
        load(2, 7, 0b0110),
        Ok(0b0100),
        "the rest of what is asked for"
    );
    assert_eq!(load(3, 7, 0b1000), Err(10), "two misses are in flight");
    assert_eq!(load(20, 7, 0b1111), Ok(0b1000));
    assert_eq!(
        load(40, 8, 0b0001),
        Ok(0b0001),
        "another line makes the first leave"
    );
    assert_eq!(load(60, 7, 0b0001), Ok(0b0001));
}

#[test]
fn what_is_there_of_a_line_does_not_wait_for_the_rest() {
    let mut cache = Cache::new(&spec(1, 1, 4));
    let mut load = |at: u64, sectors| match cache.load_parts(Picos(at), 7, sectors) {
        Lookup::Hit(data_at) => data_at.0,
        Lookup::Miss(miss) => {
            cache.fill(miss, Picos(at + 10));
            at + 10
        }
        Lookup::Blocked(free_at) => free_at.0,
    };
    assert_eq!(load(0, 0b0001), 10);
    assert_eq!(load(20, 0b0010), 30);
    assert_eq!(load(21, 0b0001), 21, "long there");
    assert_eq!(load(22, 0b0011), 30, "its second part is on the way");
    assert_eq!(load(25, 0b0100), 35);
    assert_eq!(load(26, 0b0010), 35, "the later of two on their way");
    assert_eq!(
        cache.load_sectors(Picos(30), 7, 0b0001),
        Lookup::Hit(Picos(35))
    );
}

#[test]
fn parts_that_are_stored_or_brought_along_do_not_miss() {
    let mut cache = Cache::new(&spec(1, 2, 4));
    assert_eq!(cache.store_back_sectors(Picos(0), 1, 0b0001), Ok(None));
    assert_eq!(cache.load_parts(Picos(1), 1, 0b0001), Lookup::Hit(Picos(1)));
    let Lookup::Miss(miss) = cache.load_parts(Picos(2), 1, 0b0111) else {
        panic!("two parts are absent")
    };
    assert_eq!(miss.sectors, 0b0110);
    cache.bring_along(Picos(2), &miss, 0b1110);
    cache.fill(miss, Picos(9));
    assert_eq!(cache.load_parts(Picos(3), 1, 0b1000), Lookup::Hit(Picos(9)));
}

proptest! {
    #[test]
    fn hits_and_writebacks_equal_the_list_model(
        sets in 1u32..9, ways in 1u32..5, dirty_ways in 1u32..6,
        accesses in prop::collection::vec((0u64..40, any::<bool>()), 1..400),
    ) {
        let mut cache = Cache::new(&spec(sets, ways, 64)).with_dirty_ways(dirty_ways);
        let [ways, dirty_ways] = [ways, dirty_ways].map(|count| count as usize);
        let mut model = Model { sets: vec![Vec::new(); sets as usize], ways, dirty_ways };
        for (step, (line, store)) in accesses.into_iter().enumerate() {
            // Far enough apart that nothing is in flight.
            let at = Picos(step as u64 * 1000);
            let expected = model.access(line, store);
            let before = cache.counts();
            let writeback = if store {
                cache.store_back(at, line).unwrap()
            } else {
                match cache.load(at, line) {
                    Lookup::Hit(data_at) => { prop_assert_eq!(data_at, at); None }
                    Lookup::Miss(miss) => { cache.fill(miss, at + Picos(500)); miss.writeback }
                    Lookup::Blocked(_) => unreachable!("nothing is in flight"),
                }
            };
            let after = cache.counts();
            let hit = after.load_hits + after.store_hits > before.load_hits + before.store_hits;
            prop_assert_eq!((hit, writeback), expected);
        }
    }

    #[test]
    fn a_line_in_flight_merges_and_is_never_replaced(accesses in prop::collection::vec((0u64..12, 0u64..300), 1..300)) {
        let mut cache = Cache::new(&spec(2, 2, 64));
        let mut in_flight: Vec<(u64, u64)> = Vec::new();
        let mut at = 0;
        for (line, gap) in accesses {
            at += gap;
            in_flight.retain(|entry| entry.1 > at);
            match cache.load(Picos(at), line) {
                Lookup::Hit(data_at) => {
                    let expected = in_flight.iter().find(|entry| entry.0 == line).map_or(at, |entry| entry.1);
                    prop_assert_eq!(data_at.0, expected);
                }
                Lookup::Miss(miss) => {
                    prop_assert!(in_flight.iter().all(|entry| entry.0 != line), "a line in flight was lost");
                    cache.fill(miss, Picos(at + 1000));
                    in_flight.push((line, at + 1000));
                    prop_assert!(in_flight.iter().filter(|entry| entry.0 % 2 == line % 2).count() <= 2);
                }
                Lookup::Blocked(until) => {
                    let same_set = in_flight.iter().filter(|entry| entry.0 % 2 == line % 2).map(|entry| entry.1);
                    let ends: Vec<u64> = same_set.collect();
                    prop_assert_eq!(ends.len(), 2, "blocked with a free way");
                    prop_assert_eq!(Some(&until.0), ends.iter().min());
                }
            }
        }
    }
}

#[test]
fn folded_sets_spread_every_power_of_two_stride() {
    let sets = Sets::new(&CacheSpec {
        hashed_sets: true,
        ..spec(32, 4, 8)
    });
    for stride_shift in 0..16 {
        let mut lines = [0; 32];
        for step in 0..128u64 {
            lines[sets.of(step << stride_shift)] += 1;
        }
        let most = lines.iter().max().unwrap();
        assert!(*most <= 32, "stride {}: {lines:?}", 1 << stride_shift);
    }
}

#[test]
fn full_miss_registers_delay_the_next_miss() {
    let mut cache = Cache::new(&spec(8, 1, 2));
    for line in 0..2 {
        let Lookup::Miss(miss) = cache.load(Picos::ZERO, line) else {
            panic!("an empty cache hit")
        };
        cache.fill(miss, Picos(100 + line));
    }
    assert_eq!(cache.load(Picos(10), 2), Lookup::Blocked(Picos(100)));
    assert!(matches!(cache.load(Picos(100), 2), Lookup::Miss(_)));
}

#[test]
fn a_write_through_store_brings_nothing_in() {
    let mut cache = Cache::new(&spec(4, 1, 4));
    assert!(!cache.store_through(3));
    assert!(matches!(cache.load(Picos::ZERO, 3), Lookup::Miss(_)));
    assert!(cache.store_through(3));
    cache.invalidate(3);
    assert!(!cache.store_through(3));
}

#[test]
fn invalidated_lines_are_gone_and_not_written_back() {
    let mut cache = Cache::new(&spec(4, 1, 4));
    assert_eq!(cache.store_back(Picos::ZERO, 1), Ok(None));
    assert_eq!(cache.store_back(Picos::ZERO, 2), Ok(None));
    cache.invalidate_where(|line| line == 1);
    assert_eq!(
        cache.store_back(Picos(1), 5),
        Ok(None),
        "the line of this set was invalidated"
    );
    assert_eq!(cache.store_back(Picos(1), 6), Ok(Some(2)));
}
