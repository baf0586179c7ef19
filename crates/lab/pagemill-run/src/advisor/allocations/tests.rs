use super::*;

fn place(at: &str) -> Place {
    Place {
        function: Some("f".to_owned()),
        at: at.to_owned(),
    }
}

fn named(lines: &[&[&str]]) -> Vec<String> {
    let mut all: Vec<(Allocation, Vec<Place>)> = lines
        .iter()
        .zip(1..)
        .map(|(lines, number)| {
            let places = lines.iter().map(|at| place(at)).collect();
            let mut allocation = new(0, &Stack::default());
            allocation.numbers = vec![number];
            (allocation, places)
        })
        .collect();
    name(&mut all);
    all.into_iter()
        .map(|(allocation, _)| allocation.name)
        .collect()
}

#[test]
fn names_are_as_long_as_they_have_to_be() {
    assert_eq!(
        named(&[
            &["a.h:3", "m.cu:10"],
            &["a.h:3", "m.cu:11"],
            &["m.cu:12"],
            &[],
            &["m.cu:14"],
            &["m.cu:14"],
            &["h.h:1", "m.cu:15"],
            &["h.h:1", "m.cu:15"],
            &["h.h:1", "m.cu:16"],
            &[
                "a_very_long_name_of_a_file_indeed.cuh:10",
                "long_as_well.cuh:7"
            ],
            &[
                "a_very_long_name_of_a_file_indeed.cuh:10",
                "long_as_well.cuh:8"
            ],
        ]),
        [
            "a.h:3 from m.cu:10",
            "a.h:3 from m.cu:11",
            "m.cu:12",
            "managed #4",
            "m.cu:14 #1",
            "m.cu:14 #2",
            "h.h:1 from m.cu:15 #1",
            "h.h:1 from m.cu:15 #2",
            "h.h:1 from m.cu:16",
            "a_very_long_name_of_… long_as_well.cuh:7",
            "a_very_long_name_of_… long_as_well.cuh:8",
        ]
    );
}

#[test]
fn patterns_follow_from_moves() {
    let mut allocation = new(0, &Stack::default());
    allocation.bytes = 8 << 20;
    assert_eq!(allocation.pattern(), "no kernel uses it");
    allocation.traffic.remote_bytes = 128;
    assert_eq!(allocation.pattern(), "in place");
    allocation.traffic.migrated_bytes = 1 << 20;
    assert_eq!(allocation.pattern(), "a part of it, once");
    allocation.traffic.populated_bytes = 6 << 20;
    assert_eq!(allocation.pattern(), "all of it, once");
    allocation.traffic.migrated_bytes = 9 << 20;
    allocation.traffic.repeated_bytes = 8 << 20;
    assert_eq!(allocation.pattern(), "again and again, in order");
    allocation.traffic.services = 900;
    allocation.traffic.batches = 10;
    allocation.traffic.faults = 1000;
    assert_eq!(allocation.pattern(), "again and again, scattered");
}
