//! Conditional nodes of graphs: handles whose values kernels set, and bodies that run by them.

use super::device::Device;
use super::graphs::{Graphs, unknown};
use super::work::{Choice, Conditional, Step, Work};
use crate::error::Fault;
use pagemill_sim::Gpu;

impl Graphs {
    /// Makes a handle for a conditional node of `graph`. Its value is `initial` at each launch; without, it stays as it was.
    ///
    /// # Errors
    /// If there is no such graph.
    pub fn create_conditional(&mut self, graph: u64, initial: Option<u32>) -> Result<u64, Fault> {
        self.graph(graph)?;
        let handle = self.handle();
        self.conditionals.insert(handle, initial);
        Ok(handle)
    }

    /// Adds a conditional node with `bodies` empty graphs; returns the node and the graphs.
    ///
    /// # Errors
    /// If there is no such handle or graph, or no such node in it.
    pub fn add_conditional_node(
        &mut self,
        graph: u64,
        after: &[u64],
        (handle, choice): (u64, Choice),
        bodies: u32,
    ) -> Result<(u64, Vec<u64>), Fault> {
        if !self.conditionals.contains_key(&handle) {
            return Err(unknown("handle of a conditional node", handle));
        }
        let graphs: Vec<u64> = (0..bodies).map(|_| self.create_graph()).collect();
        let work = Work::Conditional(Conditional {
            handle,
            choice,
            graphs: graphs.clone(),
            bodies: Vec::new(),
        });
        let node = self.add_node(graph, after, work)?;
        Ok((node, graphs))
    }

    /// Gives the handles of all conditional nodes in `steps` their initial values.
    pub fn begin_conditionals(&self, gpu: &mut Gpu, steps: &[Step]) {
        for step in steps {
            let Work::Conditional(node) = &step.work else {
                continue;
            };
            if let Some(Some(initial)) = self.conditionals.get(&node.handle) {
                gpu.set_conditional(node.handle, *initial);
            }
            for body in &node.bodies {
                self.begin_conditionals(gpu, body);
            }
        }
    }
}

impl Device {
    /// The body of a node that runs now.
    pub fn chosen_body(&self, node: &Conditional) -> Option<Vec<Step>> {
        let value = self.gpu.conditional(node.handle);
        let body = node.choice.body(value, node.bodies.len())?;
        node.bodies.get(body).cloned()
    }
}
