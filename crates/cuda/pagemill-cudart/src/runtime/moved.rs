//! Graphs that were moved into a node of another: later changes of their nodes are seen there.

use super::graphs::{Graphs, unknown};
use super::work::{Graph, Work};
use crate::error::Fault;

impl Graphs {
    /// A graph, with those that were moved into it as they are now.
    ///
    /// # Errors
    /// If there is none, or it was moved into itself.
    pub(super) fn with_moved(&self, graph: u64) -> Result<Graph, Fault> {
        self.with_moved_within(graph, &mut Vec::new())
    }

    fn with_moved_within(&self, graph: u64, outer: &mut Vec<u64>) -> Result<Graph, Fault> {
        if outer.contains(&graph) {
            let message = format!("graph {graph:#x} was moved into itself");
            return Err(Fault::invalid(message));
        }
        let found = self.graphs.get(&graph);
        let mut copy = found.ok_or_else(|| unknown("graph", graph))?.clone();
        outer.push(graph);
        for node in copy.nodes.values_mut() {
            if let Work::Child(child, Some(owner)) = &mut node.work {
                *child = self.with_moved_within(*owner, outer)?;
            }
        }
        outer.pop();
        Ok(copy)
    }
}
