use super::Topology;

/// Groups of routers, each with a link to every other of its group, and the groups each with links to every other group
/// (Kim, Dally, Scott, Abts: Technology-driven, highly-scalable dragonfly topology, ISCA 2008).
#[derive(Clone, Copy, Debug)]
pub(super) struct Dragonfly {
    /// Nodes of a router.
    pub nodes_per_router: u32,
    /// Routers of a group.
    pub routers_per_group: u32,
    /// Links of a router to other groups.
    pub global_links: u32,
    /// Groups, at least two.
    pub groups: u32,
}

/// A link between two groups: the routers at its ends, and its number.
struct Bridge {
    from_router: u32,
    to_router: u32,
    link: u32,
}

impl Dragonfly {
    fn routers(&self) -> u32 {
        self.routers_per_group * self.groups
    }

    fn router_of(&self, node: u32) -> u32 {
        node / self.nodes_per_router
    }

    fn group_of(&self, router: u32) -> u32 {
        router / self.routers_per_group
    }

    /// Links that each pair of groups has.
    fn bridges(&self) -> u32 {
        // Ports that do not divide by the other groups stay unused: all pairs of groups have as many links.
        self.routers_per_group * self.global_links / (self.groups - 1)
    }

    /// Link `which` from group `from` to another group. Ports of a group are numbered around: port `d` leads `d + 1` groups on.
    fn bridge(&self, from: u32, to: u32, which: u32) -> Bridge {
        let others = self.groups - 1;
        let ahead = (to + self.groups - from - 1) % self.groups;
        // The same cable from its other end: `ahead` and the distance back add up to a turn around all groups.
        let back = others - 1 - ahead;
        let port = |distance: u32| which * others + distance;
        let router =
            |group: u32, port: u32| group * self.routers_per_group + port / self.global_links;
        let from_router = router(from, port(ahead));
        let local_links = self.routers() * (self.routers_per_group - 1);
        let first = self.nodes() + local_links;
        Bridge {
            from_router,
            to_router: router(to, port(back)),
            link: first + from_router * self.global_links + port(ahead) % self.global_links,
        }
    }

    /// Appends the link between two routers of a group, if they are two.
    fn within(&self, from: u32, to: u32, links: &mut Vec<u32>) {
        if from == to {
            return;
        }
        let place = to % self.routers_per_group;
        let own = from % self.routers_per_group;
        let slot = if place < own { place } else { place - 1 };
        links.push(self.nodes() + from * (self.routers_per_group - 1) + slot);
    }

    /// Appends the way from router `from` to group `group` over link `which`; returns the router where it lands.
    fn cross(&self, from: u32, group: u32, which: u32, links: &mut Vec<u32>) -> u32 {
        if self.group_of(from) == group {
            return from;
        }
        let bridge = self.bridge(self.group_of(from), group, which);
        self.within(from, bridge.from_router, links);
        links.push(bridge.link);
        bridge.to_router
    }
}

impl Topology for Dragonfly {
    fn nodes(&self) -> u32 {
        self.routers() * self.nodes_per_router
    }

    fn links(&self) -> u32 {
        self.nodes() + self.routers() * (self.routers_per_group - 1 + self.global_links)
    }

    fn minimal(&self, from: u32, to: u32) -> u32 {
        let groups = [from, to].map(|node| self.group_of(self.router_of(node)));
        if groups[0] == groups[1] {
            1
        } else {
            self.bridges()
        }
    }

    /// Over another group; within a group, over another router.
    fn detours(&self, from: u32, to: u32) -> u32 {
        let (from, to) = (self.router_of(from), self.router_of(to));
        if from == to {
            0
        } else if self.group_of(from) == self.group_of(to) {
            self.routers_per_group - 2
        } else {
            self.groups - 2
        }
    }

    fn route(&self, from: u32, to: u32, choice: u32, links: &mut Vec<u32>) {
        let minimal = self.minimal(from, to);
        let (start, end) = (self.router_of(from), self.router_of(to));
        let (source, target) = (self.group_of(start), self.group_of(end));
        let mut at = start;
        if choice >= minimal {
            let detour = choice - minimal;
            if source == target {
                let group = source * self.routers_per_group;
                let via = group + other_than(detour, start - group, end - group);
                self.within(at, via, links);
                at = via;
            } else {
                let via = other_than(detour, source, target);
                at = self.cross(at, via, to % self.bridges(), links);
            }
        }
        let which = if choice < minimal {
            choice
        } else {
            to % self.bridges()
        };
        at = self.cross(at, target, which, links);
        self.within(at, end, links);
        links.push(to);
    }
}

/// Number `index` of those that are neither `one` nor `other`.
fn other_than(index: u32, one: u32, other: u32) -> u32 {
    let (low, high) = (one.min(other), one.max(other));
    let above_low = index + u32::from(index >= low);
    above_low + u32::from(above_low >= high)
}
