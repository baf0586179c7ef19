//! GOAL schedules: what they mean, and bad text.

use pagemill_sim::nic::goal::{Goal, GoalError, GoalOperation, parse};
use pagemill_sim::nic::{NicMachine, WorldError};
use pagemill_types::Picos;
use proptest::prelude::*;

fn read(text: &str) -> Result<Goal, GoalError> {
    parse("a.goal", text.as_bytes())
}

fn end(text: &str) -> Picos {
    read(text).unwrap().run(&NicMachine::pni()).unwrap().end
}

/// The broadcast over a binary tree that comes with LogGOPSim, for four ranks.
const TREE: &str = "num_ranks 4

rank 0 {
l1: send 1b to 1 tag 0
l2: send 1b to 2 tag 0
}

rank 1 {
l1: recv 1b from 0 tag 0
l2: send 1b to 3 tag 0
l2 requires l1
}

rank 2 {
l1: recv 1b from 0 tag 0
}
rank 3 {
l1: recv 1b from 1 tag 0 cpu 0 nic 0
}
";

#[test]
fn a_tree_takes_as_long_as_its_deepest_branch() {
    let goal = read(TREE).unwrap();
    assert_eq!(goal.ranks.len(), 4);
    assert_eq!((goal.messages(), goal.bytes()), (3, 3));
    let one = end("num_ranks 2\nrank 0 {\nsend 1b to 1\n}\nrank 1 {\nrecv 1b from 0\n}");
    assert_eq!(goal.run(&NicMachine::pni()).unwrap().end, Picos(2 * one.0));
}

#[test]
fn requires_waits_for_the_end_and_irequires_for_the_start() {
    let program = |relation: &str| {
        format!(
            "num_ranks 2\nrank 0 {{\na: recv 8b from 1\nb: calc 5000\n{relation}\n}}\nrank 1 {{\nc: calc 20000\ns: send 8b to 0\ns requires c\n}}"
        )
    };
    let message = end("num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 8b from 0\n}");
    let received = Picos::from_nanos(20_000) + message;
    assert_eq!(
        end(&program("b requires a")),
        received + Picos::from_nanos(5000)
    );
    assert_eq!(end(&program("b irequires a")), received);
    assert_eq!(end(&program("")), received);
}

#[test]
fn any_source_and_any_tag_take_what_comes_first() {
    let text = "num_ranks 3\nrank 0 {\nrecv 8b from -1 tag -1\nrecv 8b from -1 tag -1\n}\nrank 1 {\nsend 8b to 0 tag 4\n}\nrank 2 {\nsend 8b to 0 tag 9\n}";
    assert!(end(text) > Picos::ZERO);
    let operations = &read(text).unwrap().ranks[0].operations;
    assert_eq!(
        operations[0],
        GoalOperation::Receive {
            bytes: 8,
            from: None,
            tag: None
        }
    );
}

#[test]
fn comments_and_spaces_do_not_matter() {
    let odd = "/* first\n line */ num_ranks 2 // two\r\n\trank 0 {\n  a : send 8 b to 1 /* here */ tag 3\n}\nrank 1 {  recv 8b from 0 tag 3 }\n";
    let plain =
        "num_ranks 2\nrank 0 {\na: send 8b to 1 tag 3\n}\nrank 1 {\nrecv 8b from 0 tag 3\n}\n";
    assert_eq!(read(odd).unwrap(), read(plain).unwrap());
}

