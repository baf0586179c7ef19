//! `pagemill doctor gpu`: the oversubscription benchmark on a real GPU.

use pagemill_gpu::{Bench, CudaGpu, Gpu, GpuError, MIB, Point, Settings, host, show_bytes};
use pagemill_policy::residency::AccessPattern;
use pagemill_report::{OutputDir, Row};

use super::arguments::GpuBenchArguments;
use super::results;
use crate::failure::Failure;
use crate::output::{hand_over, print_results};

/// Measures every point that was asked for, in the order of the sweep.
pub fn bench(arguments: &GpuBenchArguments) -> Result<(), Failure> {
    if let Some(out) = &arguments.out {
        OutputDir::check(out).map_err(Failure::BadOutput)?;
    }
    let gpu = CudaGpu::open(arguments.device).map_err(failure)?;
    run(arguments, gpu, host::available_bytes())
}

fn run(
    arguments: &GpuBenchArguments,
    gpu: impl Gpu,
    host_bytes: Option<u64>,
) -> Result<(), Failure> {
    let points = points(arguments);
    let memory_bytes = memory_bytes(arguments, &gpu, &points, host_bytes).map_err(failure)?;
    let settings = Settings {
        loops: arguments.loops.get(),
        seed: arguments.seed,
        time_limit_s: arguments.time_limit,
        host_bytes,
    };
    let mut bench = Bench::new(gpu, Some(memory_bytes), settings).map_err(failure)?;
    for point in &points {
        bench.check(point).map_err(failure)?;
    }
    let machine = machine(arguments, bench.gpu());
    eprintln!(
        "{}: {} of its {} are left to the data",
        bench.gpu().facts().name,
        show_bytes(bench.memory_bytes()),
        show_bytes(bench.gpu().facts().total_bytes)
    );
    let mut rows = Vec::new();
    let mut failed = None;
    for (index, point) in points.iter().enumerate() {
        match bench.measure(point) {
            Ok(measured) => {
                eprintln!(
                    "{} of {}: {}",
                    index + 1,
                    points.len(),
                    results::line(point, &measured)
                );
                rows.push(results::row(&machine, point, &measured));
            }
            Err(error) => {
                failed = Some(format!("{}: {error}", results::name(point)));
                break;
            }
        }
    }
    finish(arguments, bench.gpu(), rows, failed)
}

/// Shows and writes what was measured, though a later point failed: a sweep may have taken hours.
fn finish(
    arguments: &GpuBenchArguments,
    gpu: &impl Gpu,
    rows: Vec<Row>,
    failed: Option<String>,
) -> Result<(), Failure> {
    if !rows.is_empty() {
        let set = results::set(gpu.facts(), arguments.seed, rows);
        hand_over(arguments.out.as_deref(), &set, || {
            print_results(&set, arguments.format)
        })?;
    }
    match failed {
        None => Ok(()),
        Some(message) => Err(Failure::Run(format!(
            "{message}; only the points before it are in the results"
        ))),
    }
}

/// The product of what was asked for, last key fastest. Stripes differ only where the strategy deals them out.
fn points(arguments: &GpuBenchArguments) -> Vec<Point> {
    let patterns = match arguments.patterns.as_slice() {
        [] => AccessPattern::ALL.to_vec(),
        patterns => patterns.to_vec(),
    };
    let mut points = Vec::new();
    for &pattern in &patterns {
        for &variant in &arguments.variants {
            for &strategy in &arguments.strategies {
                for &stripe_bytes in &arguments.stripes_bytes {
                    for &factor in &arguments.factors {
                        points.push(Point {
                            pattern,
                            variant,
                            strategy,
                            factor,
                            stripe_bytes,
                        });
                    }
                }
            }
        }
    }
    points
}

/// What was asked for; or all that is free, but no more than the host's memory could hold the data of.
fn memory_bytes(
    arguments: &GpuBenchArguments,
    gpu: &impl Gpu,
    points: &[Point],
    host_bytes: Option<u64>,
) -> Result<u64, GpuError> {
    if let Some(bytes) = arguments.gpu_memory_bytes {
        return Ok(bytes);
    }
    let free_bytes = pagemill_gpu::usable_bytes(gpu)?;
    let Some(host_bytes) = host_bytes else {
        return Ok(free_bytes);
    };
    let largest = points
        .iter()
        .map(|point| point.factor * pagemill_gpu::memory_share(point.pattern))
        .fold(0.0, f64::max);
    // Where not even one block fits, the check of the points says how much is lacking.
    let for_host = pagemill_gpu::memory_for_host(host_bytes, largest).max(2 * MIB);
    Ok(free_bytes.min(for_host))
}

/// `NVIDIA H200` as `h200`.
fn machine(arguments: &GpuBenchArguments, gpu: &impl Gpu) -> String {
    let slug = || {
        let name = gpu.facts().name.to_lowercase();
        let words = name
            .split(|letter: char| !letter.is_ascii_alphanumeric())
            .filter(|word| !word.is_empty() && *word != "nvidia");
        words.collect::<Vec<_>>().join("-")
    };
    arguments.machine.clone().unwrap_or_else(slug)
}

/// What a driver's or a GPU's answer is for the user.
pub fn failure(error: GpuError) -> Failure {
    let message = error.to_string();
    match error {
        error if error.is_missing_gpu() => Failure::NoDevice(message),
        GpuError::NoSuchGpu { .. } => Failure::NoDevice(message),
        GpuError::BadPoint(_) | GpuError::HostMemory { .. } | GpuError::GpuMemory { .. } => {
            Failure::Usage(message)
        }
        _ => Failure::Run(message),
    }
}
