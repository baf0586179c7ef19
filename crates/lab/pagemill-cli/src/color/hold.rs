//! The companion of a task: `pagemill color run` starts it and waits for its first line.

use std::io::Write;
use std::process::{Command, Stdio};

use pagemill_color::protocol::Need;
use pagemill_color::{ColorSpace, HoldError, Holder, HolderConfig, StandInSpace};
use pagemill_linux::color_module;
use pagemill_linux::process::leave_terminal;
use serde_json::{Value, json};

use super::arguments::{HoldArguments, MemoryArguments, WhenEmpty};
use super::backend::open;
use crate::failure::Failure;

/// Starts itself once more and ends, so that the program has no child that it does not know of; that one holds the task.
pub fn hold(arguments: &HoldArguments) -> Result<(), Failure> {
    if !arguments.detached {
        return detach();
    }
    let failed = |error: String| Failure::Run(error);
    leave_terminal().map_err(|error| failed(error.to_string()))?;
    let mut holder = match holder(arguments) {
        Ok(holder) => holder,
        Err(failure) => {
            let (message, is_missing) = match &failure {
                Failure::NoDevice(message) => (message, true),
                Failure::Run(message) | Failure::Usage(message) => (message, false),
                _ => return Err(failure),
            };
            return say(&json!({ "failed": message, "is_missing": is_missing }));
        }
    };
    let range = holder.colors();
    say(&json!({
        "socket": holder.socket(),
        "colors": range.to_string(),
        "is_coordinated": holder.is_coordinated(),
        "is_mapped": holder.is_mapped(),
    }))?;
    let mut report = |message: &str| eprintln!("pagemill color: {message}");
    holder
        .run(&mut report)
        .map_err(|error| failed(error.to_string()))
}

fn detach() -> Result<(), Failure> {
    let failed = |error| Failure::Run(format!("cannot start the task's companion: {error}"));
    let own = std::env::current_exe().map_err(failed)?;
    Command::new(own)
        .args(std::env::args_os().skip(1))
        .arg("--detached")
        .stdin(Stdio::null())
        .spawn()
        .map(|_| ())
        .map_err(failed)
}

/// The first line, which the program's starter reads.
fn say(line: &Value) -> Result<(), Failure> {
    let mut out = std::io::stdout();
    let said = writeln!(out, "{line}").and_then(|()| out.flush());
    said.map_err(|error| Failure::Run(format!("cannot tell the program's starter: {error}")))
}

fn holder(arguments: &HoldArguments) -> Result<Holder, Failure> {
    let need: Option<Need> = match &arguments.need {
        Some(text) => {
            Some(serde_json::from_str(text).map_err(|error| Failure::Usage(error.to_string()))?)
        }
        None => None,
    };
    let config = HolderConfig {
        process: arguments.process,
        name: arguments.name.clone(),
        need,
        coordinator: arguments.socket.clone(),
    };
    Holder::new(config, space(&arguments.memory)?).map_err(|error| match error {
        HoldError::Need(message) => Failure::Usage(message),
        error => Failure::Run(error.to_string()),
    })
}

fn space(arguments: &MemoryArguments) -> Result<Box<dyn ColorSpace>, Failure> {
    if let Some(colors) = arguments.stand_in {
        let space = StandInSpace::new(colors.get());
        return Ok(Box::new(
            space.map_err(|error| Failure::Run(error.to_string()))?,
        ));
    }
    let rule = match arguments.when_empty {
        WhenEmpty::Any => color_module::WhenEmpty::AnyFrame,
        WhenEmpty::Set => color_module::WhenEmpty::OtherColor,
        WhenEmpty::Fail => color_module::WhenEmpty::Fail,
    };
    open(arguments.backend, &arguments.resctrl, rule)
}
