//! A simulated world for daemons that are made of a [`pagemill_linux::server::Server`]: a clock that jumps, connections whose
//! messages are late, clients that a test describes, kills. The same seed gives the same run.

mod network;
mod port;
mod random;

pub use network::{Network, Times};
pub use port::{Channel, SimulatedPort, World};
pub use random::Random;
