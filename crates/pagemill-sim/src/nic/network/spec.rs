use pagemill_policy::routing::{Routing, Topology, TopologySpec};
use pagemill_types::{Bandwidth, Picos};

use crate::SpecError;

/// A network of switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkSpec {
    /// How the switches are linked.
    pub topology: TopologySpec,
    /// Who picks the route of a transfer.
    pub routing: Routing,
    /// Rate of a link between switches after line coding; links to nodes have the wire's.
    pub bandwidth: Bandwidth,
    /// Cable between two switches.
    pub cable_latency: Picos,
    /// Bytes of a transfer that pass a link without a break.
    pub part_bytes: u32,
}

impl NetworkSpec {
    /// The topology.
    ///
    /// # Errors
    /// A value of it is impossible.
    pub fn build(&self) -> Result<Box<dyn Topology>, SpecError> {
        self.topology.build().map_err(|error| {
            SpecError::new(format!("network.{}", error.key), error.value, error.allowed)
        })
    }
}
