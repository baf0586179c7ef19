//! A question about a program as a scenario, so that everything about it is read and checked in one place.

use pagemill_run::PointError;
use pagemill_scenario::document::SourceText;
use pagemill_scenario::{CudaPoint, PointSpec, Scenario, load_text};

use super::arguments::ProgramArguments;
use crate::failure::Failure;

/// The question as a scenario; `memory` are the lines about GPU memory.
pub fn scenario(
    arguments: &ProgramArguments,
    machine: &str,
    memory: &str,
) -> Result<Scenario, Failure> {
    // A JSON string is a TOML string.
    let string = |text: &str| serde_json::Value::from(text).to_string();
    let words: Vec<String> = arguments.command.iter().map(|word| string(word)).collect();
    let mode = match &arguments.mode {
        Some(mode) => format!("mode = {}\n", string(mode)),
        None => String::new(),
    };
    let text = format!(
        "title = {}\nkind = \"cuda\"\nmachine = {}\nseed = {}\n\n[program]\ncommand = [{}]\n{memory}\n[transfer]\n{mode}",
        string(&arguments.command.join(" ")),
        string(machine),
        arguments.seed,
        words.join(", "),
    );
    Ok(load_text(
        &SourceText::of_options("advise", &text),
        &arguments.sets,
    )?)
}

/// The only point of a scenario, whose pages have to move.
pub fn point(scenario: &Scenario) -> Result<&CudaPoint, Failure> {
    let refuse = |text: &str| Err(Failure::Usage(text.to_owned()));
    let [point] = &scenario.points[..] else {
        return refuse(
            "a list of values is more than one question: give --set one value for each key",
        );
    };
    let PointSpec::Cuda(spec) = &point.spec else {
        return refuse("the scenario is of another kind");
    };
    if spec.transfer.migration.is_none() && spec.transfer.driver.is_none() {
        return Err(Failure::Usage(format!(
            "`transfer.mode` = {:?} moves no pages, so no hint has an effect: use on-demand on a machine that has a driver, or \
             multi-range",
            spec.transfer.mode
        )));
    }
    Ok(spec)
}

/// How a run that did not go well ends the command.
pub fn failure(error: PointError) -> Failure {
    match error {
        PointError::Refused(message) => Failure::Usage(message),
        error => Failure::Run(error.to_string()),
    }
}
