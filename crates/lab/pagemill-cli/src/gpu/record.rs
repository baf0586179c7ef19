//! `pagemill gpu record`: what a program did on the real GPU, in the rows and the page map of a profile.

use pagemill_gpu::FrontReport;
use pagemill_gpu::recording::{Cause, Direction, Recording};
use pagemill_report::ResultSet;
use pagemill_run::profile::{self, Event, Recorded, Source, What, Why};

use super::arguments::ShownArguments;
use super::front::{Ran, Watched, recorded_in_front, show};
use crate::failure::Failure;
use crate::output::{check_out, note};

/// What cannot be read in a recording's place.
const MISSING: &str = "nothing was recorded: install CUPTI (the Python package nvidia-cuda-cupti, or CUDA's toolkit), or name its library in \
                       PAGEMILL_CUPTI";

/// Runs the program, and shows what it did.
pub fn record(arguments: &ShownArguments) -> Result<(), Failure> {
    check_out(arguments.out.as_deref())?;
    let (ran, recordings) =
        recorded_in_front(&arguments.command, Watched::beside(arguments.format))?;
    let program = &arguments.command[0];
    let (report, recording) = only(program, &ran, recordings)?;
    let missing = missing(&recording);
    if recording.cupti_version.is_none() {
        missing
            .iter()
            .for_each(|text| note(&format!("pagemill: {text}")));
        return Err(Failure::NoDevice(MISSING.to_owned()));
    }
    let mut set = replayed(&arguments.command, &report, &recording)?;
    set.summary.warnings.extend(missing.iter().cloned());
    show(arguments, &set)?;
    match (ran.exit_code, missing.is_empty()) {
        (0, true) => Ok(()),
        (0, false) => Err(Failure::Run(format!(
            "the program ran, and a part of what it did was not recorded: {}",
            missing.join("; ")
        ))),
        (code, _) => Err(Failure::Program(code)),
    }
}

/// The process that used the GPU.
fn only(
    program: &str,
    ran: &Ran,
    mut recordings: Vec<(u32, Recording)>,
) -> Result<(FrontReport, Recording), Failure> {
    // A script starts programs that do not touch a GPU.
    let is_used = |recording: &Recording| {
        !recording.kernels.is_empty()
            || !recording.transfers.is_empty()
            || !recording.copies.is_empty()
    };
    if recordings.len() > 1 {
        recordings.retain(|(_, recording)| is_used(recording));
    }
    let several = recordings.len();
    let Some((process, recording)) = recordings.pop().filter(|_| several == 1) else {
        let found = match several {
            0 => "no process of it used the CUDA driver and came to its end".to_owned(),
            several => format!(
                "{several} processes of it used the GPU, and a recording is of one: record the one that matters"
            ),
        };
        return Err(Failure::Run(format!(
            "{program} was not recorded: {found} (exit code {})",
            ran.exit_code
        )));
    };
    let report = ran.reports.iter().find(|report| report.process == process);
    let report = report
        .cloned()
        .ok_or_else(|| Failure::Run(format!("{program} left a recording without a report")))?;
    Ok((report, recording))
}

/// What a recording lacks, so that its sums are too low.
fn missing(recording: &Recording) -> Vec<String> {
    let lost = recording.dropped + recording.left_out;
    let lost =
        (lost > 0).then(|| format!("{lost} records of CUPTI were lost: record a shorter run"));
    recording.failed.iter().cloned().chain(lost).collect()
}

/// The results of a recording, by the mechanism that reads profiles.
fn replayed(
    command: &[String],
    report: &FrontReport,
    recording: &Recording,
) -> Result<ResultSet, Failure> {
    let events = events(report, recording);
    let command = command.join(" ");
    let source = Source {
        of: &command,
        by: "CUPTI",
        recorded: Recorded {
            kernels: true,
            copies: true,
            gpu_faults: true,
            cpu_faults: true,
            allocations: true,
        },
    };
    let mut set = profile::results(source, |take| events.iter().cloned().try_for_each(take))
        .map_err(Failure::Run)?;
    set.scenario = "gpu".to_owned();
    set.title = format!("{command} on this machine's GPU");
    Ok(set)
}

/// Everything that was recorded, in the order of time.
fn events(report: &FrontReport, recording: &Recording) -> Vec<Event> {
    let mut events = Vec::new();
    let mut add = |start_ns: u64, end_ns: u64, what| {
        events.push(Event {
            start_ns,
            end_ns,
            what,
        })
    };
    for kernel in &recording.kernels {
        let name = kernel.name.to_string();
        add(kernel.start_ns, kernel.end_ns, What::Kernel(name));
    }
    for transfer in &recording.transfers {
        let why = match transfer.cause {
            Cause::Unknown => Why::Unknown,
            Cause::User => Why::Call,
            Cause::Coherence => Why::Touch,
            Cause::Prefetch => Why::Ahead,
            Cause::Eviction => Why::Eviction,
            Cause::AccessCounters => Why::Counter,
        };
        let moved = match transfer.kind {
            Direction::ToGpu => What::Came,
            _ => What::Left,
        };
        let what = moved(transfer.address, transfer.bytes, why);
        add(transfer.start_ns, transfer.end_ns, what);
    }
    for group in &recording.fault_groups {
        let (address, faults) = (group.address, group.faults);
        add(
            group.start_ns,
            group.end_ns,
            What::GpuFault(address, faults),
        );
    }
    for fault in &recording.cpu_faults {
        let address = fault.address;
        add(fault.at_ns, fault.at_ns, What::CpuFault(address));
    }
    for copy in &recording.copies {
        add(copy.start_ns, copy.end_ns, What::Copied);
    }
    in_order(events, report)
}

/// The events in the order of time, behind the allocations, for which CUPTI has no time.
fn in_order(mut events: Vec<Event>, report: &FrontReport) -> Vec<Event> {
    // Without a time, an event is not placed; its kernel ran all the same.
    let first_ns = events
        .iter()
        .map(|event| event.start_ns)
        .filter(|&ns| ns > 0)
        .min()
        .unwrap_or(0);
    for event in &mut events {
        event.start_ns = event.start_ns.max(first_ns);
        event.end_ns = event.end_ns.max(event.start_ns);
    }
    events.extend(report.allocations.iter().map(|&[address, bytes]| Event {
        start_ns: first_ns,
        end_ns: first_ns,
        what: What::Allocated(address, bytes, None),
    }));
    // Allocations first among those of one time.
    events.sort_by_key(|event| (event.start_ns, !matches!(event.what, What::Allocated(..))));
    events
}
