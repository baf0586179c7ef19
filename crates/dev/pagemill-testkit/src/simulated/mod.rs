//! A simulated world for daemons that are made of a [`pagemill_linux::server::Server`]: a clock that jumps, connections whose
//! messages are late, clients that a test describes, kills. The same seed gives the same run.

mod network;
mod port;
mod random;
mod seeds;

pub use network::{Network, Times};
pub use port::{Channel, SimulatedPort, World};
pub use random::Random;
pub use seeds::{holds_for_every_seed, is_found};
