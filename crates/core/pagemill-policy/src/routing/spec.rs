use std::fmt;

use super::Topology;
use super::dragonfly::Dragonfly;
use super::fat_tree::FatTree;
use super::torus::Torus;

/// The values of a topology, as a machine file gives them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopologySpec {
    /// An extended generalized fat tree.
    FatTree {
        /// Children of a switch, from the leaves up.
        children: Vec<u32>,
        /// Parents of what is below, from the nodes up; the first is 1.
        parents: Vec<u32>,
    },
    /// Groups of routers that are all linked, and groups that are all linked.
    Dragonfly {
        /// Nodes of a router.
        nodes_per_router: u32,
        /// Routers of a group.
        routers_per_group: u32,
        /// Links of a router to other groups.
        global_links: u32,
        /// Groups.
        groups: u32,
    },
    /// A torus of any number of dimensions.
    Torus {
        /// Nodes along each dimension.
        shape: Vec<u32>,
    },
}

/// A topology that cannot be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologyError {
    /// The value that is impossible.
    pub key: &'static str,
    /// What was given.
    pub value: String,
    /// What is allowed.
    pub allowed: &'static str,
}

impl fmt::Display for TopologyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}: {}", self.key, self.value, self.allowed)
    }
}

impl std::error::Error for TopologyError {}

/// More nodes or links than can be simulated.
const LINKS_MAX: u64 = 1 << 26;

impl TopologySpec {
    /// The topology.
    ///
    /// # Errors
    /// A value is impossible, or there are too many links.
    pub fn build(&self) -> Result<Box<dyn Topology>, TopologyError> {
        self.check()?;
        Ok(match self {
            Self::FatTree { children, parents } => Box::new(FatTree::new(children, parents)),
            Self::Dragonfly {
                nodes_per_router,
                routers_per_group,
                global_links,
                groups,
            } => Box::new(Dragonfly {
                nodes_per_router: *nodes_per_router,
                routers_per_group: *routers_per_group,
                global_links: *global_links,
                groups: *groups,
            }),
            Self::Torus { shape } => Box::new(Torus {
                shape: shape.clone(),
            }),
        })
    }

    fn check(&self) -> Result<(), TopologyError> {
        match self {
            Self::FatTree { children, parents } => check_fat_tree(children, parents),
            Self::Dragonfly {
                nodes_per_router,
                routers_per_group,
                global_links,
                groups,
            } => check_dragonfly(
                *nodes_per_router,
                *routers_per_group,
                *global_links,
                *groups,
            ),
            Self::Torus { shape } => {
                check_list("shape", shape, 1)?;
                let nodes = product(shape);
                check_links(
                    "shape",
                    format!("{shape:?}"),
                    nodes * (1 + 2 * shape.len() as u64),
                )
            }
        }
    }
}

fn check_fat_tree(children: &[u32], parents: &[u32]) -> Result<(), TopologyError> {
    check_list("children", children, 1)?;
    check_list("parents", parents, 1)?;
    if parents.len() != children.len() || parents[0] != 1 {
        return Err(TopologyError {
            key: "parents",
            value: format!("{parents:?}"),
            allowed: "it has to have as many levels as `children`, and 1 in the first: a node has one interface",
        });
    }
    let links = product(children).saturating_mul(product(parents));
    check_links("children", format!("{children:?}"), links)
}

fn check_dragonfly(
    nodes: u32,
    routers: u32,
    global: u32,
    groups: u32,
) -> Result<(), TopologyError> {
    let values = [
        ("nodes_per_router", nodes),
        ("routers_per_group", routers),
        ("global_links", global),
    ];
    for (key, value) in values {
        if !(1..=4096).contains(&value) {
            return Err(TopologyError {
                key,
                value: value.to_string(),
                allowed: "it has to be from 1 to 4096",
            });
        }
    }
    let ports = u64::from(routers) * u64::from(global);
    if groups < 2 || u64::from(groups) > ports + 1 {
        return Err(TopologyError {
            key: "groups",
            value: groups.to_string(),
            allowed: "it has to be from 2 to routers_per_group x global_links + 1, so that every two groups have a link",
        });
    }
    let per_router = u64::from(nodes) + u64::from(routers) + u64::from(global);
    let links = u64::from(groups) * u64::from(routers) * per_router;
    check_links("groups", groups.to_string(), links)
}

fn check_list(key: &'static str, values: &[u32], least: u32) -> Result<(), TopologyError> {
    if (1..=8).contains(&values.len())
        && values.iter().all(|value| (least..=1 << 20).contains(value))
    {
        return Ok(());
    }
    Err(TopologyError {
        key,
        value: format!("{values:?}"),
        allowed: "it has to have 1 to 8 numbers from 1 to 1048576",
    })
}

fn check_links(key: &'static str, value: String, links: u64) -> Result<(), TopologyError> {
    if links <= LINKS_MAX {
        return Ok(());
    }
    Err(TopologyError {
        key,
        value,
        allowed: "it makes more than 67,108,864 links",
    })
}

fn product(values: &[u32]) -> u64 {
    values
        .iter()
        .fold(1, |product, &value| product.saturating_mul(value.into()))
}
