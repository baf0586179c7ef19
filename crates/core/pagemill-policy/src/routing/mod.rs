//! Which way a message takes through a network of switches.
//!
//! A [`Topology`] lists the links of a network and the routes between two nodes; a [`Routing`] picks one of them. Both are
//! pure: how busy a link is, the simulator says when it asks.
//!
//! ```
//! use pagemill_policy::routing::{Flow, Routing, TopologySpec};
//!
//! // 4 leaf switches with 4 nodes each under 4 spines.
//! let spec = TopologySpec::FatTree { children: vec![4, 4], parents: vec![1, 4] };
//! let network = spec.build()?;
//! assert_eq!(network.nodes(), 16);
//!
//! let flow = Flow { from: 0, to: 13, number: 0 };
//! let route = Routing::Static.choose(network.as_ref(), flow, |_| 0, 1);
//! assert_eq!(route.len(), 3, "up, down, and to the node");
//! assert_eq!(route.last(), Some(&13), "link n leads to node n");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod choose;
mod dragonfly;
mod fat_tree;
mod spec;
mod torus;

pub use choose::{Flow, ROUTINGS, Routing, RoutingEntry};
pub use spec::{TopologyError, TopologySpec};

/// The switches and links of a network, and the routes between its nodes.
///
/// Links are numbered from 0 and have one direction; link `n`, for each node `n`, leads from its switch to it. The link from a
/// node to its switch belongs to the node's interface and is not listed.
pub trait Topology: Send + Sync + std::fmt::Debug {
    /// Nodes, numbered from 0.
    fn nodes(&self) -> u32;

    /// Links, those to the nodes included.
    fn links(&self) -> u32;

    /// Shortest routes from `from` to `to`, at least one: choices `0..minimal`.
    fn minimal(&self, from: u32, to: u32) -> u32;

    /// Detours from `from` to `to`: choices `minimal..minimal + detours`.
    fn detours(&self, from: u32, to: u32) -> u32;

    /// Appends the links of route `choice` from `from` to `to`, in order; the last is link `to`.
    fn route(&self, from: u32, to: u32, choice: u32, links: &mut Vec<u32>);
}
