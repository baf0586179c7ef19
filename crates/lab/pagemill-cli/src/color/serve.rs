use std::time::Duration;

use pagemill_color::{Coordinator, CoordinatorConfig};
use pagemill_linux::resctrl::{Mounted, remove_abandoned};
use pagemill_policy::coloring::quota::QUOTA_POLICIES;

use super::arguments::ServeArguments;
use super::backend::colors;
use super::socket;
use crate::daemon::{Signals, make_folder_of, socket_mode};
use crate::failure::Failure;

pub fn serve(arguments: &ServeArguments) -> Result<(), Failure> {
    let config = config(arguments)?;
    let signals = Signals::hear()?;
    make_folder_of(&config.socket)?;
    let mut coordinator = Coordinator::new(&config).map_err(failed)?;
    let tree = Mounted::at(&arguments.resctrl);
    // Where there is no resctrl, no group is left behind.
    let clean = move || drop(remove_abandoned(&tree));
    clean();
    coordinator.after_leave(clean);
    signals.end(coordinator.stopper());
    eprintln!(
        "dividing {} colors at {}, policy {}",
        config.colors,
        config.socket.display(),
        config.policy.name
    );
    coordinator.run().map_err(failed)
}

fn failed(error: impl std::fmt::Display) -> Failure {
    Failure::Run(error.to_string())
}

fn config(arguments: &ServeArguments) -> Result<CoordinatorConfig, Failure> {
    let policy = QUOTA_POLICIES
        .find(&arguments.policy)
        .map_err(|error| Failure::Usage(error.to_string()))?;
    let colors = match arguments.colors {
        Some(colors) => colors.get(),
        None => colors(arguments.backend, &arguments.resctrl)?,
    };
    Ok(CoordinatorConfig {
        socket: socket(&arguments.socket),
        socket_mode: socket_mode(&arguments.socket_mode)?,
        colors,
        policy,
        grace: Duration::from_millis(arguments.grace_ms.into()),
        settle: Duration::from_millis(arguments.settle_ms.into()),
    })
}
