//! CPU time of whole scenarios of the page managers, one point after the other on one thread.

use pagemill_run::{RunOptions, run_point};
use pagemill_scenario::load;
use pagemill_testkit::bench::{cpu_time, is_asked_for};

/// Name of the figure, the scenario, and what is set.
const RUNS: [(&str, &str, &[&str]); 3] = [
    (
        "uvm-on-demand-128-gib",
        "uvm-on-demand",
        &[
            "machine=a100-pcie4-x86",
            "access.pattern=grid-stride",
            "residency.factor=3.2",
        ],
    ),
    (
        "uvm-on-demand-random-64-gib",
        "uvm-on-demand",
        &[
            "machine=a100-pcie4-x86",
            "access.pattern=random-warp",
            "residency.factor=1.6",
        ],
    ),
    ("ppm-fig6-gtx480", "ppm-fig6", &["machine=gtx480"]),
];

fn main() {
    for (figure, scenario, sets) in RUNS {
        if !is_asked_for(figure, std::env::args().skip(1)) {
            continue;
        }
        let sets: Vec<String> = sets.iter().map(|set| (*set).to_owned()).collect();
        let scenario = load(scenario, &sets).expect("it is built in");
        let start = cpu_time();
        for point in &scenario.points {
            run_point(point, &RunOptions::default()).expect("it runs");
        }
        let taken = (cpu_time() - start).as_secs_f64();
        println!("pagemill-bench {figure} {taken:.2} cpu-s");
    }
}
