//! `[workload]`: which program runs, and its parameters.

use std::sync::Arc;

use pagemill_workloads::{
    Parameter, ParameterError, Unit, Values, WORKLOADS, Workload, WorkloadInfo,
};

use crate::document::{Kind, Node, Section};
use crate::error::Problem;
use crate::quantity::{self, Wrong};

/// A program with its parameters, ready to run.
#[derive(Debug)]
pub struct WorkloadSpec {
    /// The name of the program.
    pub name: &'static str,
    /// Every parameter and its value.
    pub values: Vec<(&'static Parameter, u64)>,
    /// The program.
    pub program: Arc<dyn Workload>,
}

impl WorkloadSpec {
    /// Reads `[workload]`; `seed` is that of the scenario.
    pub(crate) fn read(mut section: Section<'_>, seed: u64) -> Option<Self> {
        let info = section.required("name", quantity::registered("workloads", &WORKLOADS));
        let Some(info) = info else {
            section.abandon();
            return None;
        };
        Self::read_parameters(&mut section, info, seed)
    }

    fn read_parameters(
        section: &mut Section<'_>,
        info: &'static WorkloadInfo,
        seed: u64,
    ) -> Option<Self> {
        let values = read_values(section, info.parameters, info.defaults(), seed)?;
        match info.build(&values) {
            Ok(program) => Some(Self {
                name: info.name,
                values: values.iter().collect(),
                program,
            }),
            Err(error) => {
                report(section, &error);
                None
            }
        }
    }
}

/// `values` with what `section` says of `parameters`; `seed` is that of the scenario. `None` when something is wrong, which is
/// then noted.
pub(crate) fn read_values(
    section: &mut Section<'_>,
    parameters: &'static [Parameter],
    mut values: Values,
    seed: u64,
) -> Option<Values> {
    let mut sound = true;
    for parameter in parameters {
        let default = if parameter.unit == Unit::Seed {
            seed
        } else {
            parameter.default
        };
        let read = section.or(parameter.name, default, |node| number(node, parameter.unit));
        let Some(value) = read else {
            sound = false;
            continue;
        };
        if let Err(error) = values.set(parameter.name, value) {
            report(section, &error);
            sound = false;
        }
    }
    sound.then_some(values)
}

fn number(node: &Node, unit: Unit) -> Result<u64, Wrong> {
    match unit {
        Unit::Count | Unit::Seed => quantity::any_count(node),
        Unit::Bytes => quantity::bytes(node),
        Unit::Flag => match node.kind {
            Kind::Boolean(flag) => Ok(flag.into()),
            Kind::Integer(0) => Ok(0),
            Kind::Integer(1) => Ok(1),
            _ => Err(Wrong::new("true or false is needed, without quotes")),
        },
    }
}

fn report(section: &Section<'_>, error: &ParameterError) {
    let problem = match error {
        ParameterError::Unknown { .. } => Problem::at(section.origin(), error.to_string()),
        ParameterError::NotAllowed {
            workload,
            parameter,
            value,
            allowed,
        } => {
            let path = section.path_of(parameter);
            let message = format!("`{path}` is {value}: {workload} does not allow this");
            Problem::at(section.origin_of(parameter), message).help(format!("allowed: {allowed}"))
        }
    };
    section.report(problem);
}
