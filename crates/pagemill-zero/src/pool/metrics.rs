//! Metrics in the text format of Prometheus.

use std::fmt::Write;

use pagemill_zero_client::protocol::Status;

/// One family of metrics: name, type, help, and a value for each set of labels.
struct Family {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    values: Vec<(String, f64)>,
}

/// The text for a status.
pub(super) fn text(status: &Status) -> String {
    let mut text = String::new();
    for family in families(status) {
        let Family {
            name,
            kind,
            help,
            values,
        } = family;
        // Writing to a string cannot fail.
        let _ = writeln!(text, "# HELP pagemill_zero_{name} {help}");
        let _ = writeln!(text, "# TYPE pagemill_zero_{name} {kind}");
        for (labels, value) in values {
            let _ = writeln!(text, "pagemill_zero_{name}{labels} {value}");
        }
    }
    text
}

fn families(status: &Status) -> Vec<Family> {
    let one = |name, kind, help, value: f64| Family {
        name,
        kind,
        help,
        values: vec![(String::new(), value)],
    };
    let counters = &status.counters;
    let pages = &status.pages;
    let states = [
        ("clean", pages.clean),
        ("zeroing", pages.zeroing),
        ("dirty", pages.dirty),
        ("lent", pages.lent),
        ("returned", pages.returned),
    ];
    let seconds = |ns: u64| ns as f64 / 1e9;
    vec![
        one(
            "page_bytes",
            "gauge",
            "Size of a page.",
            status.page_bytes as f64,
        ),
        Family {
            name: "pages",
            kind: "gauge",
            help: "Pages by state.",
            values: states
                .map(|(state, pages)| (format!("{{state=\"{state}\"}}"), pages as f64))
                .to_vec(),
        },
        Family {
            name: "user_pages",
            kind: "gauge",
            help: "Pages that a user has, lent or not let go of.",
            values: (status.users.iter())
                .map(|user| (format!("{{user=\"{}\"}}", user.user), user.pages as f64))
                .collect(),
        },
        one("leases", "gauge", "Open leases.", status.leases as f64),
        one(
            "connections",
            "gauge",
            "Open connections.",
            status.connections as f64,
        ),
        one(
            "waiting",
            "gauge",
            "Requests that wait for pages.",
            status.waiting as f64,
        ),
        one(
            "leases_total",
            "counter",
            "Leases given.",
            counters.leases as f64,
        ),
        one(
            "lent_pages_total",
            "counter",
            "Pages lent.",
            counters.lent_pages as f64,
        ),
        one(
            "exhausted_total",
            "counter",
            "Requests refused for want of pages.",
            counters.exhausted as f64,
        ),
        one(
            "over_quota_total",
            "counter",
            "Requests refused for a quota.",
            counters.over_quota as f64,
        ),
        one(
            "garbage_total",
            "counter",
            "Connections ended for a message that was not understood.",
            counters.garbage as f64,
        ),
        Family {
            name: "cleaned_pages_total",
            kind: "counter",
            help: "Pages cleared: by the kernel for fresh files, by the engine for recycled ones.",
            values: vec![
                ("{by=\"kernel\"}".to_owned(), counters.fresh_pages as f64),
                ("{by=\"engine\"}".to_owned(), counters.recycled_pages as f64),
            ],
        },
        one(
            "failures_total",
            "counter",
            "Files that could not be filled or cleared.",
            counters.failures as f64,
        ),
        one(
            "cleaner_cpu_seconds_total",
            "counter",
            "CPU time of clearing.",
            seconds(counters.cleaner_cpu_ns),
        ),
        one(
            "cleaner_seconds_total",
            "counter",
            "Elapsed time of clearing.",
            seconds(counters.cleaner_wall_ns),
        ),
    ]
}
