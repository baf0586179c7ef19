//! What the processes of a program have counted, as one result.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;

use pagemill_linux::process::Usage;
use pagemill_pager::{COUNTERS, Count, Counters, Setup};
use pagemill_report::{Column, ColumnKind, ResultSet, Row};

/// One row of parameters and the sums of all processes.
pub fn results(setup: &Setup, program: &str, usage: &Usage) -> ResultSet {
    let processes = setup.counters.as_deref().map_or_else(Vec::new, processes);
    let sum = |count| processes.iter().map(|one| one.get(count)).sum::<u64>();
    let mut row = Row::new()
        .parameter("program", program)
        .parameter("memory_bytes", setup.budget_bytes)
        .parameter("to", setup.to.as_str())
        .parameter("page_bytes", setup.page_bytes)
        .parameter("policy", setup.policy.as_str())
        .parameter("growth", setup.growth.as_str())
        .parameter("read_ahead", setup.read_ahead.as_str())
        .parameter("eviction", setup.eviction.as_str())
        .metric("time_ns", usage.wall_ns)
        .metric("peak_bytes", usage.peak_bytes)
        .metric("processes", processes.len());
    for &(count, name, _) in COUNTERS {
        let value = match count {
            Count::ResidentUnitsMax | Count::RecordedNs | Count::MappedBytesMax => {
                processes.iter().map(|one| one.get(count)).max()
            }
            _ => Some(sum(count)),
        };
        row = row.metric(name, value.unwrap_or(0));
    }
    ResultSet {
        scenario: "pager-run".to_owned(),
        title: format!("{program} in {} bytes of frames", setup.budget_bytes),
        about: "Measured: what the pager moved while the program ran.".to_owned(),
        pagemill_version: env!("CARGO_PKG_VERSION").to_owned(),
        measured: true,
        columns: columns(),
        rows: vec![row],
        ..ResultSet::default()
    }
}

fn columns() -> Vec<Column> {
    use ColumnKind::{Bytes, Count as Number, Text, TimeNs};
    let mut columns = vec![
        Column::parameter("program", Text, "the program"),
        Column::parameter("memory_bytes", Bytes, "frames for paged memory"),
        Column::parameter("to", Text, "the store"),
        Column::parameter("page_bytes", Bytes, "what is evicted as one"),
        Column::parameter("policy", Text, "migration policy"),
        Column::parameter("growth", Text, "growth policy"),
        Column::parameter("read_ahead", Text, "read-ahead policy"),
        Column::parameter("eviction", Text, "eviction policy"),
    ];
    columns.push(Column::metric(
        "time_ns",
        TimeNs,
        "from the program's start to its end",
    ));
    columns.push(Column::metric(
        "peak_bytes",
        Bytes,
        "most memory that one of the processes had at once, a store in memory included",
    ));
    columns.push(Column::metric(
        "processes",
        Number,
        "processes with paged memory",
    ));
    columns.extend(COUNTERS.iter().map(|&(_, name, help)| {
        let kind = match name {
            name if name.ends_with("_bytes") => Bytes,
            name if name.ends_with("_ns") => TimeNs,
            _ => Number,
        };
        Column::metric(name, kind, help)
    }));
    columns
}

/// The counters of every process that was started. A file that is too short is of one that was ended as it began.
fn processes(folder: &Path) -> Vec<Counters> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let open = |path: std::path::PathBuf| {
        path.extension().filter(|kind| *kind == "counters")?;
        let file = File::options().read(true).write(true).open(path).ok()?;
        let is_whole = file.metadata().ok()?.len() >= Counters::FILE_BYTES;
        is_whole.then(|| Counters::new(Some(file.as_fd())).ok())?
    };
    entries
        .filter_map(|entry| open(entry.ok()?.path()))
        .collect()
}

