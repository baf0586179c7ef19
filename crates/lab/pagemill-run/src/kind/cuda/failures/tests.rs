use super::*;

fn failed(kernel: &str, status: &str, cause: &str, launches: u64) -> FailedLaunches {
    FailedLaunches {
        kernel: kernel.to_owned(),
        status: status.to_owned(),
        cause: cause.to_owned(),
        launches,
    }
}

#[test]
fn a_row_without_failures_is_ok() {
    let row = add_status(Row::new(), std::iter::empty());
    assert_eq!(row.get("status"), Some(&"ok".into()));
    assert_eq!(row.get("failed_launches"), Some(&0u64.into()));
    assert_eq!(row.get("failure"), None);
}

#[test]
fn launches_are_counted_once_and_named_by_kernel() {
    let all = [
        failed("a", "cudaErrorInvalidPtx", "line 3", 5),
        failed("a", "cudaErrorLaunchFailure", "gone", 1),
    ];
    let whole = || Row::new().parameter("table", "program");
    let kernel = |name: &str| {
        let row = Row::new().parameter("table", "kernel");
        row.parameter("kernel", name)
    };
    let rows = [
        add_status(whole(), all.iter()),
        add_status(kernel("a"), all.iter()),
        metric::add(
            whole().parameter("program", "b"),
            ENDED,
            &"signal 6 (SIGABRT)".to_owned(),
        ),
    ];
    let mut summary = Summary::default();
    summarize(&rows, &mut summary);
    assert_eq!(summary.failed_launches, Some(6));
    assert_eq!(
        summary.warnings,
        [
            "6 launches of a failed (cudaErrorInvalidPtx, cudaErrorLaunchFailure): line 3",
            "b ended early (signal 6 (SIGABRT)): its rows have what was finished by then",
        ]
    );
}
