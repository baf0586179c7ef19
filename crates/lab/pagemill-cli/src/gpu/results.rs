//! What was measured, in the columns of the simulator.

use std::fs;
use std::path::Path;

use pagemill_gpu::{GpuFacts, Loop, Measured, Point, show_bytes};
use pagemill_report::metric::{self, Metric};
use pagemill_report::{
    Column, ColumnKind, DescriptionEntry, DescriptionSection, Lines, Plot, PlotForm, ResultSet, Row,
};
use pagemill_run::residency_row::{self, Identity};

/// What the loops of a point took.
struct Taken<'a> {
    measured: &'a Measured,
    time_ns: u64,
    read_bytes: u64,
    rates: Vec<f64>,
}

impl<'a> Taken<'a> {
    fn new(measured: &'a Measured) -> Self {
        let loops = &measured.loops;
        Self {
            measured,
            time_ns: loops.iter().map(|one| one.kernel_time_ns).sum(),
            read_bytes: loops.iter().map(|one| one.read_bytes).sum(),
            rates: loops.iter().map(Loop::bytes_per_second).collect(),
        }
    }

    fn loops(&self) -> u64 {
        self.rates.len().max(1) as u64
    }

    /// Mean time of the loops; none where one was cut short.
    fn mean_ns(&self) -> Option<u64> {
        let are_whole = self.measured.loops.iter().all(|one| one.is_whole);
        are_whole.then(|| self.time_ns / self.loops())
    }
}

#[rustfmt::skip]
fn metrics<'a>() -> [Metric<Taken<'a>>; 9] {
    use ColumnKind::{Bytes, BytesPerSecond, Count, TimeNs};
    [
        Metric::new("gpu_bytes", Bytes, "GPU memory that is free for the data", |of| of.measured.gpu_bytes.into()),
        Metric::new("allocated_bytes", Bytes, "the data", |of| of.measured.allocated_bytes.into()),
        Metric::new("blocks", Count, "thread blocks: all that the GPU holds at once", |of| of.measured.blocks.into()),
        Metric::new("loops", Count, "times that the kernel was run", |of| of.rates.len().into()),
        Metric::sometimes("time_ns", TimeNs, "mean kernel time of the loops; none where one was cut short", |of| Some(of.mean_ns()?.into())),
        Metric::new("bandwidth_bytes_per_second", BytesPerSecond, "bytes that threads asked for over kernel time, over all loops", |of| rate(of.read_bytes, of.time_ns).into()),
        Metric::new("least_bandwidth_bytes_per_second", BytesPerSecond, "of a loop", |of| of.rates.iter().copied().fold(f64::INFINITY, f64::min).into()),
        Metric::new("most_bandwidth_bytes_per_second", BytesPerSecond, "of a loop", |of| of.rates.iter().copied().fold(0.0, f64::max).into()),
        Metric::new("read_bytes", Bytes, "mean of the loops; less than the data where a random run was cut short", |of| (of.read_bytes / of.loops()).into()),
    ]
}

/// What a measured row holds, in order: parameters, then metrics.
fn columns() -> Vec<Column> {
    let metrics = metric::columns(&metrics());
    residency_row::columns().chain(metrics).collect()
}

/// One point and its results.
pub fn row(machine: &str, point: &Point, measured: &Measured) -> Row {
    let identity = Identity {
        machine,
        pattern: point.pattern,
        variant: point.variant,
        strategy: point.strategy,
        stripe_bytes: point.stripe_bytes,
        factor: point.factor,
    };
    metric::add(identity.row(), &metrics(), &Taken::new(measured))
}

fn rate(bytes: u64, time_ns: u64) -> f64 {
    bytes as f64 * 1e9 / time_ns.max(1) as f64
}

/// A point in words.
pub fn name(point: &Point) -> String {
    format!(
        "{} {}, {}, factor {}, stripes of {}",
        point.pattern,
        point.variant,
        point.strategy.name,
        point.factor,
        show_bytes(point.stripe_bytes)
    )
}

