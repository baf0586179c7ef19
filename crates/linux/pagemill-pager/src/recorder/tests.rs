use super::*;

#[test]
fn the_programs_time_is_neither_more_than_elapsed_nor_more_than_its_cpu_time() {
    let before = Moment {
        elapsed_ns: 100,
        program_ns: 40,
    };
    let after = |elapsed_ns: u64, program_ns: u64| Moment {
        elapsed_ns: 100 + elapsed_ns,
        program_ns: 40 + program_ns,
    };
    assert_eq!(after(30, 20).think_ns(&before), 20, "it waited");
    assert_eq!(after(30, 50).think_ns(&before), 30, "two threads");
    assert_eq!(before.think_ns(&after(30, 20)), 0);
}

#[test]
fn what_a_fault_costs_its_thread_is_no_part_of_the_programs_time() {
    let think_ns = |fault_cpu_ns| {
        let mut recorder = Recorder::new(Path::new("unused"), &PagingSpec::new(4096), fault_cpu_ns);
        let other = std::thread::spawn(|| while clock::thread_cpu_ns() < 5_000_000 {});
        other.join().expect("it only computes");
        recorder.fault(7, true);
        let trace = Trace::parse(&recorder.bytes).expect("what it wrote");
        match trace.events[..] {
            [TraceEvent::Fault { think_ns, .. }] => think_ns,
            _ => panic!("{:?}", trace.events),
        }
    };
    assert!(think_ns(0) >= 5_000_000);
    assert_eq!(think_ns(u64::MAX), 0);
}
