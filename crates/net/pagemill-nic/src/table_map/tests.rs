use super::*;
use pagemill_map::Map;
use pagemill_policy::translation::AttSpec;

#[test]
fn an_entry_has_its_whole_history() {
    let layout = AttSpec::published().layout;
    let mut map = TableMap::new(layout, 1000, Limits::default());
    let at = |ns| (Picos::from_nanos(ns), Picos::from_nanos(ns + 1));
    map.fetched(Event::Missed, Slot(3), 1000..1008, at(1));
    map.note(Event::Used, 1002, at(2));
    // Of another table, which takes the slot.
    map.fetched(Event::Missed, Slot(3), 0..8, at(3));
    map.fetched(Event::Missed, Slot(4), 1000..1008, at(4));
    map.forgot(1007, 1010);

    let map = Map::decode(&map.finish(Picos::from_nanos(9))).expect("a map");
    let causes = |page: u64| -> Vec<&str> {
        let events = map.history(page).unwrap_or_default();
        let name =
            |event: &pagemill_map::Event| map.legend.causes[usize::from(event.cause)].name.as_str();
        events.iter().map(name).collect()
    };
    assert_eq!(causes(0), ["miss", "displaced", "miss", "invalidated"]);
    assert_eq!(
        causes(2),
        ["miss", "used", "displaced", "miss", "invalidated"]
    );
    assert_eq!(causes(8), [] as [&str; 0]);
    let repeated: u64 = map.tiles.iter().map(|tile| tile.repeated).sum();
    assert_eq!(repeated, 8 * layout.page.bytes());
}
