use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use pagemill_color::TASK_VARIABLE;
use pagemill_color::protocol::Need;
use pagemill_report::ResultSet;
use serde_json::Value;

use super::arguments::{NeedArguments, RunArguments, WhenEmpty};
use super::socket;
use crate::compare::results;
use crate::failure::Failure;
use crate::preload::{find_library, with_library};

const LIBRARY: &str = "libpagemill_color_preload.so";

/// Replaces this process by the program. Returns only if that fails.
pub fn run(arguments: &RunArguments) -> Result<(), Failure> {
    let Some((program, rest)) = arguments.program.split_first() else {
        return Err(Failure::Usage("no program to run".to_owned()));
    };
    let need = need(&arguments.need)?;
    let name = Path::new(program).file_name().unwrap_or(program);
    let held = hold(arguments, need.as_ref(), &name.to_string_lossy())?;
    let text = |key: &str| held[key].as_str().unwrap_or_default();
    eprintln!(
        "pagemill color: colors {}, {}",
        text("colors"),
        if held["is_coordinated"] == true {
            "from the coordinator"
        } else {
            "as no coordinator runs"
        }
    );
    let command = Command::new(program);
    let mut command = if held["is_mapped"] == true {
        let library = find_library(arguments.library.as_deref(), LIBRARY)?;
        let mut command = with_library(command, library)?;
        command.env(TASK_VARIABLE, text("socket"));
        command
    } else {
        command
    };
    let error = command.args(rest).exec();
    Err(Failure::Run(format!(
        "cannot run {}: {error}",
        program.display()
    )))
}

fn need(arguments: &NeedArguments) -> Result<Option<Need>, Failure> {
    if let Some(path) = &arguments.curve {
        return curve(&results(path)?)
            .map(Some)
            .map_err(|why| Failure::Usage(format!("{}: {why}", path.display())));
    }
    let class = arguments.class.clone().map(Need::Class);
    Ok(class.or_else(|| arguments.colors.map(|colors| Need::Colors(colors.get()))))
}

/// The curve of the first task.
fn curve(set: &ResultSet) -> Result<Need, String> {
    let lacks = "it has no miss curve: `pagemill mrc --out DIR` writes one";
    let task = set.rows.first().and_then(|row| row.number("task"));
    let own = set.rows.iter().filter(|row| row.number("task") == task);
    let mut references = 0;
    let mut misses = Vec::new();
    for row in own {
        let number = |name| row.number(name).filter(|number| *number >= 0.0);
        let colors = number("colors").ok_or(lacks)?;
        references = number("references").ok_or(lacks)? as u64;
        misses.push(number("misses").ok_or(lacks)? as u64);
        if colors as usize != misses.len() {
            return Err("its curve leaves out numbers of colors".to_owned());
        }
    }
    Ok(Need::Curve { references, misses })
}

/// Starts the task's companion, and waits until it has colors.
fn hold(arguments: &RunArguments, need: Option<&Need>, name: &str) -> Result<Value, Failure> {
    let failed =
        |error: std::io::Error| Failure::Run(format!("cannot start the task's companion: {error}"));
    let own = std::env::current_exe().map_err(failed)?;
    let mut command = Command::new(own);
    command
        .args(["color", "hold", "--process"])
        .arg(std::process::id().to_string())
        .arg("--name")
        .arg(name)
        .arg("--socket")
        .arg(socket(&arguments.socket))
        .arg("--when-empty")
        .arg(match arguments.memory.when_empty {
            WhenEmpty::Any => "any",
            WhenEmpty::Set => "set",
            WhenEmpty::Fail => "fail",
        })
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    match arguments.memory.stand_in {
        Some(colors) => command.arg("--stand-in").arg(colors.to_string()),
        None => command
            .args(["--backend", arguments.memory.backend.name(), "--resctrl"])
            .arg(&arguments.memory.resctrl),
    };
    if let Some(need) = need {
        let text = serde_json::to_string(need).map_err(|error| failed(error.into()))?;
        command.arg("--need").arg(text);
    }
    let mut child = command.spawn().map_err(failed)?;
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        let read = BufReader::new(stdout).read_line(&mut line);
        read.map_err(failed)?;
    }
    child.wait().map_err(failed)?;
    let said: Value = serde_json::from_str(&line).unwrap_or_default();
    match (&said["socket"], &said["failed"]) {
        (Value::String(_), _) => Ok(said),
        (_, Value::String(why)) if said["is_missing"] == true => {
            Err(Failure::NoDevice(why.clone()))
        }
        (_, Value::String(why)) => Err(Failure::Run(why.clone())),
        _ => Err(Failure::Run(
            "the task's companion ended without a word".to_owned(),
        )),
    }
}
