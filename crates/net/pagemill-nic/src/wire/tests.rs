use super::*;

const SEGMENT: Picos = Picos(100);

#[test]
fn lanes_alone_are_first_come_first_served() {
    let mut lanes = Lanes::default();
    assert_eq!(lanes.book(Picos(5), Lane::Bulk, SEGMENT, SEGMENT), Picos(5));
    assert_eq!(
        lanes.book(Picos(6), Lane::Bulk, SEGMENT, SEGMENT),
        Picos(105)
    );
    let mut lanes = Lanes::default();
    assert_eq!(
        lanes.book(Picos(5), Lane::Message, Picos(10), SEGMENT),
        Picos(5)
    );
    assert_eq!(
        lanes.book(Picos(5), Lane::Message, Picos(10), SEGMENT),
        Picos(15)
    );
}

#[test]
fn a_message_waits_for_one_segment_and_delays_the_rest() {
    let mut lanes = Lanes::default();
    for _ in 0..10 {
        lanes.book(Picos(0), Lane::Bulk, SEGMENT, SEGMENT);
    }
    // At 250 the third segment is on the wire until 300.
    assert_eq!(
        lanes.book(Picos(250), Lane::Message, Picos(10), SEGMENT),
        Picos(300)
    );
    assert_eq!(
        lanes.book(Picos(250), Lane::Bulk, SEGMENT, SEGMENT),
        Picos(1010)
    );
}
