//! The fault path against formulas that say what each mode has to cost.

use pagemill_pages::fault_path::{
    CoreSpec, EngineSpec, FaultPathError, FaultPathMachine, FaultPathReport, FaultPathSpec,
    HelperSpec, Program, run,
};
use pagemill_policy::zeroing::{Mode, Settings, Watermarks};
use pagemill_types::{Clock, PageSize, Picos};
use proptest::prelude::*;

const FAULT: u64 = 2_000;
const CLEAR: u64 = 300_000;
const HANDOFF: u64 = 27;
const STOCK: usize = 8;

/// One cycle is a nanosecond.
fn machine() -> FaultPathMachine {
    FaultPathMachine {
        name: "test".to_owned(),
        core: CoreSpec {
            clock: Clock::new(1_000_000_000).unwrap(),
            page: PageSize::new(2 << 20).unwrap(),
            fault_cycles: FAULT,
            clear_cycles: CLEAR,
            handoff_cycles: HANDOFF,
        },
        helper: HelperSpec {
            wake: Picos::from_nanos(1_000),
            busy: false,
            deadline: Picos::from_nanos(10_000_000),
        },
        engines: vec![EngineSpec {
            name: "engine".to_owned(),
            launch: Picos::from_nanos(5_000),
            page: Picos::from_nanos(100_000),
            cpu: Picos::from_nanos(90_000),
        }],
    }
}

fn spec(mode: Mode, program: Program) -> FaultPathSpec {
    FaultPathSpec {
        settings: Settings {
            mode,
            watermarks: Watermarks {
                low_pages: STOCK,
                high_pages: STOCK,
            },
            batch_pages: 4,
        },
        engine: "engine".to_owned(),
        stock_pages: STOCK,
        program,
    }
}

fn touch(mode: Mode, faults: u64, think_ns: u64) -> FaultPathReport {
    let program = Program::Touch {
        faults,
        think: Picos::from_nanos(think_ns),
        resident_pages: 1,
    };
    run(&machine(), &spec(mode, program)).unwrap()
}

fn mean_ns(report: &FaultPathReport) -> f64 {
    report.faults.mean_ps() / 1e3
}

#[test]
fn the_cpu_that_clears_pays_for_it() {
    let report = touch(Mode::Inline, 100, 0);
    assert_eq!(mean_ns(&report), (FAULT + CLEAR) as f64);
    assert_eq!(report.until_clean.mean_ps(), report.faults.mean_ps());
    assert_eq!(report.counts.cpu, 100);
    assert_eq!(report.helper_cpu, Picos::ZERO);
}

#[test]
fn clean_pages_cost_a_fault_without_clearing() {
    for mode in [Mode::Pool, Mode::OnFree] {
        let report = touch(mode, 100, 1_000_000);
        assert_eq!(mean_ns(&report), FAULT as f64, "{mode:?}");
        assert_eq!(report.until_clean.mean_ps(), 0.0);
        assert_eq!(report.counts.clean, 100);
        // Every page that was lent has been cleared, and so have those in stock at the end.
        assert!(
            (107..=108).contains(&report.helper_pages),
            "{mode:?}: {}",
            report.helper_pages
        );
        assert_eq!(report.helper_cpu.0, report.helper_pages * 90_000_000);
    }
}

#[test]
fn a_pool_that_cannot_keep_up_leaves_clearing_to_the_cpu() {
    let report = touch(Mode::Pool, 1_000, 0);
    assert!(
        report.counts.cpu > 0 && report.counts.clean > 0,
        "{:?}",
        report.counts
    );
    assert!(mean_ns(&report) < (FAULT + CLEAR) as f64);
}

#[test]
fn a_fault_that_waits_takes_as_long_as_the_helper() {
    let report = touch(Mode::OffloadWait, 100, 1_000_000);
    let expected = FAULT + HANDOFF + 1_000 + 5_000 + 100_000;
    assert_eq!(mean_ns(&report), expected as f64);
    assert_eq!(report.until_clean.mean_ps(), report.faults.mean_ps());
    assert_eq!(report.counts.helper, 100);
}

