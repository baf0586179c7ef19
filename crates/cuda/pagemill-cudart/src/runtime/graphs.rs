//! Graphs of work by their handles, and streams that note their work instead of doing it.

use std::collections::{BTreeMap, BTreeSet};

use super::Runtime;
use super::launches::Launch;
use super::moments::Moment;
use super::streams::StreamId;
use super::work::{Graph, Node, Step, Work};
use crate::error::{CudaError, Fault};

/// Set in handles of graphs, their nodes and executable graphs, and in no address.
const HANDLE_TAG: u64 = 0x6e << 56;

/// What a stream has noted so far.
#[derive(Clone, Debug)]
struct Capture {
    graph: u64,
    /// What its next work waits for.
    last: BTreeSet<u64>,
    /// Whether the capture began with this stream.
    is_origin: bool,
    /// Whether the graph was made for it.
    is_new: bool,
}

/// All graphs, and the streams that make some.
#[derive(Debug, Default)]
pub struct Graphs {
    pub(super) graphs: BTreeMap<u64, Graph>,
    executables: BTreeMap<u64, Vec<Step>>,
    /// Handles of conditional nodes, with the value that they have at each launch.
    pub(super) conditionals: BTreeMap<u64, Option<u32>>,
    captures: BTreeMap<StreamId, Capture>,
    /// Events that were recorded while their stream noted its work.
    events: BTreeMap<u64, Capture>,
    made: u64,
}

impl Graphs {
    pub(super) fn handle(&mut self) -> u64 {
        self.made += 1;
        HANDLE_TAG | self.made
    }

    /// The graph of a handle.
    ///
    /// # Errors
    /// If there is none.
    pub fn graph(&mut self, graph: u64) -> Result<&mut Graph, Fault> {
        self.graphs
            .get_mut(&graph)
            .ok_or_else(|| unknown("graph", graph))
    }

    fn check_nodes(&mut self, graph: u64, wanted: &[u64]) -> Result<(), Fault> {
        let nodes = &self.graph(graph)?.nodes;
        let missing = wanted.iter().find(|node| !nodes.contains_key(node));
        missing.map_or(Ok(()), |node| Err(unknown("node of this graph", *node)))
    }

    fn node(&mut self, node: u64) -> Result<&mut Node, Fault> {
        let mut graphs = self.graphs.values_mut();
        let found = graphs.find_map(|graph| graph.nodes.get_mut(&node));
        found.ok_or_else(|| unknown("node of a graph", node))
    }

    /// The steps of a graph with those of the bodies of its conditional nodes.
    fn steps_of(&self, graph: u64) -> Result<Vec<Step>, Fault> {
        let mut steps = self.with_moved(graph)?.order().ok_or_else(|| {
            Fault::invalid("the nodes of the graph wait for each other in a circle")
        })?;
        for step in &mut steps {
            if let Work::Conditional(node) = &mut step.work {
                let bodies = node.graphs.iter().map(|&body| self.steps_of(body));
                node.bodies = bodies.collect::<Result<_, _>>()?;
            }
        }
        Ok(steps)
    }

    /// The steps of an executable graph.
    ///
    /// # Errors
    /// If there is none.
    pub fn steps(&mut self, executable: u64) -> Result<&mut Vec<Step>, Fault> {
        let found = self.executables.get_mut(&executable);
        found.ok_or_else(|| unknown("executable graph", executable))
    }

    /// Makes an empty graph.
    pub fn create_graph(&mut self) -> u64 {
        let graph = self.handle();
        self.graphs.insert(graph, Graph::default());
        graph
    }

    /// A copy of a graph, whose nodes have handles of their own.
    ///
    /// # Errors
    /// If there is no such graph.
    pub fn clone_graph(&mut self, graph: u64) -> Result<u64, Fault> {
        let original = self.with_moved(graph)?;
        let handles: BTreeMap<u64, u64> = original
            .nodes
            .keys()
            .map(|&node| (node, self.handle()))
            .collect();
        let renamed = original.nodes.into_iter().map(|(id, node)| {
            let after = node.after.iter().map(|earlier| handles[earlier]).collect();
            let work = node.work;
            (handles[&id], Node { work, after })
        });
        let mut nodes: BTreeMap<u64, Node> = renamed.collect();
        for node in nodes.values_mut() {
            match &mut node.work {
                Work::Conditional(own) => {
                    for body in &mut own.graphs {
                        *body = self.clone_graph(*body)?;
                    }
                }
                Work::Child(_, owner) => *owner = None,
                _ => {}
            }
        }
        let copy = self.handle();
        self.graphs.insert(copy, Graph { nodes });
        Ok(copy)
    }

