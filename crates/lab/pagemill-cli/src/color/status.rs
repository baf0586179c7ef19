use std::fmt::Write;

use pagemill_color::protocol::{Colors, Status};

use super::arguments::StatusArguments;
use super::socket;
use crate::failure::Failure;
use crate::output;
use crate::output::TextFormat;

pub fn status(arguments: &StatusArguments) -> Result<(), Failure> {
    let status = pagemill_color::status(&socket(&arguments.socket))
        .map_err(|error| Failure::Run(error.to_string()))?;
    match arguments.format {
        TextFormat::Table => output::print_text(&table(&status)),
        TextFormat::Json => {
            let json = serde_json::to_value(&status)
                .map_err(|error| Failure::Run(format!("cannot write the status: {error}")))?;
            output::print_json(&json)
        }
    }
}

fn table(status: &Status) -> String {
    let mut text = format!(
        "{} colors, policy {}, {} tasks\n",
        status.colors,
        status.policy,
        status.tasks.len()
    );
    let shown = |colors: Option<Colors>| colors.map_or("-".to_owned(), |own| own.to_string());
    for task in &status.tasks {
        let is_late = if task.has == task.given {
            String::new()
        } else {
            format!(", still on {}", shown(task.has))
        };
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "  {:<9} {:<20} process {:<8} user {:<6} {}, {} pages, {} to move{is_late}",
            shown(task.given),
            task.name,
            task.process,
            task.user,
            task.wish,
            task.pages,
            task.planned,
        );
    }
    text
}
