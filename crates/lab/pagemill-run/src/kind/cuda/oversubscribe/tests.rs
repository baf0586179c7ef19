use super::*;

const PAGE: u64 = 2 << 20;

fn peak(managed_pages: u64, fixed_bytes: u64) -> Allocated {
    Allocated {
        peak_bytes: managed_pages * PAGE + fixed_bytes,
        fixed_peak_bytes: fixed_bytes,
        ..Allocated::default()
    }
}

#[test]
fn memory_is_the_peak_over_the_factor_in_whole_pages() {
    for (pages, factor, expected) in [
        (6, 1.5, 4),
        (6, 1.0, 6),
        (8, 1.5, 5),
        (1, 4.0, 1),
        (3, 0.5, 6),
    ] {
        let bytes = divide(&peak(pages, 0), factor, PAGE);
        assert_eq!(bytes, Ok(expected * PAGE), "{pages} / {factor}");
    }
}

#[test]
fn what_cannot_leave_has_to_fit() {
    let half = peak(4, 4 * PAGE);
    assert_eq!(divide(&half, 1.6, PAGE), Ok(5 * PAGE));
    let error = divide(&half, 2.0, PAGE).expect_err("no page is left");
    assert!(error.contains("at most 1.60"), "{error}");
    let error = divide(&peak(0, 7), 1.5, PAGE).expect_err("nothing moves");
    assert!(error.contains("cudaMallocManaged"), "{error}");
    let error = divide(&peak(0, 0), 1.5, PAGE).expect_err("there is nothing");
    assert!(error.contains("allocates no GPU memory"), "{error}");
}