    /// Forgets a graph; what was made executable stays.
    ///
    /// # Errors
    /// If there is no such graph.
    pub fn destroy_graph(&mut self, graph: u64) -> Result<(), Fault> {
        let gone = self.graphs.remove(&graph);
        let gone = gone.ok_or_else(|| unknown("graph", graph))?;
        let owned = |node: &Node| node.work.owned_graphs();
        for own in gone.nodes.values().flat_map(owned) {
            self.destroy_graph(own)?;
        }
        Ok(())
    }

    /// A graph as the work of a node: as it is now, or from now on where it is moved there.
    ///
    /// # Errors
    /// If there is none, or it has conditional nodes, which a child cannot have.
    pub fn child_work(&mut self, graph: u64, is_moved: bool) -> Result<Work, Fault> {
        let child = self.with_moved(graph)?;
        let is_conditional = |node: &Node| matches!(node.work, Work::Conditional(_));
        if child.nodes.values().any(is_conditional) {
            let message = "a graph with conditional nodes cannot be a node of another graph";
            return Err(Fault::invalid(message));
        }
        Ok(Work::Child(child, is_moved.then_some(graph)))
    }

    /// Adds a node that waits for the nodes `after` of the same graph.
    ///
    /// # Errors
    /// If there is no such graph, or no such node in it.
    pub fn add_node(&mut self, graph: u64, after: &[u64], work: Work) -> Result<u64, Fault> {
        self.check_nodes(graph, after)?;
        let node = self.handle();
        let after = after.iter().copied().collect();
        let nodes = &mut self.graph(graph)?.nodes;
        nodes.insert(node, Node { work, after });
        Ok(node)
    }

    /// Makes node `to` wait for node `from`.
    ///
    /// # Errors
    /// If one of them is not in the graph.
    pub fn add_dependency(&mut self, graph: u64, from: u64, to: u64) -> Result<(), Fault> {
        let nodes = &mut self.graph(graph)?.nodes;
        if !nodes.contains_key(&from) {
            return Err(unknown("node of this graph", from));
        }
        let node = nodes
            .get_mut(&to)
            .ok_or_else(|| unknown("node of this graph", to))?;
        node.after.insert(from);
        Ok(())
    }

    /// The nodes of a graph, or only those that wait for nothing.
    ///
    /// # Errors
    /// If there is no such graph.
    pub fn nodes(&mut self, graph: u64, only_roots: bool) -> Result<Vec<u64>, Fault> {
        let nodes = self.graph(graph)?.nodes.iter();
        let wanted = nodes.filter(|(_, node)| !only_roots || node.after.is_empty());
        Ok(wanted.map(|(&id, _)| id).collect())
    }

    /// What a node does.
    ///
    /// # Errors
    /// If there is no such node.
    pub fn node_work(&mut self, node: u64) -> Result<&mut Work, Fault> {
        Ok(&mut self.node(node)?.work)
    }

    /// What a node waits for.
    ///
    /// # Errors
    /// If there is no such node.
    pub fn dependencies(&mut self, node: u64) -> Result<Vec<u64>, Fault> {
        Ok(self.node(node)?.after.iter().copied().collect())
    }

    /// Makes the next work of a captured stream wait for `nodes` too, or for them alone.
    ///
    /// # Errors
    /// If the stream is not captured, or one of the nodes is not in its graph.
    pub fn set_capture_end(
        &mut self,
        stream: StreamId,
        nodes: &[u64],
        alone: bool,
    ) -> Result<(), Fault> {
        let Some((graph, _)) = self.capture_of(stream) else {
            let message = "the stream is not captured";
            return Err(Fault::new(CudaError::ILLEGAL_STATE, message));
        };
        self.check_nodes(graph, nodes)?;
        if let Some(capture) = self.captures.get_mut(&stream) {
            if alone {
                capture.last.clear();
            }
            capture.last.extend(nodes);
        }
        Ok(())
    }

