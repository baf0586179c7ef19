//! What was measured, in the columns of the simulator.

use std::fs;
use std::path::Path;

use pagemill_gpu::{GpuFacts, Loop, Measured, Point, show_bytes};
use pagemill_report::{
    Column, ColumnKind, DescriptionEntry, DescriptionSection, Lines, Plot, PlotForm, ResultSet, Row,
};
use pagemill_run::residency_row::{self, Identity};

/// What a measured row holds, in order: parameters, then metrics.
fn columns() -> Vec<Column> {
    use ColumnKind::{Bytes, BytesPerSecond, Count, TimeNs};
    let metrics = [
        Column::metric("gpu_bytes", Bytes, "GPU memory that is free for the data"),
        Column::metric("allocated_bytes", Bytes, "the data"),
        Column::metric(
            "blocks",
            Count,
            "thread blocks: all that the GPU holds at once",
        ),
        Column::metric("loops", Count, "times that the kernel was run"),
        Column::metric(
            "time_ns",
            TimeNs,
            "mean kernel time of the loops; none where one was cut short",
        ),
        Column::metric(
            "bandwidth_bytes_per_second",
            BytesPerSecond,
            "bytes that threads asked for over kernel time, over all loops",
        ),
        Column::metric(
            "least_bandwidth_bytes_per_second",
            BytesPerSecond,
            "of a loop",
        ),
        Column::metric(
            "most_bandwidth_bytes_per_second",
            BytesPerSecond,
            "of a loop",
        ),
        Column::metric(
            "read_bytes",
            Bytes,
            "mean of the loops; less than the data where a random run was cut short",
        ),
    ];
    residency_row::columns().chain(metrics).collect()
}

/// One point and its results.
pub fn row(machine: &str, point: &Point, measured: &Measured) -> Row {
    let loops = &measured.loops;
    let sum = |part: fn(&Loop) -> u64| loops.iter().map(part).sum::<u64>();
    let (time_ns, read_bytes) = (sum(|one| one.kernel_time_ns), sum(|one| one.read_bytes));
    let count = loops.len().max(1) as u64;
    let rates: Vec<f64> = loops.iter().map(Loop::bytes_per_second).collect();
    let identity = Identity {
        machine,
        pattern: point.pattern,
        variant: point.variant,
        strategy: point.strategy,
        stripe_bytes: point.stripe_bytes,
        factor: point.factor,
    };
    let mut row = identity
        .row()
        .metric("gpu_bytes", measured.gpu_bytes)
        .metric("allocated_bytes", measured.allocated_bytes)
        .metric("blocks", measured.blocks)
        .metric("loops", loops.len());
    if loops.iter().all(|one| one.is_whole) {
        row = row.metric("time_ns", time_ns / count);
    }
    row.metric("bandwidth_bytes_per_second", rate(read_bytes, time_ns))
        .metric(
            "least_bandwidth_bytes_per_second",
            rates.iter().copied().fold(f64::INFINITY, f64::min),
        )
        .metric(
            "most_bandwidth_bytes_per_second",
            rates.iter().copied().fold(0.0, f64::max),
        )
        .metric("read_bytes", read_bytes / count)
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
