//! Figures that benchmarks leave behind.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// Measures how many things a second `work` gets done, and prints it for `cargo xtask bench` to keep.
///
/// `work` returns how many it did. It runs once to warm up and then `RUNS` times; the median run counts. Where the
/// bench program was given part of a name, only the names that it is part of are measured.
pub fn rate(name: &str, unit: &str, work: impl FnMut() -> u64) {
    let start = Instant::now();
    measure(name, unit, || start.elapsed(), work);
}

/// The same by the CPU time of this thread, so that what else the computer does counts as little as possible. The unit
/// should say so.
pub fn cpu_rate(name: &str, unit: &str, work: impl FnMut() -> u64) {
    measure(name, unit, cpu_time, work);
}

/// CPU time of this thread.
pub fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn measure(name: &str, unit: &str, clock: impl Fn() -> Duration, mut work: impl FnMut() -> u64) {
    const RUNS: usize = 5;
    if !is_asked_for(name, std::env::args().skip(1)) {
        return;
    }
    work();
    let mut rates: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = clock();
            let done = work();
            done as f64 / (clock() - start).as_secs_f64()
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    println!("{}", figure_line(name, rates[RUNS / 2], unit));
}

/// Measures how much CPU time `work` takes over that of `base`, and prints it for `cargo xtask bench` to keep.
///
/// Each runs once to warm up, then `ROUNDS` times in turn. The fastest run of each counts: what else the machine does only ever
/// makes a run slower.
pub fn cost(name: &str, mut work: impl FnMut(), mut base: impl FnMut()) {
    const ROUNDS: usize = 41;
    if !is_asked_for(name, std::env::args().skip(1)) {
        return;
    }
    let taken = |work: &mut dyn FnMut()| {
        let start = cpu_time();
        work();
        cpu_time() - start
    };
    work();
    base();
    let (mut with, mut without) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        with = with.min(taken(&mut work));
        without = without.min(taken(&mut base));
    }
    println!(
        "pagemill-bench {name} {:.4} x",
        with.as_secs_f64() / without.as_secs_f64()
    );
}

/// Whether a figure of this name is to be measured, by the arguments of the bench program: parts of names. Options, such as
/// cargo's own `--bench`, are no names.
pub fn is_asked_for(name: &str, arguments: impl Iterator<Item = String>) -> bool {
    let mut parts = arguments
        .filter(|argument| !argument.starts_with('-'))
        .peekable();
    parts.peek().is_none() || parts.any(|part| name.contains(&part))
}

/// Prints a figure for `cargo xtask bench` to keep.
pub fn report(name: &str, figure: f64, unit: &str) {
    println!("{}", figure_line(name, figure, unit));
}

fn figure_line(name: &str, figure: f64, unit: &str) -> String {
    format!("pagemill-bench {name} {figure:.0} {unit}")
}

#[cfg(test)]
mod tests;
