use super::Topology;

/// An extended generalized fat tree (Öhring, Ibel, Das, Kumar: On generalized fat trees, IPPS 1995).
///
/// A switch of level `l` has `children[l - 1]` children and `parents[l]` parents; nodes are level 0. A route climbs to the
/// lowest level that both nodes are below, and the parents that it picks on the way decide the way down.
#[derive(Debug)]
pub(super) struct FatTree {
    levels: Vec<Level>,
    nodes: u32,
    links: u32,
}

/// The links between one level and the one above.
#[derive(Clone, Copy, Debug)]
struct Level {
    /// Nodes below a switch of this level: its subtree.
    subtree: u32,
    /// Switches of this level that share a subtree.
    twins: u32,
    /// Parents of each.
    parents: u32,
    /// First link upwards, and first link downwards.
    up: u32,
    down: u32,
}

impl FatTree {
    /// A tree whose sizes were checked: as many `children` as `parents`, no zero, one parent for each node.
    pub fn new(children: &[u32], parents: &[u32]) -> Self {
        let nodes: u32 = children.iter().product();
        let mut levels = vec![Level {
            subtree: 1,
            twins: 1,
            parents: 1,
            up: 0,
            down: 0,
        }];
        let mut links = nodes;
        let (mut subtree, mut twins) = (1, 1);
        for (place, &above) in parents.iter().enumerate().skip(1) {
            subtree *= children[place - 1];
            let edges = nodes / subtree * twins * above;
            levels.push(Level {
                subtree,
                twins,
                parents: above,
                up: links,
                down: links + edges,
            });
            twins *= above;
            links += 2 * edges;
        }
        Self {
            levels,
            nodes,
            links,
        }
    }

    /// The edges above `node`, from the lowest up, where the digits of `choice` are the parents.
    fn edges(&self, node: u32, choice: u32, climb: usize) -> impl Iterator<Item = (&Level, u32)> {
        let mut rest = choice;
        // Which of the twins of its level the route is at: the parents so far say so.
        let mut twin = 0;
        self.levels[1..=climb].iter().map(move |level| {
            let parent = rest % level.parents;
            let edge = (node / level.subtree * level.twins + twin) * level.parents + parent;
            rest /= level.parents;
            twin += parent * level.twins;
            (level, edge)
        })
    }

    /// Levels of links that a route climbs: 0 for two nodes of one leaf.
    fn climb(&self, from: u32, to: u32) -> usize {
        let above = &self.levels[1..];
        above
            .iter()
            .take_while(|level| from / level.subtree != to / level.subtree)
            .count()
    }
}

impl Topology for FatTree {
    fn nodes(&self) -> u32 {
        self.nodes
    }

    fn links(&self) -> u32 {
        self.links
    }

    fn minimal(&self, from: u32, to: u32) -> u32 {
        let climbed = &self.levels[1..=self.climb(from, to)];
        climbed.iter().map(|level| level.parents).product()
    }

    fn detours(&self, _from: u32, _to: u32) -> u32 {
        0
    }

    fn route(&self, from: u32, to: u32, choice: u32, links: &mut Vec<u32>) {
        let climb = self.climb(from, to);
        links.extend(
            self.edges(from, choice, climb)
                .map(|(level, edge)| level.up + edge),
        );
        // Down, there is no choice: from the top one way leads to each node, through the twins that the digits name,
        // so the edges above `to` for the same digits are that way in reverse.
        let top = links.len();
        links.extend(
            self.edges(to, choice, climb)
                .map(|(level, edge)| level.down + edge),
        );
        links[top..].reverse();
        links.push(to);
    }
}
