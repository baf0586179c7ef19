use super::*;
use crate::station::requests::Outcome;

fn done(ticket: u64, kind: Kind, status: Status) -> Done {
    Done {
        ticket: Ticket(ticket),
        kind,
        outcome: Outcome {
            status,
            source: 3,
            tag: 1 << 40,
            bytes: 8,
            sent_bytes: 8,
            data: None,
        },
    }
}

#[test]
fn a_call_waits_for_what_was_seen_and_computed_before_it() {
    let mut schedule = Schedule::default();
    schedule.posted(None, 0, 8, Ticket(0));
    schedule.posted(Some(2), 5, 64, Ticket(1));
    schedule.saw(&done(0, Kind::Receive, Status::Success));
    schedule.computed(1_500);
    schedule.posted(Some(2), 5, 64, Ticket(2));
    // Half a nanosecond is left from before.
    schedule.computed(500);
    schedule.posted(None, 0, 8, Ticket(3));
    schedule.saw(&done(3, Kind::Receive, Status::Canceled));
    assert_eq!(
        schedule.text(),
        "l0: recv 8b from 3 tag 1099511627776\nl1: send 64b to 2 tag 5\nl2: calc 1\nl3: send 64b to 2 tag 5\nl4: calc 1\nl5: calc 0\n\
         l2 requires l0\nl3 requires l2\nl4 requires l2\nl5 requires l4\n"
    );
}

#[test]
fn ranks_are_merged_with_small_tags() {
    let ranks = [
        "l0: send 1b to 1 tag 1099511627776\n",
        "l0: recv 1b from 0 tag 1099511627776\n",
    ];
    let all = merged(&ranks.map(str::to_owned)).expect("a schedule");
    assert_eq!(
        all,
        "num_ranks 2\n\nrank 0 {\nl0: send 1b to 1 tag 0\n}\n\nrank 1 {\nl0: recv 1b from 0 tag 0\n}\n"
    );
}

#[test]
fn what_has_no_words_in_a_schedule_is_refused() {
    let mut schedule = Schedule::default();
    schedule.saw(&done(0, Kind::Write, Status::Success));
    let ranks = [String::new(), schedule.text()];
    let reason = merged(&ranks).expect_err("a write is no message");
    assert!(
        reason.starts_with("rank 1 has no schedule: it accessed memory"),
        "{reason}"
    );
}
