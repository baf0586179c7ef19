use std::fmt::Write;

use pagemill_zero_client::protocol::{ProgramUse, Status};
use pagemill_zero_client::{Client, ClientError};

use super::arguments::{StatusArguments, StatusFormat};
use crate::failure::Failure;
use crate::output;

pub fn status(arguments: &StatusArguments) -> Result<(), Failure> {
    let failed = |error: ClientError| Failure::Run(error.to_string());
    let socket = arguments
        .socket
        .clone()
        .unwrap_or_else(pagemill_zero_client::socket_path);
    let mut client = Client::connect(&socket).map_err(failed)?;
    if arguments.format == StatusFormat::Prometheus {
        return output::print_text(&client.metrics().map_err(failed)?);
    }
    let status = client.status().map_err(failed)?;
    if arguments.format == StatusFormat::Json {
        let json = serde_json::to_value(&status)
            .map_err(|error| Failure::Run(format!("cannot write the status: {error}")))?;
        return output::print_json(&json);
    }
    output::print_text(&table(&status))
}

/// A line for each program that asked for pages.
fn programs(programs: &[ProgramUse]) -> String {
    let mut text = String::new();
    for used in programs {
        let command = match used.command.as_str() {
            "" => "unknown",
            command => command,
        };
        let refused = &used.refused;
        let _ = write!(
            text,
            "  {command:<16} process {:<8}{:>8} pages lent, {} requests refused",
            used.process,
            used.lent_pages,
            refused.total()
        );
        let reasons = [
            ("exhausted", refused.exhausted),
            ("over quota", refused.quota),
            ("larger than the pool", refused.too_large),
            ("other", refused.other),
        ];
        let reasons = reasons.into_iter().filter(|(_, count)| *count > 0);
        let reasons: Vec<String> = reasons
            .map(|(why, count)| format!("{count} {why}"))
            .collect();
        if !reasons.is_empty() {
            let _ = write!(
                text,
                " ({} pages: {})",
                used.refused_pages,
                reasons.join(", ")
            );
        }
        text += if used.is_connected { "\n" } else { ", ended\n" };
    }
    text
}

fn table(status: &Status) -> String {
    let pages = &status.pages;
    let rows = [
        ("clean", pages.clean),
        ("being cleared", pages.zeroing),
        ("to be cleared", pages.dirty),
        ("lent", pages.lent),
        ("returned, still held", pages.returned),
    ];
    let mut text = format!(
        "pages of {} MiB, engine {}\n",
        status.page_bytes >> 20,
        status.engine
    );
    // Writing to a string cannot fail.
    for (what, count) in rows {
        let _ = writeln!(text, "  {what:<22}{count:>8}");
    }
    let _ = writeln!(
        text,
        "{} leases, {} connections, {} waiting",
        status.leases, status.connections, status.waiting
    );
    text += &programs(&status.programs);
    for user in &status.users {
        let _ = writeln!(text, "  user {:<17}{:>8}", user.user, user.pages);
    }
    text
}
