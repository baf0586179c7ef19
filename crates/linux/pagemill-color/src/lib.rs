//! Cache colors for programs that run: who has which, and whether this machine's pages have colors at all.
//!
//! ```text
//! color run: program under pagemill-color-preload ── space of the module
//!              └─ holder (hold): owns the space, hands it to the program's processes, changes its colors
//!                    │  socket, one JSON object a message (protocol)
//!            coordinator (serve): knows the holders, decides by pagemill_policy::coloring
//! ```
//!
//! [`probe`] finds out by timing whether pages have colors, and whether they follow from physical addresses.
#![forbid(unsafe_code)]

mod coordinator;
mod holder;
mod link;
pub mod probe;
pub mod protocol;
mod resctrl;
mod space;
mod task_table;

use std::path::PathBuf;

pub use coordinator::{Coordinator, CoordinatorConfig};
pub use holder::{HoldError, Holder, HolderConfig};
pub use link::{AskError, status};
pub use resctrl::{ResctrlSpace, way_palette};
pub use space::{ColorSpace, ModuleSpace, StandInSpace};
pub use task_table::{Task, TaskTable};

/// Names the coordinator's socket.
pub const SOCKET_VARIABLE: &str = "PAGEMILL_COLOR_SOCKET";

/// Where the coordinator listens unless told otherwise.
pub const DEFAULT_SOCKET: &str = "/run/pagemill/color.sock";

/// Names the socket at which a task's processes get their space.
pub const TASK_VARIABLE: &str = "PAGEMILL_COLOR_TASK";

/// The coordinator's socket as `PAGEMILL_COLOR_SOCKET` has it, else the usual one.
pub fn socket_path() -> PathBuf {
    std::env::var_os(SOCKET_VARIABLE).map_or_else(|| PathBuf::from(DEFAULT_SOCKET), PathBuf::from)
}