/// A point and how fast it was, for people who watch.
pub fn line(point: &Point, measured: &Measured) -> String {
    let (bytes, time_ns) = measured.loops.iter().fold((0, 0), |(bytes, time_ns), one| {
        (bytes + one.read_bytes, time_ns + one.kernel_time_ns)
    });
    let cut = measured.loops.iter().any(|one| !one.is_whole);
    format!(
        "{}: {:.3} GB/s{}",
        name(point),
        rate(bytes, time_ns) / 1e9,
        if cut { ", cut short" } else { "" }
    )
}

/// Everything that was measured on one GPU.
pub fn set(gpu: &GpuFacts, seed: u64, rows: Vec<Row>) -> ResultSet {
    ResultSet {
        scenario: "gpu-bench".to_owned(),
        title: format!("Unified memory on {}", gpu.name),
        about: "Measured, not simulated. Each loop starts with the data in the CPU's memory, then come the calls of the \
                strategy, and only the kernel is timed. Compare with a simulation: pagemill report compare simulated.json measured.json"
            .to_owned(),
        pagemill_version: env!("CARGO_PKG_VERSION").to_owned(),
        measured: true,
        seed,
        columns: columns(),
        rows,
        plots: vec![plot()],
        description: vec![gpu_section(gpu), host_section(gpu)],
        ..ResultSet::default()
    }
}

fn plot() -> Plot {
    Plot {
        id: "bandwidth".to_owned(),
        title: "Bandwidth over the factor".to_owned(),
        caption: String::new(),
        panel_by: Some("pattern".to_owned()),
        only: Vec::new(),
        x_title: "data over GPU memory".to_owned(),
        y_title: String::new(),
        published: Vec::new(),
        form: PlotForm::Lines(Lines {
            x: "oversubscription_factor".to_owned(),
            series: "strategy".to_owned(),
            y: "bandwidth_bytes_per_second".to_owned(),
            log_y: true,
            ..Lines::default()
        }),
    }
}

fn entry(name: &str, value: String, source: &str) -> DescriptionEntry {
    DescriptionEntry {
        name: name.to_owned(),
        value,
        source: source.to_owned(),
    }
}

fn gpu_section(gpu: &GpuFacts) -> DescriptionSection {
    const SOURCE: &str = "CUDA driver";
    let pair = |(major, minor): (u32, u32)| format!("{major}.{minor}");
    DescriptionSection {
        title: format!("GPU {}: {}", gpu.index, gpu.name),
        entries: vec![
            entry("memory", show_bytes(gpu.total_bytes), SOURCE),
            entry(
                "streaming_multiprocessors",
                gpu.sm_count.to_string(),
                SOURCE,
            ),
            entry("compute_capability", pair(gpu.compute_capability), SOURCE),
            entry("driver_cuda_version", pair(gpu.driver_cuda), SOURCE),
            entry("pci_address", gpu.pci_address.clone(), SOURCE),
            entry(
                "uses_host_page_tables",
                gpu.uses_host_page_tables.to_string(),
                SOURCE,
            ),
        ],
    }
}

/// What the system says about the driver and the link: results depend on it.
fn host_section(gpu: &GpuFacts) -> DescriptionSection {
    let mut entries = Vec::new();
    let mut add = |name: &str, path: String| {
        if let Ok(text) = fs::read_to_string(&path) {
            let first = text.lines().next().unwrap_or_default().trim().to_owned();
            entries.push(entry(name, first, &path));
        }
    };
    let pci = format!("/sys/bus/pci/devices/{}", gpu.pci_address);
    add("kernel", "/proc/sys/kernel/osrelease".to_owned());
    add("driver", "/proc/driver/nvidia/version".to_owned());
    add("link_speed", format!("{pci}/current_link_speed"));
    add("link_width", format!("{pci}/current_link_width"));
    add("numa_node", format!("{pci}/numa_node"));
    let parameters = Path::new("/sys/module/nvidia_uvm/parameters");
    let mut names: Vec<String> = fs::read_dir(parameters)
        .into_iter()
        .flatten()
        .filter_map(|file| file.ok()?.file_name().into_string().ok())
        .collect();
    names.sort();
    for name in names {
        let path = parameters.join(&name).display().to_string();
        add(&name, path);
    }
    DescriptionSection {
        title: "Host".to_owned(),
        entries,
    }
}