#[test]
fn a_helper_that_never_sleeps_takes_all_the_time_there_is() {
    let mut busy = machine();
    busy.helper.busy = true;
    let program = Program::Touch {
        faults: 10,
        think: Picos::from_nanos(1_000_000),
        resident_pages: 1,
    };
    let report = run(&busy, &spec(Mode::OffloadWait, program)).unwrap();
    assert_eq!(report.helper_cpu, report.end);
    let report = run(&busy, &spec(Mode::Inline, program)).unwrap();
    assert_eq!(report.helper_cpu, Picos::ZERO);
}

#[test]
fn past_the_deadline_the_cpu_clears() {
    let mut slow = machine();
    slow.engines[0].page = Picos::from_nanos(20_000_000);
    let program = Program::Touch {
        faults: 10,
        think: Picos::ZERO,
        resident_pages: 1,
    };
    let report = run(&slow, &spec(Mode::OffloadWait, program)).unwrap();
    let expected = FAULT + HANDOFF + 10_000_000 + CLEAR;
    assert_eq!(mean_ns(&report), expected as f64);
    assert_eq!((report.counts.cpu, report.helper_pages), (10, 0));
}

#[test]
fn the_published_form_answers_at_once_and_is_clean_later() {
    let report = touch(Mode::OffloadAsync, 100, 1_000_000);
    assert_eq!(mean_ns(&report), (FAULT + HANDOFF) as f64);
    assert!(report.until_clean.mean_ps() > 100e6);
    assert_eq!(report.counts.exposed, 100);
}

#[test]
fn loops_are_longer_by_the_faults_that_interrupt_them() {
    // One fault every 10 loops: a mean of a tenth, and the deviation of one in ten.
    let program = Program::Corunner {
        loop_cycles: 100_000,
        loops: 1_000,
        interval_cycles: 1_000_000,
    };
    let report = run(&machine(), &spec(Mode::Inline, program)).unwrap();
    let fault = (FAULT + CLEAR) as f64 * 1e3;
    assert_eq!(report.faults.count(), 100);
    assert!((report.loops.mean_ps() - (100e6 + fault / 10.0)).abs() < 1.0);
    assert!((report.loops.deviation_ps() - fault * 0.3).abs() < 1e3);
}

#[test]
fn more_pages_than_there_are_is_an_error() {
    let program = Program::Touch {
        faults: 9,
        think: Picos::ZERO,
        resident_pages: 100,
    };
    for mode in Mode::ALL {
        let error = run(&machine(), &spec(mode, program)).unwrap_err();
        assert_eq!(error, FaultPathError::Exhausted { stock_pages: STOCK });
    }
    let mut wrong = spec(Mode::Pool, program);
    wrong.engine = "sand".to_owned();
    let error = run(&machine(), &wrong).unwrap_err();
    assert_eq!(error, FaultPathError::NoEngine("sand".to_owned()));
}

proptest! {
    /// Whatever happens, every fault is counted once, safe modes expose nothing, and only they are clean in time.
    #[test]
    fn faults_are_accounted_for(
        mode in prop::sample::select(Mode::ALL.to_vec()),
        faults in 0_u64..200,
        think_ns in 0_u64..400_000,
        resident in 1_usize..=STOCK,
        batch in 1_usize..10,
        low in 0_usize..=STOCK,
    ) {
        let program = Program::Touch { faults, think: Picos::from_nanos(think_ns), resident_pages: resident };
        let mut spec = spec(mode, program);
        spec.settings.batch_pages = batch;
        spec.settings.watermarks.low_pages = low;
        let report = run(&machine(), &spec).unwrap();
        let counts = report.counts;
        prop_assert_eq!(counts.clean + counts.cpu + counts.helper + counts.exposed, faults);
        prop_assert_eq!(report.faults.count(), faults);
        prop_assert_eq!(counts.exposed > 0, mode == Mode::OffloadAsync && faults > 0);
        if mode.is_safe() {
            prop_assert!(report.until_clean.longest() <= report.faults.longest());
        }
        prop_assert_eq!(run(&machine(), &spec).unwrap(), report);
        let busy = report.faults.total_ps() + (faults * think_ns * 1000) as f64;
        prop_assert_eq!(report.end.0 as f64, busy);
    }
}