    /// Makes a graph executable as it is now.
    ///
    /// # Errors
    /// If there is no such graph, or its nodes wait for each other in a circle.
    pub fn instantiate(&mut self, graph: u64) -> Result<u64, Fault> {
        let steps = self.steps_of(graph)?;
        let executable = self.handle();
        self.executables.insert(executable, steps);
        Ok(executable)
    }

    /// Gives an executable graph the parameters of another graph of the same shape; whether it has that shape.
    ///
    /// # Errors
    /// If there is no such executable graph or graph.
    pub fn update_executable(&mut self, executable: u64, graph: u64) -> Result<bool, Fault> {
        let new = self.steps_of(graph)?;
        let steps = self.steps(executable)?;
        let alike = |(old, new): (&Step, &Step)| {
            old.work.node_type() == new.work.node_type() && old.after == new.after
        };
        let fits = steps.len() == new.len() && steps.iter().zip(&new).all(alike);
        if fits {
            for (old, new) in steps.iter_mut().zip(new) {
                old.work = new.work;
            }
        }
        Ok(fits)
    }

    /// Forgets an executable graph.
    ///
    /// # Errors
    /// If there is none.
    pub fn destroy_executable(&mut self, executable: u64) -> Result<(), Fault> {
        let gone = self.executables.remove(&executable);
        gone.map(|_| ())
            .ok_or_else(|| unknown("executable graph", executable))
    }

    /// Whether `stream` notes its work instead of doing it.
    pub fn is_capturing(&self, stream: StreamId) -> bool {
        self.captures.contains_key(&stream)
    }

    /// An error if `stream` notes its work, as `what` needs the work done.
    ///
    /// # Errors
    /// That one.
    pub fn not_while_capturing(&self, stream: StreamId, what: &str) -> Result<(), Fault> {
        if self.is_capturing(stream) {
            let message = format!("{what} is not possible in a stream that is captured");
            return Err(Fault::new(CudaError::STREAM_CAPTURE_UNSUPPORTED, message));
        }
        if stream.is_legacy() && !self.captures.is_empty() {
            let message =
                format!("{what} in the default stream waits for a stream that is captured");
            return Err(Fault::new(CudaError::STREAM_CAPTURE_IMPLICIT, message));
        }
        Ok(())
    }

    fn start_capture(&mut self, stream: StreamId, graph: u64, after: &[u64], is_new: bool) {
        let capture = Capture {
            graph,
            last: after.iter().copied().collect(),
            is_origin: true,
            is_new,
        };
        self.captures.insert(stream, capture);
    }

    /// The graph that `stream` makes, and what its next node will wait for.
    pub fn capture_of(&self, stream: StreamId) -> Option<(u64, Vec<u64>)> {
        let capture = self.captures.get(&stream)?;
        Some((capture.graph, capture.last.iter().copied().collect()))
    }

    /// Notes `work` in the graph of a stream that is captured.
    ///
    /// # Errors
    /// If it is not.
    pub fn note(&mut self, stream: StreamId, work: Work) -> Result<(), Fault> {
        let Some((graph, after)) = self.capture_of(stream) else {
            let message = "the stream is not captured";
            return Err(Fault::new(CudaError::STREAM_CAPTURE_UNMATCHED, message));
        };
        let node = self.add_node(graph, &after, work)?;
        if let Some(capture) = self.captures.get_mut(&stream) {
            capture.last = BTreeSet::from([node]);
        }
        Ok(())
    }

    /// In a captured stream, an event stands for what was noted so far; whether it is one.
    pub(super) fn note_event(&mut self, event: u64, stream: StreamId) -> bool {
        match self.captures.get(&stream) {
            Some(capture) => {
                let noted = Capture {
                    is_origin: false,
                    ..capture.clone()
                };
                self.events.insert(event, noted);
                true
            }
            None => {
                self.events.remove(&event);
                false
            }
        }
    }

    /// A stream that waits for an event of a captured stream is captured with it; whether it is such an event.
    pub(super) fn join_capture(&mut self, stream: StreamId, event: u64) -> bool {
        let Some(noted) = self.events.get(&event).cloned() else {
            return false;
        };
        match self.captures.get_mut(&stream) {
            Some(capture) => capture.last.extend(noted.last),
            None => {
                self.captures.insert(stream, noted);
            }
        }
        true
    }

