use pagemill_types::{GOLDEN_GAMMA, Registry, mix64, named};

use super::Topology;

/// How a route is chosen among those there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Routing {
    /// A shortest route by the receiver's number: the same for all messages of two nodes.
    Static,
    /// A shortest route at random, drawn anew for each message.
    Random,
    /// A detour at random where there is one: spreads any traffic evenly, at twice the load.
    Valiant,
    /// The candidate with the least waiting and the fewest links: some shortest routes and some detours.
    Adaptive,
}

/// A routing with its name.
pub struct RoutingEntry {
    /// Name in files.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// The routing.
    pub routing: Routing,
}

named!(RoutingEntry);

/// Every routing.
pub static ROUTINGS: Registry<RoutingEntry> = Registry::new(
    "routing",
    &[
        RoutingEntry {
            name: "static",
            about: "a shortest route by the receiver's number",
            routing: Routing::Static,
        },
        RoutingEntry {
            name: "random",
            about: "a shortest route at random for each message",
            routing: Routing::Random,
        },
        RoutingEntry {
            name: "valiant",
            about: "a detour at random for each message",
            routing: Routing::Valiant,
        },
        RoutingEntry {
            name: "adaptive",
            about: "the route with the least waiting, among shortest ones and detours",
            routing: Routing::Adaptive,
        },
    ],
);

/// A message that needs a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Where it starts.
    pub from: u32,
    /// Where it goes.
    pub to: u32,
    /// Its number among those of its source; what is drawn at random depends on it only.
    pub number: u64,
}

/// Shortest routes, and detours, that `adaptive` compares.
const CANDIDATES: u32 = 4;

impl Routing {
    /// The links that `flow` passes. `waiting` says how long a message would wait at a link now, in any unit; `pass` is the time
    /// that a link takes when nothing waits, in the same unit.
    pub fn choose(
        self,
        network: &dyn Topology,
        flow: Flow,
        waiting: impl Fn(u32) -> u64,
        pass: u64,
    ) -> Vec<u32> {
        let mut route = Vec::new();
        self.choose_into(network, flow, waiting, pass, &mut route);
        route
    }

    /// As [`Routing::choose`], into `route`, whose room is used again.
    pub fn choose_into(
        self,
        network: &dyn Topology,
        flow: Flow,
        waiting: impl Fn(u32) -> u64,
        pass: u64,
        route: &mut Vec<u32>,
    ) {
        let Flow { from, to, number } = flow;
        let minimal = network.minimal(from, to);
        route.clear();
        match self {
            // By the receiver, as D-mod-k routing of fat trees: messages to one node share a way and those to others part, so a
            // shift of all nodes by one distance meets nowhere if each level has as many links as the one below.
            Self::Static => network.route(from, to, to % minimal, route),
            Self::Random => network.route(from, to, draw(flow, 0) % minimal, route),
            Self::Valiant => {
                let choice = match network.detours(from, to) {
                    0 => draw(flow, 0) % minimal,
                    detours => minimal + draw(flow, 0) % detours,
                };
                network.route(from, to, choice, route);
            }
            Self::Adaptive => {
                let detours = network.detours(from, to);
                // The candidates turn with the message, so that idle links, which all cost the same, are not always
                // taken from the same end.
                let shortest = (0..CANDIDATES.min(minimal))
                    .map(|index| ((u64::from(to) + number) as u32).wrapping_add(index) % minimal);
                let around =
                    (0..CANDIDATES.min(detours)).map(|index| minimal + draw(flow, index) % detours);
                least(network, flow, shortest.chain(around), waiting, pass, route);
            }
        }
    }
}

/// Puts the candidate that takes least into `route`; of equals, the first.
fn least(
    network: &dyn Topology,
    flow: Flow,
    candidates: impl Iterator<Item = u32>,
    waiting: impl Fn(u32) -> u64,
    pass: u64,
    route: &mut Vec<u32>,
) {
    let mut best = u64::MAX;
    let mut candidate = Vec::new();
    for choice in candidates {
        candidate.clear();
        network.route(flow.from, flow.to, choice, &mut candidate);
        // As UGAL weighs (Kim et al. 2008): waiting and hops add up, so a detour wins only where the
        // short way waits longer than the detour's further links take.
        let cost = candidate
            .iter()
            .map(|&link| waiting(link).saturating_add(pass))
            .fold(0_u64, u64::saturating_add);
        if cost < best {
            best = cost;
            std::mem::swap(route, &mut candidate);
        }
    }
}

/// A number that looks random and depends on `flow` and `index` only.
fn draw(flow: Flow, index: u32) -> u32 {
    // From the flow and nothing else: a draw does not depend on what other nodes sent before, so a run repeats to the
    // bit.
    let seed = u64::from(flow.from) << 32 | u64::from(flow.to);
    let mixed = seed
        .wrapping_mul(GOLDEN_GAMMA)
        .wrapping_add(flow.number.wrapping_mul(0xd1b5_4a32_d192_ed03))
        .wrapping_add(u64::from(index) << 17);
    mix64(mixed) as u32
}
