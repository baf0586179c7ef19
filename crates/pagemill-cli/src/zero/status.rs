use std::fmt::Write;

use pagemill_zero_client::protocol::Status;
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
    for user in &status.users {
        let _ = writeln!(text, "  user {:<17}{:>8}", user.user, user.pages);
    }
    text
}
