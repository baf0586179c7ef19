//! Conditional nodes of graphs: handles whose values kernels set, and bodies that run by them.

use super::Runtime;
use super::graphs::{Step, Work, unknown};
use crate::error::{CudaError, Fault};

/// How the value of a handle chooses among bodies (`cudaGraphConditionalNodeType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The first if the value is not 0, else the second, if there is one.
    If,
    /// The first, again and again, while the value is not 0.
    While,
    /// The one whose number is the value.
    Switch,
}

impl Choice {
    /// The choice of a number, for so many bodies.
    ///
    /// # Errors
    /// If there is no such choice, or it cannot have so many bodies.
    pub fn new(number: i32, bodies: u32) -> Result<Self, Fault> {
        match (number, bodies) {
            (0, 1 | 2) => Ok(Self::If),
            (1, 1) => Ok(Self::While),
            (2, 1..=BODIES_MAX) => Ok(Self::Switch),
            _ => {
                let message =
                    format!("a conditional node of type {number} cannot have {bodies} bodies");
                Err(Fault::new(CudaError::INVALID_VALUE, message))
            }
        }
    }

    /// The body that runs at `value`, if there are `bodies`.
    fn body(self, value: u32, bodies: usize) -> Option<usize> {
        let body = match self {
            Self::If => usize::from(value == 0),
            Self::While if value == 0 => return None,
            Self::While => 0,
            Self::Switch => value as usize,
        };
        (body < bodies).then_some(body)
    }
}

/// Bodies of a node: more are hardly meant.
const BODIES_MAX: u32 = 1 << 16;

/// A conditional node.
#[derive(Clone, Debug)]
pub struct Conditional {
    handle: u64,
    choice: Choice,
    /// The graphs of its bodies.
    pub(super) graphs: Vec<u64>,
    /// Their steps, once the graph that it is in was made executable.
    pub(super) bodies: Vec<Vec<Step>>,
}

impl Conditional {
    /// Whether its body runs until the value is 0.
    pub fn repeats(&self) -> bool {
        self.choice == Choice::While
    }

    /// Whether something in its first body can change a value.
    pub fn may_end(&self) -> bool {
        fn sets(steps: &[Step]) -> bool {
            steps.iter().any(|step| match &step.work {
                Work::Kernel(..) => true,
                Work::Conditional(inner) => inner.bodies.iter().any(|body| sets(body)),
                _ => false,
            })
        }
        self.bodies.first().is_some_and(|body| sets(body))
    }
}

impl Runtime {
    /// Makes a handle for a conditional node of `graph`. Its value is `initial` at each launch; without, it stays as it was.
    ///
    /// # Errors
    /// If there is no such graph.
    pub fn create_conditional(&mut self, graph: u64, initial: Option<u32>) -> Result<u64, Fault> {
        self.graph(graph)?;
        let handle = self.graphs.handle();
        self.graphs.conditionals.insert(handle, initial);
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
        if !self.graphs.conditionals.contains_key(&handle) {
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
    pub fn begin_conditionals(&mut self, steps: &[Step]) {
        for step in steps {
            let Work::Conditional(node) = &step.work else {
                continue;
            };
            if let Some(Some(initial)) = self.graphs.conditionals.get(&node.handle) {
                self.gpu.set_conditional(node.handle, *initial);
            }
            for body in &node.bodies {
                self.begin_conditionals(body);
            }
        }
    }

    /// The body of a node that runs now.
    pub fn chosen_body(&self, node: &Conditional) -> Option<Vec<Step>> {
        let value = self.gpu.conditional(node.handle);
        let body = node.choice.body(value, node.bodies.len())?;
        node.bodies.get(body).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::Choice;

    #[test]
    fn values_choose_bodies() {
        let cases = [
            (Choice::If, 2, [Some(1), Some(0), Some(0)]),
            (Choice::If, 1, [None, Some(0), Some(0)]),
            (Choice::While, 1, [None, Some(0), Some(0)]),
            (Choice::Switch, 2, [Some(0), Some(1), None]),
        ];
        for (choice, bodies, wanted) in cases {
            let found = [0, 1, 2].map(|value| choice.body(value, bodies));
            assert_eq!(found, wanted, "{choice:?} of {bodies}");
        }
    }
}
