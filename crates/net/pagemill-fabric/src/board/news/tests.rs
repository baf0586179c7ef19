use super::*;

fn board() -> Board {
    let words: Vec<AtomicU64> = (0..Layout::station(1)).map(|_| AtomicU64::new(0)).collect();
    Board {
        words: words.leak(),
        bells: None,
    }
}

#[test]
fn missed_news_make_no_thread_wait() {
    let board = board();
    let seen = board.news(0);
    board.notify(0);
    board.wait_for_news(0, Seen::news(seen));
    assert_ne!(board.news(0), seen);
}

#[test]
fn a_waiter_that_others_passed_before_it_could_be_told_does_not_sleep() {
    let board = crate::board::segment::private("").expect("memory");
    for index in [0, 1] {
        board.join(Some(index), Some(2)).expect("room");
    }
    let (lookahead_ps, event_ps) = (10, 100);
    let held = board.lock();
    board.set_base(&held, 1, 50, lookahead_ps);
    let bases = board.set_base(&held, 0, event_ps, lookahead_ps);
    assert_eq!(bases.others_ps, 50);
    let is_due = || board.has_become_due(0, bases.others_ps, lookahead_ps);
    assert!(!is_due(), "nothing has changed");
    board.set_base(&held, 1, 90, lookahead_ps);
    assert!(!is_due(), "its event may not be the first");
    let told = board.set_base(&held, 1, 91, lookahead_ps).can_go_on;
    assert_eq!(told, 0, "it does not wait yet");
    assert!(is_due());
    board.waiters().fetch_or(1, Ordering::SeqCst);
    let told = board.set_base(&held, 1, 92, lookahead_ps).can_go_on;
    assert_eq!(told, 1);
}

#[test]
fn looks_that_find_nothing_become_rare_and_wakes_in_a_row_make_sleeps_longer() {
    let mut habits = Habits::default();
    let looks = |habits: &mut Habits| {
        let is_empty = habits.looks();
        if is_empty {
            habits.has_looked(true);
        }
        is_empty
    };
    assert_eq!((0..1000).filter(|_| looks(&mut habits)).count(), 24);
    habits.left_out = 0;
    habits.has_looked(false);
    assert_eq!((0..EMPTY_LOOKS).filter(|_| looks(&mut habits)).count(), 4);
    let is_long = |habits: &Habits| habits.longest_sleep().tv_nsec == LONG_SLEEP.tv_nsec;
    for _ in 0..WAKES {
        assert!(!is_long(&habits));
        habits.has_slept(Duration::from_nanos(5), true);
    }
    assert!(is_long(&habits));
    habits.has_slept(Duration::from_nanos(5), false);
    assert!(!is_long(&habits));
    assert_eq!(habits.asleep_ns, 45);
}

#[test]
fn two_threads_take_turns() {
    const TURNS: u32 = if cfg!(miri) { 20 } else { 2000 };
    let board = board();
    let until = |odd: u32| loop {
        let seen = board.news(0);
        if seen % 2 == odd {
            return;
        }
        board.wait_for_news(0, Seen::news(seen));
    };
    std::thread::scope(|scope| {
        for odd in [0, 1] {
            scope.spawn(move || {
                for _ in 0..TURNS {
                    until(odd);
                    board.notify(0);
                }
            });
        }
    });
    assert_eq!(board.news(0), 2 * TURNS);
}
