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
