//! Figures that benchmarks leave behind.

use std::time::Instant;

/// Measures how many things a second `work` gets done, and prints it for `cargo xtask bench` to keep.
///
/// `work` returns how many it did. It runs once to warm up and then `RUNS` times; the median run counts.
pub fn rate(name: &str, unit: &str, mut work: impl FnMut() -> u64) {
    const RUNS: usize = 5;
    work();
    let mut rates: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            let done = work();
            done as f64 / start.elapsed().as_secs_f64()
        })
        .collect();
    rates.sort_by(f64::total_cmp);
    println!("{}", figure_line(name, rates[RUNS / 2], unit));
}

/// Measures how much CPU time `work` takes over that of `base`, and prints it for `cargo xtask bench` to keep.
///
/// Each runs once to warm up, then `ROUNDS` times in turn. The fastest run of each counts: what else the machine does only ever
/// makes a run slower.
///
/// # Panics
/// The kernel does not tell the CPU time of a thread.
pub fn cost(name: &str, mut work: impl FnMut(), mut base: impl FnMut()) {
    const ROUNDS: usize = 41;
    work();
    base();
    let (mut with, mut without) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..ROUNDS {
        with = with.min(cpu_nanoseconds(&mut work));
        without = without.min(cpu_nanoseconds(&mut base));
    }
    println!("pagemill-bench {name} {:.4} x", with / without);
}

/// CPU time of this thread while `work` runs.
fn cpu_nanoseconds(work: &mut impl FnMut()) -> f64 {
    let now = || -> f64 {
        let told = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux tells it");
        let first = told.split_whitespace().next().expect("three numbers");
        first.parse().expect("a number")
    };
    let start = now();
    work();
    now() - start
}

fn figure_line(name: &str, figure: f64, unit: &str) -> String {
    format!("pagemill-bench {name} {figure:.0} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_one_marked_line() {
        let line = figure_line("vector-add-functional", 1.5e9, "thread-instructions/s");
        assert_eq!(
            line,
            "pagemill-bench vector-add-functional 1500000000 thread-instructions/s"
        );
    }

    #[test]
    fn the_work_is_warmed_up_and_repeated() {
        let mut runs = 0;
        rate("nothing", "runs/s", || {
            runs += 1;
            runs
        });
        assert_eq!(runs, 6);
    }
}
