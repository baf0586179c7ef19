use comfy_table::{CellAlignment, Table, TableStyle};

use pagemill_fabric::board::StationView;
use pagemill_fabric::counters::{Cause, Counter, WAITS, share};

/// Picoseconds in a microsecond.
const MICROSECOND_PS: f64 = 1e6;

/// Nanoseconds in a second.
const SECOND_NS: f64 = 1e9;

/// What each process' interface counted: one column a process, one line a counter that is not zero everywhere.
pub fn table(machine: &str, stations: &[StationView]) -> String {
    let mut table = Table::new();
    table.load_style(TableStyle::new());
    let ranks = stations
        .iter()
        .map(|station| format!("rank {}", station.index));
    table.set_header(std::iter::once(format!("interface {machine}")).chain(ranks));
    let clocks = stations
        .iter()
        .map(|station| format!("{:.3}", station.clock_ps as f64 / MICROSECOND_PS));
    table.add_row(std::iter::once("virtual time, us".to_owned()).chain(clocks));
    for (place, counter) in Counter::ALL.iter().enumerate() {
        let values: Vec<u64> = stations
            .iter()
            .map(|station| value(station, place))
            .collect();
        if values.iter().any(|value| *value != 0) {
            let values = values.iter().map(u64::to_string);
            table.add_row(std::iter::once(counter.name().to_owned()).chain(values));
        }
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    format!("{}\n{}", table.trim_fmt(), waits(stations))
}

/// A line that says what all ranks together waited for, as shares of their time; empty where none waited.
fn waits(stations: &[StationView]) -> String {
    let all_ps: u64 = stations.iter().map(|station| station.clock_ps).sum();
    let waited_ps = |cause: Cause| -> u64 {
        let places = WAITS.iter().filter_map(|wait| share(*wait, cause));
        places
            .flat_map(|place| stations.iter().map(move |station| value(station, place)))
            .sum()
    };
    let mut causes = Cause::ALL.map(|cause| (waited_ps(cause), cause));
    causes.sort_by_key(|(waited_ps, _)| std::cmp::Reverse(*waited_ps));
    let percent = |ps: u64| format!("{:.1} %", 100.0 * ps as f64 / all_ps.max(1) as f64);
    let parts: Vec<String> = (causes.iter())
        .filter(|(waited_ps, _)| *waited_ps > 0)
        .map(|(waited_ps, cause)| format!("{} {}", cause_name(*cause), percent(*waited_ps)))
        .collect();
    if parts.is_empty() {
        return String::new();
    }
    let waited_ps = causes.iter().map(|(waited_ps, _)| waited_ps).sum();
    format!(
        "the ranks waited for {} of their time: {}\n",
        percent(waited_ps),
        parts.join(", ")
    )
}

fn cause_name(cause: Cause) -> &'static str {
    match cause {
        Cause::Partner => "partner",
        Cause::Software => "software on the way",
        Cause::Interface => "interface",
        Cause::Port => "port states",
        Cause::Busy => "other transfers",
        Cause::Table => "table misses",
        Cause::Wire => "wire",
    }
}

/// CPU seconds of one rank from which a program that reads the clock is taken to measure its computing.
const LEFT_OUT_S: f64 = 0.01;

/// What the user has to know of the times, a line each. Times that are measured differ from run to run in any case.
pub fn warnings(stations: &[StationView], is_measured: bool) -> Vec<String> {
    let all = [
        order_warning(stations).filter(|_| !is_measured),
        left_out_warning(stations),
        unreached_warning(stations),
    ];
    all.into_iter().flatten().collect()
}

/// Computing took no time, and the program reads its clock.
fn left_out_warning(stations: &[StationView]) -> Option<String> {
    let reads = |station: &&StationView| value(station, Counter::ClockReadings as usize) > 1;
    let left_out_s = |station: &StationView| {
        value(station, Counter::ComputeLeftOutNs as usize) as f64 / SECOND_NS
    };
    let most_s = (stations.iter().filter(reads).map(left_out_s)).fold(0.0, f64::max);
    (most_s >= LEFT_OUT_S).then(|| {
        format!(
            "warning: the program measures itself, and its computing (up to {most_s:.2} s of CPU time a rank) takes no virtual time; \
             --compute measured charges it"
        )
    })
}

/// The record of computing is of another program or of other arguments.
fn unreached_warning(stations: &[StationView]) -> Option<String> {
    let unreached = sum(stations, Counter::ComputeUnreached);
    (unreached > 0).then(|| {
        format!(
            "warning: {unreached} recorded times of computing were not reached: the file of --compute is of another program, other \
             arguments, or another number of ranks"
        )
    })
}

fn sum(stations: &[StationView], counter: Counter) -> u64 {
    let values = stations
        .iter()
        .map(|station| value(station, counter as usize));
    values.sum()
}

/// Says so if the times may differ from run to run.
fn order_warning(stations: &[StationView]) -> Option<String> {
    let (late, forced) = (
        sum(stations, Counter::LateSteps),
        sum(stations, Counter::ForcedSteps),
    );
    (late + forced > 0).then(|| {
        format!(
            "warning: virtual times may differ from run to run: {late} events came after later ones, and {forced} times others were \
             not waited for; see \"Determinism\" in docs/mpi.md"
        )
    })
}

fn value(station: &StationView, place: usize) -> u64 {
    station.counters.get(place).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests;
