//! Breadth-first search on a random undirected graph: sparse, data-dependent, many short launches.

use pagemill_sim::{Arg, Buffer, Host, ModuleId};

use crate::check::Check;
use crate::host::{download, download_results, input, upload};
use crate::parameter::{READ_RESULTS, SEED};
use crate::random::Random;
use crate::words::{fill, get, set, words};
use crate::{Checked, Parameter, ParameterError, Values, Workload, WorkloadError, WorkloadInfo};

const NAME: &str = "bfs";
const THREADS_PER_BLOCK: u32 = 256;
const SOURCE: u32 = 0;
const UNREACHED: i32 = -1;

pub(crate) const INFO: WorkloadInfo = WorkloadInfo {
    name: NAME,
    summary: "breadth-first search on a random graph: sparse and data-dependent, two launches a level",
    source: include_str!("../../../../workloads/bfs/bfs.cu"),
    ptx: include_str!("../../../../workloads/bfs/bfs.ptx"),
    parameters: &[
        Parameter::count("nodes", 65_536, 1, 1 << 30, "nodes of the graph"),
        Parameter::count("degree", 6, 0, 1024, "mean number of neighbors of a node")
            .in_multiples_of(2),
        SEED,
        READ_RESULTS,
    ],
    build,
};

fn build(values: &Values) -> Result<Box<dyn Workload>, ParameterError> {
    let (nodes, degree) = (values.get("nodes"), values.get("degree"));
    values.require(nodes * degree <= u64::from(u32::MAX), "nodes", || {
        format!(
            "1 to {} with {degree} neighbors each (edges have 32-bit indices)",
            u64::from(u32::MAX) / degree.max(1)
        )
    })?;
    Ok(Box::new(Bfs {
        graph: Graph {
            nodes: nodes as u32,
            links: (nodes * degree / 2) as u32,
            seed: values.get("seed"),
        },
        read_results: values.flag("read_results"),
    }))
}

/// A random undirected graph: `links` pairs of nodes drawn uniformly, each stored as two directed edges.
#[derive(Debug)]
struct Graph {
    nodes: u32,
    links: u32,
    seed: u64,
}

impl Graph {
    fn links(&self) -> impl Iterator<Item = (u32, u32)> {
        let ends = Random::new(self.seed, 0);
        let end = move |index, nodes| ends.below(index, nodes) as u32;
        let nodes = u64::from(self.nodes);
        (0..u64::from(self.links)).map(move |link| (end(2 * link, nodes), end(2 * link + 1, nodes)))
    }

    fn node_bytes(&self) -> u64 {
        u64::from(self.nodes) * 8
    }

    fn edge_bytes(&self) -> u64 {
        u64::from(self.links) * 8
    }

    /// Writes a pair (first edge, degree) for every node.
    fn write_nodes(&self, nodes: &mut [u8]) {
        nodes.fill(0);
        for (a, b) in self.links() {
            for node in [a, b] {
                let degree = 2 * node as usize + 1;
                set(nodes, degree, get::<u32>(nodes, degree) + 1);
            }
        }
        let mut first_edge = 0;
        for node in 0..self.nodes as usize {
            set(nodes, 2 * node, first_edge);
            first_edge += get::<u32>(nodes, 2 * node + 1);
        }
    }

    /// Writes the neighbors of every node; `next_edge` starts as the first edge of every node.
    fn write_edges(&self, mut next_edge: Vec<u32>, edges: &mut [u8]) {
        for (a, b) in self.links() {
            for (from, to) in [(a, b), (b, a)] {
                let edge = &mut next_edge[from as usize];
                set(edges, *edge as usize, to);
                *edge += 1;
            }
        }
    }
}

/// Distance of every node from `source` in edges: the textbook queue.
fn distances(nodes: &[u8], edges: &[u8], source: u32) -> Vec<i32> {
    let mut distance = vec![UNREACHED; nodes.len() / 8];
    let mut queue = std::collections::VecDeque::from([source]);
    distance[source as usize] = 0;
    while let Some(node) = queue.pop_front() {
        let first = get::<u32>(nodes, 2 * node as usize);
        let degree = get::<u32>(nodes, 2 * node as usize + 1);
        for edge in first..first + degree {
            let neighbor = get::<u32>(edges, edge as usize);
            if distance[neighbor as usize] == UNREACHED {
                distance[neighbor as usize] = distance[node as usize] + 1;
                queue.push_back(neighbor);
            }
        }
    }
    distance
}

