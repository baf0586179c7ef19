use std::os::fd::AsFd;

use pagemill_color::protocol::{Colors, MESSAGE_BYTES_MAX, Need};
use pagemill_linux::channel::{Channel, wait_readable};

use crate::running::{COLORS, PATIENCE, Task, coordinator};

fn class(letter: &str) -> Option<Need> {
    Some(Need::Class(letter.to_owned()))
}

const fn colors(first: u16, count: u16) -> Colors {
    Colors { first, count }
}

#[test]
fn tasks_that_come_and_go_get_disjoint_colors_and_all_when_alone() {
    let running = coordinator(|_| {});
    let start = |name, need| Task::start(running.config.socket.clone(), name, need).expect("room");
    let first = start("first", class("A"));
    assert_eq!(first.orders(), [colors(0, COLORS)]);
    let second = start("second", class("C"));
    let tasks = running.until_settled(2);
    assert_eq!(tasks[0].name, "first");
    let [a, b] = [&tasks[0], &tasks[1]].map(|task| task.given.expect("settled"));
    assert_eq!(
        (a.first, a.first + a.count, b.first + b.count),
        (0, b.first, COLORS)
    );
    assert!(a.count > b.count);
    assert_eq!(second.orders(), [b]);
    drop(second);
    let tasks = running.until_settled(1);
    assert_eq!(tasks[0].given, Some(colors(0, COLORS)));
    let expected = [colors(0, COLORS), a, colors(0, COLORS)];
    assert_eq!(first.orders(), expected);
    let counters = running.status().counters;
    assert_eq!((counters.joined, counters.left), (2, 1));
}

#[test]
fn numbers_are_given_as_asked_until_there_are_none() {
    let running = coordinator(|_| {});
    let start = |count| {
        Task::start(
            running.config.socket.clone(),
            "fixed",
            Some(Need::Colors(count)),
        )
    };
    let _first = start(40).expect("room");
    let _second = start(24).expect("room");
    let error = start(1).err().expect("full");
    assert!(
        error.contains("65 colors") && error.contains("64"),
        "{error}"
    );
    assert_eq!(running.status().counters.refused, 1);
    assert_eq!(running.until_settled(2)[0].given, Some(colors(0, 40)));
}

#[test]
fn tasks_keep_their_colors_while_the_coordinator_is_away_and_after() {
    let mut running = coordinator(|config| config.grace = std::time::Duration::from_secs(2));
    let start = |name, letter| {
        Task::start(running.config.socket.clone(), name, class(letter)).expect("room")
    };
    let tasks = [start("a", "A"), start("b", "B"), start("c", "C")];
    running.until_settled(3);
    let before: Vec<_> = tasks.iter().map(Task::orders).collect();
    for _ in 0..2 {
        running.stop();
        running.start();
        running.until_settled(3);
        // The grace is over when a task that comes now has its colors.
        let newcomer = Task::start(running.config.socket.clone(), "late", Some(Need::Colors(1)));
        assert!(newcomer.is_ok());
        drop(newcomer);
        running.until_settled(3);
    }
    for (task, before) in tasks.iter().zip(before) {
        let after = task.orders();
        assert_eq!(after[..before.len()], before);
        assert_eq!(after.last(), before.last(), "back to what it had");
    }
}

#[test]
fn without_a_coordinator_a_task_has_what_it_asks_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let start = |need| Task::start(folder.path().join("none"), "alone", need);
    let orders = |need| start(need).expect("it needs no other").orders();
    assert_eq!(orders(Some(Need::Colors(5))), [colors(0, 5)]);
    assert_eq!(orders(class("a")), [colors(0, COLORS)]);
    assert_eq!(orders(None), [colors(0, COLORS)]);
    let error = start(Some(Need::Colors(65))).err().expect("too many");
    assert!(error.contains("65") && error.contains("64"), "{error}");
}

#[test]
fn a_task_that_ran_before_the_coordinator_joins_it() {
    let mut running = coordinator(|_| {});
    running.stop();
    let task = Task::start(running.config.socket.clone(), "early", class("D")).expect("alone");
    running.start();
    let tasks = running.until_settled(1);
    assert_eq!(tasks[0].name, "early");
    assert_eq!(task.orders(), [colors(0, COLORS)]);
}

#[test]
fn a_task_that_answers_late_is_told_what_it_is_given_in_the_end() {
    let running = coordinator(|_| {});
    let late = Channel::connect(&running.config.socket).expect("connected");
    let says = |message: &[u8]| late.send(message, &[]).expect("sent");
    says(b"{\"op\":\"join\",\"name\":\"late\",\"process\":1,\"wish\":{\"class\":\"A\"}}");
    let all = read_answer(&late);
    says(b"{\"op\":\"holds\",\"has\":{\"first\":0,\"count\":64},\"pages\":0,\"planned\":0}");
    running.until_settled(1);
    let other = Task::start(running.config.socket.clone(), "other", class("A")).expect("room");
    let fewer = read_answer(&late);
    assert_ne!(fewer, all);
    // It has not said that it has fewer when the other is gone: nothing is to change, so far as it said.
    drop(other);
    assert_eq!(read_answer(&late), all);
}

fn read_answer(channel: &Channel) -> Vec<u8> {
    let readable = wait_readable(&[channel.as_fd()], Some(PATIENCE)).expect("waited");
    assert!(readable[0], "no orders in {PATIENCE:?}");
    let mut answer = vec![0; MESSAGE_BYTES_MAX];
    let received = channel.receive(&mut answer, true).expect("received");
    answer.truncate(received.bytes);
    answer
}
