//! The allocations of a program: what they are called, and what moved for them.

use pagemill_policy::residency::BLOCK_BYTES;
use pagemill_report::shorten;
use pagemill_sim::{Traffic, managed_name};
use pagemill_wire::readable_name;
use pagemill_wire::{Results, Sites, Stack};

use crate::call_site::{Place, Symbols};

/// A block of memory is used in places that lie far apart if a batch of faults touches more blocks than this.
const SCATTERED_BLOCKS: u64 = 16;
/// Characters of a name, its number aside.
const NAME_MAX: usize = 40;
/// Share of an allocation below which it is used sparsely.
const SPARSE: f64 = 0.5;

/// The allocations that one call of the program makes.
#[derive(Clone, Debug, PartialEq)]
pub struct Allocation {
    /// Identifies it, in every run.
    pub key: u64,
    /// The line of the call, or the name of a variable.
    pub name: String,
    /// The function that it is in.
    pub function: Option<String>,
    /// Their numbers in the order in which the program made its managed allocations, from 1.
    pub numbers: Vec<usize>,
    /// How many there are.
    pub count: u64,
    /// Bytes of all of them.
    pub bytes: u64,
    /// What moved for them.
    pub traffic: Traffic,
    /// For each, the launch that it first moved for.
    pub first_launches: Vec<Option<u32>>,
    /// The first launch that any of them moved for.
    pub first_kernel: Option<Launched>,
}

/// A launch: the kernel, and the line of the launch.
pub type Launched = (String, Option<String>);

impl Allocation {
    /// What rows of `pagemill cuda` and page maps call them.
    pub fn managed_names(&self) -> String {
        let runs = self.numbers.chunk_by(|a, b| a + 1 == *b);
        let named = runs.map(|run| match run {
            [first, .., last] => format!("{} to #{last}", managed_name(*first)),
            _ => run.iter().copied().map(managed_name).collect(),
        });
        shorten(&named.collect::<Vec<_>>().join(", "), NAME_MAX)
    }

    /// How kernels use it, as far as page moves tell.
    pub fn pattern(&self) -> &'static str {
        let traffic = &self.traffic;
        let came = traffic.migrated_bytes - traffic.repeated_bytes.min(traffic.migrated_bytes)
            + traffic.populated_bytes;
        if came == 0 && traffic.remote_bytes == 0 {
            return "no kernel uses it";
        }
        if came == 0 {
            return "in place";
        }
        let again = traffic.repeated_bytes > 0;
        let blocks_a_batch = traffic.services / traffic.batches.max(1);
        let is_scattered = blocks_a_batch > SCATTERED_BLOCKS
            && traffic.faults < traffic.services * (BLOCK_BYTES >> 16);
        let is_sparse = (came as f64) < self.bytes as f64 * SPARSE;
        match (again, is_scattered, is_sparse) {
            (true, true, _) => "again and again, scattered",
            (true, false, _) => "again and again, in order",
            (false, _, true) => "a part of it, once",
            (false, _, false) => "all of it, once",
        }
    }
}

/// The allocations of all processes, those with the most traffic first.
pub fn of(results: &[Results]) -> Vec<Allocation> {
    let mut symbols = Symbols::default();
    let mut all: Vec<(Allocation, Vec<Place>)> = Vec::new();
    for process in results {
        if let Some(sites) = &process.sites {
            add(process, sites, &mut symbols, &mut all);
        }
    }
    name(&mut all);
    let mut all: Vec<Allocation> = all.into_iter().map(|(allocation, _)| allocation).collect();
    all.sort_by_key(|allocation| std::cmp::Reverse(weight(&allocation.traffic)));
    all
}

/// The first launch of the program.
pub fn first_launch(results: &[Results]) -> Option<Launched> {
    let mut symbols = Symbols::default();
    let mut processes = results.iter();
    processes.find_map(|process| kernel(process, process.sites.as_ref()?, 0, &mut symbols))
}

/// How much an allocation has to do with the program's time.
pub fn weight(traffic: &Traffic) -> u64 {
    traffic.link_bytes() + traffic.populated_bytes
}

