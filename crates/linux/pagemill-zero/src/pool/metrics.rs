//! Metrics in the text format of Prometheus.

use pagemill_linux::prometheus::Metrics;
use pagemill_zero_client::protocol::Status;

/// The text for a status.
#[rustfmt::skip]
pub(super) fn text(status: &Status) -> String {
    let (counters, pages) = (&status.counters, &status.pages);
    let seconds = |ns: u64| ns as f64 / 1e9;
    let mut metrics = Metrics::new("pagemill_zero_");
    metrics.gauge("page_bytes", "Size of a page.", status.page_bytes);
    metrics.family("pages", "gauge", "Pages by state.", [
        ("{state=\"clean\"}".to_owned(), pages.clean),
        ("{state=\"zeroing\"}".to_owned(), pages.zeroing),
        ("{state=\"dirty\"}".to_owned(), pages.dirty),
        ("{state=\"lent\"}".to_owned(), pages.lent),
        ("{state=\"returned\"}".to_owned(), pages.returned),
    ]);
    let users = status.users.iter();
    metrics.family("user_pages", "gauge", "Pages that a user has, lent or not let go of.",
        users.map(|user| (format!("{{user=\"{}\"}}", user.user), user.pages)));
    metrics.gauge("leases", "Open leases.", status.leases);
    metrics.gauge("connections", "Open connections.", status.connections);
    metrics.gauge("waiting", "Requests that wait for pages.", status.waiting);
    metrics.counter("leases_total", "Leases given.", counters.leases);
    metrics.counter("lent_pages_total", "Pages lent.", counters.lent_pages);
    metrics.counter("exhausted_total", "Requests refused for want of pages.", counters.exhausted);
    metrics.counter("over_quota_total", "Requests refused for a quota.", counters.over_quota);
    metrics.counter("garbage_total", "Connections ended for a message that was not understood.", counters.garbage);
    metrics.family("cleaned_pages_total", "counter", "Pages cleared: by the kernel for fresh files, by the engine for recycled ones.", [
        ("{by=\"kernel\"}".to_owned(), counters.fresh_pages),
        ("{by=\"engine\"}".to_owned(), counters.recycled_pages),
    ]);
    metrics.counter("failures_total", "Files that could not be filled or cleared.", counters.failures);
    metrics.counter("cleaner_cpu_seconds_total", "CPU time of clearing.", seconds(counters.cleaner_cpu_ns));
    metrics.counter("cleaner_seconds_total", "Elapsed time of clearing.", seconds(counters.cleaner_wall_ns));
    metrics.text()
}
