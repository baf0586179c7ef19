//! `kind = "gpu"`: a GPU program on a simulated GPU whose pages move.

use pagemill_sim::{Detail, GpuMachine, Limits, TransferMode};
use pagemill_types::PageSize;

use super::input::PointInput;
use crate::document::{Node, Section};
use crate::error::Problem;
use crate::machine::{self, Machine};
use crate::quantity::{self, Wrong};
use crate::transfer::Transfer;
use crate::workload::WorkloadSpec;

/// Keys that every row holds under a shorter name.
pub(crate) const SHORT_NAMES: &[(&str, &str)] =
    &[("workload.name", "workload"), ("transfer.mode", "mode")];

/// One run of one program on one machine.
#[derive(Debug)]
pub struct GpuPoint {
    /// The GPU and its link.
    pub machine: Machine<GpuMachine>,
    /// How data gets to the GPU.
    pub transfer: Transfer,
    /// What runs.
    pub workload: WorkloadSpec,
    /// How much of its launches is timed.
    pub detail: Detail,
    /// Where a run is stopped, and how many events of it are kept.
    pub limits: Limits,
}

impl GpuPoint {
    pub(crate) fn read(root: &mut Section<'_>, input: &PointInput<'_>) -> Option<Self> {
        let workload = root
            .section("workload")
            .and_then(|section| WorkloadSpec::read(section, input.seed));
        let (transfer, machine) = transfer_and_machine(root, input, None);
        let limits = limits(root, Limits::default());
        let detail = root.or("detail", Detail::Full, detail);
        Some(Self {
            detail: detail?,
            machine: machine?,
            transfer: transfer?,
            workload: workload?,
            limits: limits?,
        })
    }

    /// How the simulator calls the transfer.
    pub fn transfer_mode(&self) -> TransferMode {
        self.transfer.simulated()
    }
}

/// Reads `[transfer]`, and the machine whose pages move by it. `default_mode` is the mode where the scenario says none.
pub(crate) fn transfer_and_machine(
    root: &mut Section<'_>,
    input: &PointInput<'_>,
    default_mode: Option<&str>,
) -> (Option<Transfer>, Option<Machine<GpuMachine>>) {
    let transfer = root
        .section("transfer")
        .and_then(|section| Transfer::read(section, default_mode));
    let machine = input.machine.and_then(|file| {
        // The TLBs see the page of the transfer; where that is wrong, the machine is still checked, with one that fits any memory.
        let page = transfer
            .as_ref()
            .map_or(PageSize::KIB_4, |transfer| transfer.page);
        let machine = machine::gpu::read(file, page, input.reader)?;
        let driven = transfer.as_ref().filter(|transfer| transfer.driver.is_some());
        if let Some(transfer) = driven
            && machine.spec.driver.is_none()
        {
            let text = format!(
                "`transfer.mode` = {:?} is done by a unified-memory driver, and {} has none",
                transfer.mode, machine.name
            );
            let help = "use a machine with a [driver], such as a100-pcie4-x86: `pagemill list machines` shows them";
            root.report(Problem::at(root.origin_of("transfer"), text).help(help.to_owned()));
            return None;
        }
        Some(machine)
    });
    (transfer, machine)
}

/// Reads `[limits]`; what is left out of it is that of `defaults`.
pub(crate) fn limits(root: &mut Section<'_>, defaults: Limits) -> Option<Limits> {
    match root.optional_section("limits") {
        Some(section) => read_limits(section, defaults),
        None => Some(defaults),
    }
}

/// Reads how much of the launches is timed.
pub(crate) fn detail(node: &Node) -> Result<Detail, Wrong> {
    let name = quantity::text(node)?;
    let found = Detail::ALL.into_iter().find(|detail| detail.name() == name);
    found.ok_or_else(|| {
        Wrong::new("there is no such detail")
            .help("use \"full\", \"sampled\" or \"pages\"".to_owned())
    })
}

/// What the driver of a card rounds memory to, and the largest page that a GPU protects.
pub(crate) const READ_GRANULE_MAX: u64 = 2 << 20;

fn read_limits(mut section: Section<'_>, defaults: Limits) -> Option<Limits> {
    let positive = || quantity::count(1..=u64::MAX);
    let thread_instructions = section.or(
        "thread_instructions",
        defaults.thread_instructions,
        positive(),
    );
    let timeline_events = section.or(
        "timeline_events",
        defaults.timeline_events as u64,
        quantity::any_count,
    );
    let read_granule_bytes = section.or("read_granule", defaults.read_granule_bytes, read_granule);
    Some(Limits {
        read_granule_bytes: read_granule_bytes?,
        thread_instructions: thread_instructions?,
        timeline_events: usize::try_from(timeline_events?).unwrap_or(usize::MAX),
    })
}

fn read_granule(node: &Node) -> Result<u64, Wrong> {
    let bytes: u64 = quantity::bytes(node)?;
    match bytes == 0 || (bytes.is_power_of_two() && bytes <= READ_GRANULE_MAX) {
        true => Ok(bytes),
        false => Err(Wrong::new("a power of two of at most 2 MiB is needed")
            .help("write \"0 B\" to stop at every load beyond an allocation, or for example \"512 B\"".to_owned())),
    }
}