fn add(
    process: &Results,
    sites: &Sites,
    symbols: &mut Symbols,
    all: &mut Vec<(Allocation, Vec<Place>)>,
) {
    let reports = (1..).zip(&process.report.allocations);
    for ((number, report), &site) in reports.zip(&sites.allocations) {
        let Some(stack) = sites.stacks.get(site as usize) else {
            continue;
        };
        let key = stack.key();
        let known = all.iter().position(|(known, _)| known.key == key);
        let place = known.unwrap_or_else(|| {
            all.push((new(key, stack), symbols.places(stack, &[])));
            all.len() - 1
        });
        let allocation = &mut all[place].0;
        allocation.count += 1;
        if !allocation.numbers.contains(&number) {
            allocation.numbers.push(number);
        }
        allocation.bytes += report.bytes;
        let before = allocation.traffic.first_launch;
        allocation.traffic.add(&report.traffic);
        allocation.first_launches.push(report.traffic.first_launch);
        if allocation.traffic.first_launch != before {
            let launch = allocation.traffic.first_launch.unwrap_or(0);
            allocation.first_kernel = kernel(process, sites, launch, symbols);
        }
    }
}

fn new(key: u64, stack: &Stack) -> Allocation {
    Allocation {
        key,
        name: stack.variable.clone().unwrap_or_default(),
        function: None,
        numbers: Vec::new(),
        count: 0,
        bytes: 0,
        traffic: Traffic::default(),
        first_launches: Vec::new(),
        first_kernel: None,
    }
}

/// The kernel of a launch, and the line of the launch.
fn kernel(
    process: &Results,
    sites: &Sites,
    launch: u32,
    symbols: &mut Symbols,
) -> Option<Launched> {
    let report = process.report.launches.get(launch as usize)?;
    let name = readable_name(&report.kernel);
    let stack = sites.launches.get(launch as usize).copied().flatten();
    let stack = stack.and_then(|stack| sites.stacks.get(stack as usize));
    // The host's stub has the name of the kernel.
    let places = stack.map(|stack| symbols.places(stack, &[&name]));
    let line = places.and_then(|places| places.into_iter().next());
    Some((name, line.map(|place| place.at)))
}

/// Names every allocation by its line; where a helper makes several, by the lines that call the helper too.
fn name(all: &mut [(Allocation, Vec<Place>)]) {
    let lines_of = |places: &[Place]| places.iter().map(|place| place.at.clone()).collect();
    let lines: Vec<Vec<String>> = all.iter().map(|(_, places)| lines_of(places)).collect();
    for (at, (allocation, places)) in all.iter_mut().enumerate() {
        if !allocation.name.is_empty() {
            continue;
        }
        let Some(first) = places.first() else {
            allocation.name = allocation.managed_names();
            continue;
        };
        allocation.function.clone_from(&first.function);
        let shared = |depth: usize| {
            let own = &lines[at][..depth];
            let mut others = lines.iter().enumerate().filter(|(other, _)| *other != at);
            others.any(|(_, other)| other.len() >= depth && other[..depth] == *own)
        };
        let depth = (1..=places.len()).find(|&depth| !shared(depth));
        let depth = depth.unwrap_or(places.len());
        allocation.name = lines[at][..depth].join(" from ");
    }
    number(all);
}

/// Makes names short, and tells those that are the same apart by the order of the first allocations.
fn number(all: &mut [(Allocation, Vec<Place>)]) {
    let names: Vec<String> = all
        .iter()
        .map(|(allocation, _)| shorten(&allocation.name, NAME_MAX))
        .collect();
    let same =
        |name: &String, among: &[String]| among.iter().filter(|other| *other == name).count();
    for (at, (allocation, _)) in all.iter_mut().enumerate() {
        allocation.name = match same(&names[at], &names) {
            1 => names[at].clone(),
            _ => format!("{} #{}", names[at], same(&names[at], &names[..=at])),
        };
    }
}

#[cfg(test)]
mod tests;
