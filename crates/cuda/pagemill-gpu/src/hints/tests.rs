use proptest::prelude::*;

use super::*;

const FILE: &str = r#"
program = "./app 4"
machine = "h200"

[[allocation]]
number = 2
bytes = 8192
name = "app.cu:7"

[[call]]
allocation = 2
action = "read-mostly"

[[call]]
allocation = 2
action = "prefetch-gpu"
before_launch = 3
ranges = [[0, 4096], [4096, 8192]]
"#;

#[test]
fn a_file_says_what_to_do_when() {
    let hints = Hints::parse(FILE).unwrap();
    assert_eq!(hints.allocations[0].bytes, 8192);
    assert_eq!(hints.calls[0].action, HintAction::ReadMostly);
    assert_eq!(hints.calls[1].before_launch, Some(3));
    assert_eq!(hints.calls[1].ranges, [[0, 4096], [4096, 8192]]);
}

#[test]
fn what_contradicts_itself_is_refused_by_name() {
    let cases = [
        ("number = 2\n", "number = 0\n", "counted from 1"),
        (
            "allocation = 2",
            "allocation = 5",
            "for allocation 5, which no",
        ),
        (
            "before_launch = 3",
            "before_launch = 0",
            "launches are counted from 1",
        ),
        ("[0, 4096]", "[4096, 4096]", "[4096, 4096]"),
        ("[4096, 8192]", "[4096, 8193]", "has 8192 bytes"),
        ("read-mostly", "read-often", "read-often"),
        ("program =", "programm =", "programm"),
        (
            "[[call]]",
            "[[allocation]]\nnumber = 2\nbytes = 1\nname = \"\"\n[[call]]",
            "there twice",
        ),
    ];
    for (from, to, said) in cases {
        let error = Hints::parse(&FILE.replacen(from, to, 1)).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
}

fn action() -> impl Strategy<Value = HintAction> {
    prop_oneof![
        Just(HintAction::ReadMostly),
        Just(HintAction::PreferGpu),
        Just(HintAction::PreferCpu),
        Just(HintAction::AccessedByGpu),
        Just(HintAction::PrefetchGpu),
        Just(HintAction::PrefetchCpu),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(
        name in ".{0,12}",
        sizes in prop::collection::vec(1u64..1 << 40, 1..5),
        calls in prop::collection::vec((0usize..5, action(), prop::option::of(1u32..9), 0u64..99), 0..9),
    ) {
        let numbers = 1..=sizes.len() as u32;
        let allocations = numbers.zip(&sizes).map(|(number, &bytes)| HintedAllocation { number, bytes, name: name.clone() });
        let calls = calls.into_iter().map(|(place, action, before_launch, start)| {
            let place = place % sizes.len();
            let bytes = sizes[place];
            let ranges = if start < bytes { vec![[start, bytes]] } else { Vec::new() };
            HintCall { allocation: place as u32 + 1, action, before_launch, ranges }
        });
        let hints = Hints { program: name.clone(), machine: String::new(), allocations: allocations.collect(), calls: calls.collect() };
        prop_assert_eq!(Hints::parse(&hints.text().unwrap()).unwrap(), hints);
    }
}
