//! `pagemill mpi goal`: the messages of a scenario as a schedule for other network simulators.

use std::path::PathBuf;

use clap::Args;
use pagemill_scenario::{PointSpec, Scenario, load};
use pagemill_sim::nic::traffic::{TrafficSpec, write_goal};

use crate::failure::Failure;
use crate::output::{print, write_file};

/// Computation, messages and what waits for what, for each rank. `pagemill run` replays such a file with
/// `workload.name = "goal"`; addresses of buffers are not part of the format.
#[derive(Args, Debug)]
pub struct GoalArguments {
    /// A scenario file of kind "nic", or the name of a built-in one, with one workload
    pub scenario: String,

    /// Replace a value or a sweep of the scenario
    ///
    /// Example: --set 'workload={name="halo", ranks=64, bytes="8 KiB"}'
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,

    /// Write to a file instead of standard output
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Writes the schedule of the scenario's workload.
pub fn goal(arguments: &GoalArguments) -> Result<(), Failure> {
    let scenario = load(&arguments.scenario, &arguments.sets)?;
    let spec = workload(&scenario)?;
    match &arguments.out {
        Some(path) => write_file(path, |mut out| write_goal(&spec, &mut out)),
        None => print(|mut out| write_goal(&spec, &mut out)),
    }
}

/// The one workload of all points: machines may differ.
fn workload(scenario: &Scenario) -> Result<TrafficSpec, Failure> {
    let mut found: Option<TrafficSpec> = None;
    for point in &scenario.points {
        let PointSpec::Nic(nic) = &point.spec else {
            return Err(Failure::Usage(format!(
                "{} is of kind {:?}; a schedule has messages of a scenario of kind \"nic\"",
                scenario.name,
                point.spec.kind()
            )));
        };
        let name = nic.workload.name();
        let spec = nic.workload.traffic().ok_or_else(|| {
            Failure::Usage(format!(
                "workload {name:?} is no program of messages between ranks: name another with \
                 --set 'workload={{name=\"halo\", ranks=64, bytes=\"8 KiB\"}}'"
            ))
        })?;
        if found.as_ref().is_some_and(|found| *found != spec) {
            return Err(Failure::Usage(format!(
                "{} sweeps over several workloads, and a schedule is of one: choose it with --set",
                scenario.name
            )));
        }
        found = Some(spec);
    }
    found.ok_or_else(|| Failure::Usage(format!("{} has no points", scenario.name)))
}