/// What people look at first.
pub fn summary(set: &ResultSet) -> String {
    let number = |name: &str| {
        let found = set.rows.first().and_then(|row| row.number(name));
        found.unwrap_or(0.0)
    };
    let mib = |units: &str| number(units) * 4096.0 / f64::from(1 << 20);
    let faults = number("read_faults") + number("write_faults");
    let cpu_us = number("handler_cpu_ns") / 1e3 / faults.max(1.0);
    let unseen = unseen_bytes(set).map_or_else(String::new, |bytes| {
        format!(
            "other: {:.1} MiB never paged: small allocations (--least), stacks, libraries\n",
            bytes / f64::from(1 << 20)
        )
    });
    format!(
        "pagemill pager: {faults:.0} faults ({:.0} by writes), {cpu_us:.1} us of CPU time each\n\
         in:    {:.1} MiB read from the store, {:.1} MiB of zeros made\n\
         out:   {:.1} MiB left frames, {:.1} MiB of it changed and written\n\
         kept:  {:.1} MiB in frames at most, {:.1} MiB with all other memory of the program\n\
         {unseen}",
        number("write_faults"),
        mib("fetched_units"),
        mib("zero_units"),
        mib("evicted_units"),
        mib("written_units"),
        mib("resident_units_max"),
        number("peak_bytes") / f64::from(1 << 20),
    )
}

/// Less than this is what every program has.
const UNSEEN_BYTES_MIN: f64 = (16 << 20) as f64;

/// Memory that was not paged, if it is more than a tenth of all that the program had. Where several processes ran, at least as much.
fn unseen_bytes(set: &ResultSet) -> Option<f64> {
    let row = set.rows.first()?;
    let number = |name: &str| row.number(name).unwrap_or(0.0);
    let is_in_memory = (row.get("to")).is_some_and(|to| to.to_string().starts_with("compressed"));
    let store = if is_in_memory {
        number("stored_bytes_max")
    } else {
        0.0
    };
    let unseen = number("peak_bytes") - number("resident_units_max") * 4096.0 - store;
    let all = unseen + number("mapped_bytes_max");
    (unseen >= UNSEEN_BYTES_MIN && unseen > all / 10.0).then_some(unseen)
}

/// Data of fewer units than this are no reason to warn.
const FEW_UNITS: f64 = 4096.0;

/// Bytes compress less than by this: memory is gained elsewhere.
const LEAST_RATIO: f64 = 1.2;

/// A larger share of the time for faults than this is more than most programs gain by it, where they read what they have in the store
/// more often than [`MOST_READS`].
const MOST_FAULT_TIME: f64 = 0.5;

const MOST_READS: f64 = 1.5;

/// Why this run costs more than it gains, if it does, and what to do.
pub fn warning(set: &ResultSet) -> Option<String> {
    let row = set.rows.first()?;
    let number = |name: &str| row.number(name).unwrap_or(0.0);
    let (stored, stored_bytes) = (number("stored_units"), number("stored_bytes"));
    let data_bytes = stored * 4096.0;
    let is_compressed = row
        .get("to")
        .is_some_and(|to| to.to_string() == "compressed");
    let mib = |bytes: f64| bytes / f64::from(1 << 20);
    let mut reasons = Vec::new();
    if stored >= FEW_UNITS && is_compressed && data_bytes < LEAST_RATIO * stored_bytes {
        reasons.push(format!(
            "its bytes hardly compress ({:.0} MiB of them take up {:.0} MiB): keep them in a folder (--to FOLDER)",
            mib(data_bytes),
            mib(stored_bytes)
        ));
    }
    let share = number("service_ns") / number("time_ns").max(1.0);
    let is_read_again = number("fetched_units") > MOST_READS * stored;
    if stored >= FEW_UNITS && share > MOST_FAULT_TIME && is_read_again {
        reasons.push(format!(
            "answering faults took {:.0} % of the time: give it more --memory; for memory that is touched by chance, swap to zram may cost less",
            100.0 * share.min(1.0)
        ));
    }
    let program = row.get("program")?;
    let reasons = reasons.join("; ");
    (!reasons.is_empty()).then(|| {
        format!("warning: the pager may cost {program} more than it gains: {reasons} (`pagemill advise pager` compares)")
    })
}
