//! Page traces as bytes: what is written is read, and damage is found without a panic.

use pagemill_policy::paging::{PagingSpec, Trace, TraceError, TraceEvent};
use pagemill_policy::residency::PageMask;
use proptest::prelude::*;

fn mask() -> impl Strategy<Value = PageMask> {
    let stretch = (0_u32..512, 1_u32..40).prop_map(|(start, length)| start..start + length);
    prop::collection::vec(stretch, 0..6).prop_map(|stretches| {
        let masks = stretches.into_iter().map(PageMask::range);
        masks.fold(PageMask::EMPTY, |all, one| all.or(&one))
    })
}

fn event() -> impl Strategy<Value = TraceEvent> {
    let unit = || 0_u64..1 << 26;
    prop_oneof![
        (0_u64..1000, 0_u32..=512).prop_map(|(block, units)| TraceEvent::Enter {
            first: block * 512,
            units
        }),
        (unit(), any::<bool>(), any::<u64>()).prop_map(|(unit, is_write, think_ns)| {
            TraceEvent::Fault {
                unit,
                is_write,
                think_ns,
            }
        }),
        (0_u64..1000, mask(), mask()).prop_map(|(page, changed, zero)| TraceEvent::Evicted {
            first: page * 16,
            changed,
            zero,
        }),
        (unit(), 0_u32..=512, any::<bool>()).prop_map(|(first, units, is_gone)| {
            TraceEvent::Discard {
                first,
                units,
                is_gone,
            }
        }),
    ]
}

fn bytes_of(events: &[TraceEvent]) -> Vec<u8> {
    let mut bytes = Trace::head("prog=1\n", &PagingSpec::new(500));
    events.iter().for_each(|event| event.write(&mut bytes));
    bytes
}

proptest! {
    #[test]
    fn what_is_written_is_read(events in prop::collection::vec(event(), 0..40)) {
        let trace = Trace::parse(&bytes_of(&events)).expect("a trace");
        prop_assert_eq!(trace.program, "prog=1");
        prop_assert_eq!(trace.spec, PagingSpec::new(500));
        prop_assert_eq!(trace.events, events);
    }

    /// A killed program leaves all events but the last.
    #[test]
    fn a_cut_trace_has_the_events_before_the_cut(
        events in prop::collection::vec(event(), 1..20),
        cut in 1_usize..3,
    ) {
        let bytes = bytes_of(&events);
        let whole = bytes_of(&events[..events.len() - 1]).len();
        let end = (bytes.len() - cut).max(whole);
        let trace = Trace::parse(&bytes[..end]).expect("a trace");
        prop_assert_eq!(&trace.events[..], &events[..events.len() - 1]);
    }

    #[test]
    fn damage_is_an_error_or_another_trace(
        events in prop::collection::vec(event(), 0..20),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
    ) {
        let mut bytes = bytes_of(&events);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let _ = Trace::parse(&bytes);
    }
}

/// Only an event that the file's end cuts is left out; one that cannot be is damage, wherever it stands.
#[test]
fn a_last_event_that_is_impossible_is_damage() {
    let head = bytes_of(&[]);
    let most = [0xFF; 9];
    for wrong in [
        &[9][..],
        &[0, 1, 4],
        &[&[1][..], &most, &[0x7F, 0]].concat(),
        &[&[1, 2][..], &most, &[0x02]].concat(),
    ] {
        let error = Trace::parse(&[&head, wrong].concat()).expect_err("impossible");
        assert_eq!(error, TraceError::Event { at: head.len() });
    }
    let largest = Trace::parse(&[&head[..], &[1, 2], &most, &[0x01]].concat());
    let fault = TraceEvent::Fault {
        unit: 1,
        is_write: false,
        think_ns: u64::MAX,
    };
    assert_eq!(largest.expect("a trace").events, [fault]);
}

#[test]
fn other_files_are_refused_with_the_next_step() {
    let error = Trace::parse(b"\x7fELF").expect_err("no trace");
    assert_eq!(error, TraceError::Start);
    assert!(
        error.to_string().contains("pagemill pager run --record"),
        "{error}"
    );
    let bytes = bytes_of(&[]);
    let text = String::from_utf8(bytes).expect("text");
    let other = text.replace("eviction=", "evictions=");
    let error = Trace::parse(other.as_bytes()).expect_err("no head");
    assert_eq!(error, TraceError::Head { name: "eviction" });
}
