use pagemill_types::Picos;

use super::super::PORT;
use super::*;
use crate::matching::Unexpected;
use crate::packet::{MessageId, Receive, Request, Send};
use crate::{NicCall, NicMachine};

const TAG: u64 = 7;

/// A rank with a receive and a long message under way.
fn rank() -> Rank {
    let mut rank = Rank::new(&NicMachine::pni(), 0).expect("sound");
    let mut steps = Vec::new();
    let receive = Receive {
        source: None,
        tag: TAG,
        ignore: 0,
        bytes: 64,
        address: 0,
    };
    let send = Send {
        dest: 1,
        tag: TAG,
        bytes: 1 << 20,
        address: 0,
    };
    rank.receive(Picos::ZERO, &receive, &mut steps);
    rank.send(Picos::ZERO, &send, &mut steps);
    rank
}

fn broken(change: impl FnOnce(&mut Rank), what: &str) {
    let mut rank = rank();
    change(&mut rank);
    let wrong = rank.broken_invariant().expect("it is broken");
    assert!(wrong.contains(what), "{wrong}");
}

#[test]
fn a_broken_state_says_what_is_wrong() {
    assert_eq!(rank().broken_invariant(), None);
    let waits_twice = |rank: &mut Rank| {
        let announced = rank.pending.remove(&Request(1)).expect("under way");
        rank.pending.insert(Request(0), announced);
    };
    broken(waits_twice, "for a message and for data");
    broken(|rank| rank.next_request = 1, "used again");
    let call = NicCall::Forget {
        port: PORT,
        address: 0,
        bytes: 0,
    };
    broken(move |rank| rank.calls.push(call), "not shared");
    let message = Unexpected {
        message: MessageId {
            source: 1,
            sequence: 0,
        },
        tag: TAG,
        bytes: 0,
        ready_at: Picos::ZERO,
        announced: None,
    };
    broken(move |rank| rank.matching.keep(message), "fits");
}
