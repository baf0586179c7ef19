use super::*;

#[test]
fn events_survive_as_text() {
    let mut events = Events::new(100);
    events.add(What::Passed(Counter::ReceiveWaitPs), 10, 30, 0);
    events.add(What::Waited(Cause::Wire), 20, 30, 0);
    events.add(What::Message { source: 3 }, 5, 30, 77);
    let read: RankEvents = events.text().parse().expect("sound");
    let names: Vec<&str> = read
        .events
        .iter()
        .map(|event| event.name.as_str())
        .collect();
    assert_eq!(names, ["wait for a receive", "wire", "from rank 3"]);
    assert_eq!(read.events[2].track, Track::Messages);
    assert_eq!((read.events[2].start_ps, read.events[2].bytes), (5, 77));
    assert!("0\nt 1 2\n".parse::<RankEvents>().is_err());
}

#[test]
fn what_goes_on_is_one_event_and_too_many_are_thinned_evenly() {
    let mut events = Events::new(10);
    for at in 0..1000 {
        events.add(What::Passed(Counter::ClockPs), at, at + 1, 0);
    }
    assert_eq!(events.events.len(), 1);
    for at in 0..1000 {
        events.add(What::Message { source: 0 }, at, at + 1, 8);
    }
    let read: RankEvents = events.text().parse().expect("sound");
    assert!((5..=10).contains(&read.events.len()));
    assert_eq!(read.dropped + read.events.len() as u64, 1001);
}