#[derive(Debug)]
struct Bfs {
    graph: Graph,
    read_results: bool,
}

struct Buffers {
    nodes: Buffer,
    edges: Buffer,
    frontier: Buffer,
    reached: Buffer,
    visited: Buffer,
    cost: Buffer,
    another_level: Buffer,
}

impl Bfs {
    fn allocate(&self, host: &mut Host) -> Result<Buffers, WorkloadError> {
        let graph = &self.graph;
        let count = u64::from(graph.nodes);
        let nodes = input(host, "nodes", graph.node_bytes(), |bytes| {
            graph.write_nodes(bytes)
        })?;
        let first_edges = words::<u32>(host.gpu.host_bytes(nodes))
            .step_by(2)
            .collect();
        // A graph without edges still needs an address to pass.
        let edges = input(host, "edges", graph.edge_bytes().max(4), |bytes| {
            graph.write_edges(first_edges, bytes)
        })?;
        let only_source =
            |bytes: &mut [u8]| fill(bytes, |node| u8::from(node == u64::from(SOURCE)));
        Ok(Buffers {
            nodes,
            edges,
            frontier: input(host, "frontier", count, only_source)?,
            reached: input(host, "reached", count, |bytes| bytes.fill(0))?,
            visited: input(host, "visited", count, only_source)?,
            cost: input(host, "cost", count * 4, |bytes| {
                fill(bytes, |node| {
                    if node == u64::from(SOURCE) {
                        0
                    } else {
                        UNREACHED
                    }
                });
            })?,
            another_level: host.alloc("another_level", 1)?,
        })
    }

    /// Runs one level and says whether it reached any node.
    fn run_level(
        &self,
        host: &mut Host,
        module: ModuleId,
        buffers: &Buffers,
    ) -> Result<bool, WorkloadError> {
        let &Buffers {
            nodes,
            edges,
            frontier,
            reached,
            visited,
            cost,
            another_level,
        } = buffers;
        let [nodes, edges, frontier, reached, visited, cost] =
            [nodes, edges, frontier, reached, visited, cost].map(Arg::Buffer);
        let count = Arg::U32(self.graph.nodes);
        let grid = [self.graph.nodes.div_ceil(THREADS_PER_BLOCK), 1, 1];
        let block = [THREADS_PER_BLOCK, 1, 1];

        host.gpu.host_bytes_mut(another_level)[0] = 0;
        upload(host, another_level)?;
        let expand = [nodes, edges, frontier, reached, visited, cost, count];
        host.launch(module, "bfs_expand", grid, block, 0, &expand)?;
        let advance = [
            frontier,
            reached,
            visited,
            Arg::Buffer(another_level),
            count,
        ];
        host.launch(module, "bfs_advance", grid, block, 0, &advance)?;
        download(host, another_level)?;
        Ok(host.gpu.host_bytes(another_level)[0] != 0)
    }
}

impl Workload for Bfs {
    fn run(&self, host: &mut Host) -> Result<Checked, WorkloadError> {
        let module = host.gpu.load_module("bfs.ptx", INFO.ptx)?;
        let buffers = self.allocate(host)?;
        // No shortest path has more levels than there are nodes; the bound only matters if a kernel went wrong.
        for _level in 0..self.graph.nodes {
            if !self.run_level(host, module, &buffers)? {
                break;
            }
        }
        download_results(host, self.read_results, &[buffers.cost])?;

        let mut check = Check::bit_exact(NAME);
        let expected = distances(
            host.gpu.host_bytes(buffers.nodes),
            host.gpu.host_bytes(buffers.edges),
            SOURCE,
        );
        for (node, (expected, found)) in (0..).zip(
            expected
                .into_iter()
                .zip(words(host.gpu.host_bytes(buffers.cost))),
        ) {
            check.equal("cost", node, expected, found)?;
        }
        Ok(check.finish())
    }

    fn footprint_bytes(&self) -> u64 {
        let per_node = 8 + 1 + 1 + 1 + 4;
        u64::from(self.graph.nodes) * per_node + self.graph.edge_bytes().max(4) + 1
    }
}

#[cfg(test)]
mod tests;
