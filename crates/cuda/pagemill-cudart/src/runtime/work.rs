//! Graphs of work: what is in a node, what waits for what, and in which order it runs.

use std::collections::{BTreeMap, BTreeSet};

use super::copies::{Copy3d, Extent, Span};
use super::images::FunctionKey;
use super::launches::Launch;
use crate::error::Fault;

/// Something that a stream does in its turn.
#[derive(Clone, Debug)]
pub enum Work {
    /// A kernel, with the block of its arguments.
    Kernel(FunctionKey, Launch, Vec<u8>),
    /// A copy of a kind (`cudaMemcpyKind`).
    Copy(Copy3d, i32),
    /// Filling with an element, whose bytes are these.
    Fill(Span, Extent, Vec<u8>),
    /// A function of the host with its argument, as addresses.
    Host(u64, u64),
    /// Another graph, with its handle if it was moved here: its nodes are known by their handles then.
    Child(Graph, Option<u64>),
    /// Nothing.
    Empty,
    /// Waiting for an event.
    Wait(u64),
    /// Recording an event.
    Record(u64),
    /// Allocating memory at an address that is reserved for it.
    Allocate {
        /// That address.
        address: u64,
        /// How much.
        bytes: u64,
    },
    /// Freeing the memory that begins at an address.
    Free(u64),
    /// Graphs of which kernels choose.
    Conditional(Conditional),
}

impl Work {
    /// The graphs that go with it: bodies, and a graph that was moved here.
    pub(super) fn owned_graphs(&self) -> Vec<u64> {
        match self {
            Self::Conditional(own) => own.graphs.clone(),
            Self::Child(_, owner) => owner.iter().copied().collect(),
            _ => Vec::new(),
        }
    }

    /// Its `cudaGraphNodeType`.
    pub fn node_type(&self) -> i32 {
        match self {
            Self::Kernel(..) => 0,
            Self::Copy(..) => 1,
            Self::Fill(..) => 2,
            Self::Host(..) => 3,
            Self::Child(..) => 4,
            Self::Empty => 5,
            Self::Wait(_) => 6,
            Self::Record(_) => 7,
            Self::Allocate { .. } => 10,
            Self::Free(_) => 11,
            Self::Conditional(_) => 13,
        }
    }

    /// Does what `new` says from now on, if that is of the same type. A kernel keeps what is an attribute, not a parameter.
    pub(crate) fn replace(&mut self, mut new: Self) -> bool {
        if let (Self::Kernel(_, old, _), Self::Kernel(_, launch, _)) = (&*self, &mut new) {
            launch.cooperative = old.cooperative;
            launch.cluster = old.cluster;
        }
        let fits = self.node_type() == new.node_type();
        if fits {
            *self = new;
        }
        fits
    }
}

/// Nodes and what each of them waits for.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub(super) nodes: BTreeMap<u64, Node>,
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) work: Work,
    pub(super) after: BTreeSet<u64>,
}

/// A piece of work, and the earlier ones that it waits for, by their place in the order.
#[derive(Clone, Debug)]
pub struct Step {
    /// The node of the graph; `None` where a child graph ends.
    pub node: Option<u64>,
    /// What it does.
    pub work: Work,
    /// What it waits for.
    pub after: Vec<usize>,
}

impl Graph {
    /// Its nodes, each behind all that it waits for, those of child graphs in the place of theirs; `None` for a circle.
    pub(super) fn order(&self) -> Option<Vec<Step>> {
        let mut steps: Vec<Step> = Vec::new();
        // Where the end of each node is.
        let mut ends: BTreeMap<u64, usize> = BTreeMap::new();
        while ends.len() < self.nodes.len() {
            let before = ends.len();
            for (&id, node) in &self.nodes {
                let ready = node.after.iter().all(|earlier| ends.contains_key(earlier));
                if ends.contains_key(&id) || !ready {
                    continue;
                }
                let after: Vec<usize> = node.after.iter().map(|earlier| ends[earlier]).collect();
                match &node.work {
                    Work::Child(child, owner) => {
                        insert_child(&mut steps, child.order()?, after, owner.is_some());
                    }
                    work => steps.push(Step {
                        node: Some(id),
                        work: work.clone(),
                        after,
                    }),
                }
                ends.insert(id, steps.len() - 1);
            }
            if ends.len() == before {
                return None;
            }
        }
        Some(steps)
    }
}

/// The step that was made from `node`, among `steps` and those of the bodies of conditional nodes.
pub fn step_of(steps: &mut [Step], node: u64) -> Option<&mut Step> {
    steps.iter_mut().find_map(|step| {
        if step.node == Some(node) {
            return Some(step);
        }
        let Work::Conditional(own) = &mut step.work else {
            return None;
        };
        let mut bodies = own.bodies.iter_mut();
        bodies.find_map(|body| step_of(body, node))
    })
}

/// Appends a child graph that waits for `after`, and an empty step at its end.
fn insert_child(steps: &mut Vec<Step>, child: Vec<Step>, after: Vec<usize>, is_moved: bool) {
    let base = steps.len();
    let count = child.len();
    for mut step in child {
        if step.after.is_empty() {
            step.after.clone_from(&after);
        } else {
            step.after.iter_mut().for_each(|earlier| *earlier += base);
        }
        step.node = step.node.filter(|_| is_moved);
        steps.push(step);
    }
    steps.push(Step {
        node: None,
        work: Work::Empty,
        after: if count == 0 {
            after
        } else {
            (base..base + count).collect()
        },
    });
}

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
            _ => Err(Fault::invalid(format!(
                "a conditional node of type {number} cannot have {bodies} bodies"
            ))),
        }
    }

    /// The body that runs at `value`, if there are `bodies`.
    pub(super) fn body(self, value: u32, bodies: usize) -> Option<usize> {
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
    pub(super) handle: u64,
    pub(super) choice: Choice,
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

#[cfg(test)]
mod tests;
