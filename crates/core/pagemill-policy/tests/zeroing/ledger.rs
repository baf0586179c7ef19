use pagemill_policy::zeroing::{
    Fault, JobId, Ledger, Mode, Owner, PageId, PageState, Settings, SettingsError, Watermarks,
};
use proptest::prelude::*;

fn settings(mode: Mode, low_pages: usize, high_pages: usize, batch_pages: usize) -> Settings {
    Settings {
        mode,
        watermarks: Watermarks {
            low_pages,
            high_pages,
        },
        batch_pages,
    }
}

#[test]
fn modes_have_names_that_parse() {
    for mode in Mode::ALL {
        assert_eq!(Mode::parse(mode.name()), Some(mode));
    }
    assert_eq!(Mode::parse("async"), None);
}

#[test]
fn settings_that_cannot_work_are_refused() {
    assert_eq!(
        settings(Mode::Pool, 1, 2, 0).check(),
        Err(SettingsError::EmptyBatch)
    );
    let crossed = settings(Mode::Pool, 3, 2, 1).check().expect_err("crossed");
    assert!(crossed.to_string().contains("3 pages"), "{crossed}");
}

#[test]
fn clearing_starts_below_the_low_mark_and_stops_at_the_high_one() {
    let mut ledger = Ledger::new(settings(Mode::Pool, 2, 5, 2), 10);
    let mut sizes = Vec::new();
    while let Some(batch) = ledger.take_batch() {
        sizes.push(batch.pages.len());
        ledger.done(batch.job).expect("open");
    }
    assert_eq!(sizes, [2, 2, 1]);
    for _ in 0..3 {
        assert!(ledger.lend_clean(Owner(1)).is_some());
        assert_eq!(ledger.take_batch(), None, "2 or more are left");
        if ledger.counts().clean == 2 {
            break;
        }
    }
    assert!(ledger.lend_clean(Owner(1)).is_some());
    assert_eq!(ledger.take_batch().expect("below the mark").pages.len(), 2);
}

#[test]
fn a_bound_page_is_lent_to_its_owner_only_until_renewed() {
    let mut ledger = Ledger::new(settings(Mode::OnFree, 0, 1, 4), 1);
    let clean = |ledger: &mut Ledger| {
        let job = ledger.take_batch().expect("dirty pages").job;
        ledger.done(job).expect("open");
    };
    clean(&mut ledger);
    let page = ledger.lend_clean(Owner(1)).expect("clean");
    ledger.returned(page).expect("lent");
    ledger.unreachable(page, Some(Owner(1))).expect("returned");
    assert_eq!(ledger.fault(Owner(2)), Fault::Exhausted);
    clean(&mut ledger);
    assert_eq!(ledger.clean_for(Owner(2)), 0);
    assert_eq!(ledger.lend_clean(Owner(2)), None);
    ledger.renewed(page).expect("clean");
    assert_eq!(ledger.bound(page), None);
    clean(&mut ledger);
    assert_eq!(ledger.lend_clean(Owner(2)), Some(page));
}

#[test]
fn what_a_state_does_not_allow_is_refused_and_changes_nothing() {
    let page = PageId(0);
    let mut ledger = Ledger::new(settings(Mode::Pool, 1, 1, 1), 1);
    let before = ledger.clone();
    assert!(ledger.returned(page).is_err());
    assert!(ledger.unreachable(page, None).is_err());
    assert!(ledger.cleared(page).is_err());
    assert!(ledger.returned(PageId(9)).is_err());
    for told in [
        ledger.done(JobId(7)),
        ledger.failed(JobId(7)),
        ledger.fenced(JobId(7)),
    ] {
        let message = told.expect_err("no such job").to_string();
        assert!(message.contains("not known"), "{message}");
    }
    assert!(ledger.deadline(JobId(7)).is_err());
    assert_eq!(ledger, before);
    let job = ledger.take_batch().expect("dirty").job;
    assert!(ledger.deadline(job).is_err(), "no fault waits");
    assert!(ledger.renewed(page).is_err(), "an engine works on it");
    assert_eq!(ledger.state(page), Some(PageState::Zeroing(job)));
}

proptest! {
    /// Whatever is said in whatever order, no page is in two stocks and none is lost.
    #[test]
    fn pages_are_neither_lost_nor_doubled(
        steps in proptest::collection::vec((0u8..9, 0usize..6, 0u64..8), 0..200),
        mode in proptest::sample::select(Mode::ALL.to_vec()),
    ) {
        let mut ledger = Ledger::new(settings(mode, 2, 4, 2), 6);
        for (step, page, job) in steps {
            let (page, job) = (PageId(page), JobId(job));
            match step {
                0 => { ledger.fault(Owner(page.0 as u32 % 2)); }
                1 => { let _ = ledger.take_batch(); }
                2 => { let _ = ledger.done(job); }
                3 => { let _ = ledger.failed(job); }
                4 => { let _ = ledger.fenced(job); }
                5 => { let _ = ledger.returned(page); }
                6 => { let _ = ledger.unreachable(page, Some(Owner(0))); }
                7 => { let _ = ledger.cleared(page); }
                _ => { let _ = ledger.renewed(page); }
            }
            let counts = ledger.counts();
            let all = counts.dirty + counts.zeroing + counts.clean + counts.lent
                + counts.returned + counts.quarantined;
            prop_assert_eq!(all, 6);
            let mut drained = ledger.clone();
            let lent = std::iter::from_fn(|| drained.lend_clean(Owner(0))).count()
                + std::iter::from_fn(|| drained.lend_clean(Owner(1))).count();
            prop_assert_eq!(lent, counts.clean);
        }
    }
}