    /// Ends a capture where it began, and returns its graph.
    ///
    /// # Errors
    /// If it did not begin there, or another stream of it has work that nothing of this stream waits for.
    pub fn end_capture(&mut self, stream: StreamId) -> Result<u64, Fault> {
        let found = self.captures.get(&stream);
        let Some(Capture {
            graph,
            last,
            is_new,
            ..
        }) = found.filter(|own| own.is_origin).cloned()
        else {
            let message = "no capture began in this stream";
            return Err(Fault::new(CudaError::STREAM_CAPTURE_UNMATCHED, message));
        };
        let mut reached = last;
        let mut open: Vec<u64> = reached.iter().copied().collect();
        while let Some(node) = open.pop() {
            for earlier in self.dependencies(node)? {
                if reached.insert(earlier) {
                    open.push(earlier);
                }
            }
        }
        let others = self.captures.values();
        let is_joined = others
            .filter(|other| other.graph == graph)
            .all(|other| other.last.is_subset(&reached));
        self.captures.retain(|_, other| other.graph != graph);
        self.events.retain(|_, event| event.graph != graph);
        if is_joined {
            return Ok(graph);
        }
        if is_new {
            self.graphs.remove(&graph);
        }
        let message = "another stream of the capture has work that the first one does not wait for";
        Err(Fault::new(CudaError::STREAM_CAPTURE_UNJOINED, message))
    }
}

impl Runtime {
    /// Lets blocks of a kernel node wait for each other, and gives it clusters, as `change` says.
    ///
    /// # Errors
    /// If there is no such node, it is of another type, or the launch is not possible.
    pub fn change_launch(
        &mut self,
        node: u64,
        change: impl FnOnce(&mut Launch),
    ) -> Result<(), Fault> {
        let Work::Kernel(key, mut launch, _) = *self.graphs.node_work(node)? else {
            return Err(other_type(node));
        };
        change(&mut launch);
        self.kernels()
            .prepare(key, &launch, |_, _| Ok(Vec::new()))?;
        if let Work::Kernel(_, own, _) = self.graphs.node_work(node)? {
            *own = launch;
        }
        Ok(())
    }

    /// Does `work` from `from` on in a stream of its own; returns when it is done.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn do_step(
        &mut self,
        from: Moment,
        work: impl FnOnce(&mut Self, StreamId) -> Result<(), Fault>,
    ) -> Result<Moment, Fault> {
        let lane = self.streams.lane(from);
        work(self, lane)?;
        self.streams.start(lane)
    }

    /// From now on, `stream` notes its work in a new graph.
    ///
    /// # Errors
    /// If it is the default stream, there is none such, or it does so already.
    pub fn begin_capture(&mut self, stream: StreamId) -> Result<(), Fault> {
        self.check_capture(stream)?;
        let graph = self.graphs.create_graph();
        self.graphs.start_capture(stream, graph, &[], true);
        Ok(())
    }

    /// The same, in a graph that is there, behind the nodes `after` of it.
    ///
    /// # Errors
    /// As [`Runtime::begin_capture`]; if there is no such graph, or no such node in it.
    pub fn begin_capture_to(
        &mut self,
        stream: StreamId,
        graph: u64,
        after: &[u64],
    ) -> Result<(), Fault> {
        self.check_capture(stream)?;
        self.graphs.check_nodes(graph, after)?;
        self.graphs.start_capture(stream, graph, after, false);
        Ok(())
    }

    fn check_capture(&self, stream: StreamId) -> Result<(), Fault> {
        self.streams.is_non_blocking(stream)?;
        if stream.is_legacy() || self.graphs.is_capturing(stream) {
            let message =
                "the default stream, and one that is captured already, cannot be captured";
            return Err(Fault::new(CudaError::STREAM_CAPTURE_UNSUPPORTED, message));
        }
        Ok(())
    }
}

pub(super) fn unknown(what: &str, handle: u64) -> Fault {
    Fault::invalid(format!("{handle:#x} is no {what}"))
}

/// Node `node` has no such parameters.
fn other_type(node: u64) -> Fault {
    Fault::invalid(format!("node {node:#x} is of another type"))
}