#[test]
fn bad_text_is_told_with_its_line() {
    let cases = [
        ("", 1, "no `num_ranks N`"),
        ("rank 0 {\n}", 1, "has to come before"),
        ("num_ranks 0", 1, "from 1 to"),
        ("num_ranks 99999999999", 1, "from 1 to"),
        ("num_ranks x", 1, "whole number"),
        ("num_ranks 2\nnum_ranks 2", 2, "a second time"),
        ("num_ranks 2\nrank 2 {", 2, "no rank 2"),
        ("num_ranks 2\nrank 0", 2, "`{` is needed"),
        ("num_ranks 2\nrank 0 {\n}\nrank 0 {\n}", 4, "a second time"),
        ("num_ranks 2\nrank 0 {\nsend 8b to 2\n}", 3, "no rank 2"),
        ("num_ranks 2\nrank 0 {\nsend 8 to 1\n}", 3, "`b` is needed"),
        (
            "num_ranks 2\nrank 0 {\nsend 8b from 1\n}",
            3,
            "`to` is needed",
        ),
        ("num_ranks 2\nrank 0 {\nsend 8b to -1\n}", 3, "whole number"),
        ("num_ranks 2\nrank 0 {\nsend -8b to 1\n}", 3, "whole number"),
        (
            "num_ranks 2\nrank 0 {\ncalc 99999999999999999999\n}",
            3,
            "whole number",
        ),
        (
            "num_ranks 2\nrank 0 {\nrecv 8b from 1 tag 4294967296\n}",
            3,
            "larger than",
        ),
        (
            "num_ranks 2\nrank 0 {\nl1: jump 3\n}",
            3,
            "use send, recv or calc",
        ),
        (
            "num_ranks 2\nrank 0 {\nl1 l2\n}",
            3,
            "`requires` or `irequires`",
        ),
        (
            "num_ranks 2\nrank 0 {\nl1: calc 1\nl1: calc 1\n}",
            4,
            "a second time",
        ),
        (
            "num_ranks 2\nrank 0 {\nl1: calc 1\nl1 requires l2\nl2: calc 1\n}",
            4,
            "l2 is not known above",
        ),
        (
            "num_ranks 2\nrank 0 {\na: calc 1\nb: calc 1\na requires b\nb requires a\n}",
            7,
            "waits for itself",
        ),
        (
            "num_ranks 2\nrank 0 {\na: calc 1\na requires a\n}",
            5,
            "waits for itself",
        ),
        ("num_ranks 2\nrank 0 {\ncalc 1", 4, "`}` is missing"),
        ("num_ranks 2\n/* rank", 3, "`*/` is missing"),
        ("num_ranks 2\n}", 2, "outside of a rank"),
        (
            "num_ranks 2\nrank 0 {\n\u{e9}: calc 1\n}",
            3,
            "neither an operation nor a label",
        ),
    ];
    for (text, line, expected) in cases {
        let error = read(text).unwrap_err();
        assert_eq!(error.line, line, "{text:?}: {error}");
        assert!(error.message.contains(expected), "{text:?}: {error}");
        assert!(
            error.to_string().starts_with(&format!("a.goal:{line}: ")),
            "{error}"
        );
    }
    assert!(
        parse("b", &[0xff, 0xfe, b'\n'][..])
            .unwrap_err()
            .message
            .contains("no text")
    );
    let endless = "x".repeat(100_000);
    assert!(read(&endless).unwrap_err().message.contains("longer than"));
}

#[test]
fn a_receive_without_a_send_is_found() {
    let goal = read("num_ranks 3\nrank 1 {\nrecv 8b from 0\n}\nrank 2 {\nsend 8b to 1\n}").unwrap();
    let error = goal.run(&NicMachine::pni()).unwrap_err();
    assert!(
        matches!(
            error,
            WorldError::Stuck {
                count: 1,
                first: 1,
                receives: 1,
                messages: 1,
                ..
            }
        ),
        "{error:?}"
    );
    assert!(error.to_string().contains("rank 1"), "{error}");
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in "(num_ranks|rank|[0-9]{1,3}|\\{|\\}|l[0-9]|:|send|recv|calc|requires|irequires|[0-9]b|to|from|tag|-1|//|/\\*|\\*/| |\n){0,60}") {
        if let Err(error) = read(&text) {
            prop_assert!(error.line >= 1 && error.line <= text.lines().count() as u64 + 2);
        }
    }

    /// Chains of messages around a ring, in any order of ranks, end; and replaying gives the same time.
    #[test]
    fn a_chain_ends(ranks in 2u32..9, bytes in 0u64..40_000, calc in 0u64..10_000) {
        let mut text = format!("num_ranks {ranks}\n");
        for rank in (0..ranks).rev() {
            let (to, from) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
            text += &format!("rank {rank} {{\nc: calc {calc}\ns: send {bytes}b to {to}\nr: recv {bytes}b from {from}\n");
            text += if rank == 0 { "s requires c\n}\n" } else { "c requires r\ns requires c\n}\n" };
        }
        let goal = read(&text).unwrap();
        let report = goal.run(&NicMachine::pni()).unwrap();
        prop_assert_eq!(report, goal.run(&NicMachine::pni()).unwrap());
        prop_assert!(report.end >= Picos(u64::from(ranks) * calc * 1000));
        prop_assert_eq!(report.counts.received_bytes, u64::from(ranks) * bytes);
    }
}
