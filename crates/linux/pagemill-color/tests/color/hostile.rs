use std::os::fd::AsFd;
use std::time::Instant;

use pagemill_color::AskError;
use pagemill_color::protocol::{MESSAGE_BYTES_MAX, Need, Reason};
use pagemill_linux::channel::Channel;
use proptest::test_runner::{Config, TestRunner};

use crate::running::{PATIENCE, Running, Task, coordinator};

fn connect(running: &Running) -> Channel {
    Channel::connect(&running.config.socket).expect("connected")
}

/// Sends one message, and takes what comes back until the connection ends.
fn is_thrown_out(channel: &Channel, message: &[u8]) -> bool {
    channel.send(message, &[]).expect("sent");
    let mut answer = vec![0; MESSAGE_BYTES_MAX];
    let mut said_no = false;
    loop {
        let bytes = channel
            .receive(&mut answer, true)
            .map_or(0, |received| received.bytes);
        if bytes == 0 {
            return said_no;
        }
        said_no |= String::from_utf8_lossy(&answer[..bytes]).contains("garbage");
    }
}

#[test]
fn garbage_ends_its_connection_and_no_other() {
    let running = coordinator(|_| {});
    let task = Task::start(running.config.socket.clone(), "witness", None).expect("room");
    let fixed: [&[u8]; 9] = [
        b"\0",
        b"{}",
        b"{\"op\":\"join\"}",
        b"{\"op\":\"status\",\"more\":1}",
        b"{\"op\":\"holds\",\"has\":{\"first\":0,\"count\":1},\"pages\":1,\"planned\":0}",
        b"{\"op\":\"join\",\"name\":\"x\",\"process\":1,\"wish\":{\"colors\":0}}",
        b"{\"op\":\"join\",\"name\":\"x\",\"process\":1,\"wish\":{\"class\":\"E\"}}",
        b"{\"op\":\"join\",\"name\":\"x\",\"process\":1,\"wish\":{\"curve\":{\"references\":1,\"misses\":[2]}}}",
        &[b'['; 60_000],
    ];
    for message in fixed {
        assert!(is_thrown_out(&connect(&running), message), "{message:?}");
    }
    let mut runner = TestRunner::new(Config {
        cases: 64,
        failure_persistence: None,
        ..Config::default()
    });
    let bytes = proptest::collection::vec(proptest::num::u8::ANY, 1..2000);
    let tried = runner.run(&bytes, |message| {
        proptest::prop_assert!(is_thrown_out(&connect(&running), &message));
        Ok(())
    });
    tried.expect("no message brings the coordinator down");
    assert_eq!(running.status().tasks.len(), 1);
    assert_eq!(task.orders().len(), 1);
}

#[test]
fn descriptors_long_messages_and_a_second_task_are_garbage() {
    let running = coordinator(|_| {});
    let with_descriptor = connect(&running);
    let file = tempfile::tempfile().expect("a file");
    with_descriptor
        .send(b"{\"op\":\"status\"}", &[file.as_fd()])
        .expect("sent");
    assert!(is_thrown_out(&connect(&running), &vec![b' '; 100_000]));
    let twice = connect(&running);
    let join = b"{\"op\":\"join\",\"name\":\"x\",\"process\":1,\"wish\":{\"colors\":3}}";
    twice.send(join, &[]).expect("sent");
    assert!(is_thrown_out(&twice, join));
    let status = running.until("counted", |status| status.counters.garbage == 3);
    assert_eq!(status.counters.joined, 1);
    running.until("left", |status| status.tasks.is_empty());
}

#[test]
fn lies_about_colors_and_pages_harm_no_other() {
    let running = coordinator(|_| {});
    let honest = Task::start(
        running.config.socket.clone(),
        "honest",
        Some(Need::Colors(32)),
    )
    .expect("room");
    let liar = connect(&running);
    liar.send(
        b"{\"op\":\"join\",\"name\":\"liar\",\"process\":1,\"wish\":{\"colors\":32},\"has\":{\"first\":0,\"count\":64},\"pages\":18446744073709551615}",
        &[],
    )
    .expect("sent");
    for has in [(0, 0), (65_535, 65_535), (0, 64)] {
        let (first, count) = has;
        let holds = format!(
            "{{\"op\":\"holds\",\"has\":{{\"first\":{first},\"count\":{count}}},\"pages\":18446744073709551615,\"planned\":18446744073709551615}}"
        );
        liar.send(holds.as_bytes(), &[]).expect("sent");
    }
    running.until("joined", |status| status.tasks.len() == 2);
    let last = *honest.orders().last().expect("orders");
    assert_eq!(last.count, 32);
    let status = running.status();
    let given: u16 = status
        .tasks
        .iter()
        .filter_map(|task| Some(task.given?.count))
        .sum();
    assert_eq!(given, 64);
}

#[test]
fn a_client_that_never_reads_delays_no_other() {
    let running = coordinator(|_| {});
    let silent = connect(&running);
    let mut sent = 0;
    while sent < 20_000 && silent.send(b"{\"op\":\"status\"}", &[]).is_ok() {
        sent += 1;
    }
    let _task = Task::start(running.config.socket.clone(), "next", None).expect("served");
    assert_eq!(running.status().tasks.len(), 1);
}

#[test]
fn connections_of_one_user_are_limited() {
    let running = coordinator(|_| {});
    let _task = Task::start(running.config.socket.clone(), "first", None).expect("room");
    let crowd: Vec<_> = (0..150)
        .filter_map(|_| Channel::connect(&running.config.socket).ok())
        .collect();
    assert!(!crowd.is_empty());
    drop(crowd);
    let begun = Instant::now();
    let status = loop {
        match pagemill_color::status(&running.config.socket) {
            // The coordinator has not noticed yet that the crowd is gone.
            Err(AskError::Refused { reason, .. }) => {
                assert_eq!(reason, Reason::Quota);
                assert!(begun.elapsed() < PATIENCE, "never served again");
            }
            answer => break answer.expect("a status"),
        }
    };
    assert_eq!(status.tasks.len(), 1);
}
