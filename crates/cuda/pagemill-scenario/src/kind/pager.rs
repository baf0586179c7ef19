//! `kind = "pager"`: a program whose memory is paged, from its page trace or as a pattern.

use std::path::PathBuf;

use pagemill_pages::paging::{Order, PagerMachine, Pattern, StoreCost};
use pagemill_policy::migration::{POLICIES, PolicyEntry};
use pagemill_policy::paging::{PagingSpec, READ_AHEADS, ReadAheadEntry, UNIT_BYTES};
use pagemill_policy::residency::{EVICTIONS, EvictionEntry, GROWTHS, GrowthEntry};
use pagemill_types::PageSize;

use super::coloring::existing_file;
use super::input::PointInput;
use crate::document::{Node, Section};
use crate::error::Problem;
use crate::machine::pager::STORES;
use crate::machine::{self, Machine};
use crate::quantity::{self, Wrong, registered};

/// Keys that every row holds under a shorter name.
pub(crate) const SHORT_NAMES: &[(&str, &str)] = &[
    ("machine", "machine"),
    ("workload.name", "workload"),
    ("pager.memory", "memory_bytes"),
    ("pager.store", "to"),
    ("pager.page_size", "page_bytes"),
    ("pager.policy", "policy"),
    ("pager.growth", "growth"),
    ("pager.read_ahead", "read_ahead"),
    ("pager.eviction", "eviction"),
];

const TRACE: &str = "trace";
const RANDOM: &str = "random";
const ASCENDING: &str = "ascending";

/// Every workload of this kind: name, and what it is.
pub const PAGER_WORKLOADS: &[(&str, &str)] = &[
    (
        TRACE,
        "a page trace that `pagemill pager run --record` wrote",
    ),
    (
        RANDOM,
        "memory that is written once, then touched by chance",
    ),
    (
        ASCENDING,
        "memory that is written once, then touched in order",
    ),
];

/// One program on one computer.
#[derive(Debug)]
pub struct PagerPoint {
    /// The costs of the computer.
    pub machine: Machine<PagerMachine>,
    /// The store that is used, one of the machine's.
    pub store: StoreCost,
    /// The name of the workload.
    pub workload: &'static str,
    /// What runs.
    pub source: PagerSource,
    /// The rules, as far as the scenario sets them.
    pub rules: PagerRules,
}

/// Where the touches of a program come from.
#[derive(Debug)]
pub enum PagerSource {
    /// A page trace.
    Trace(PathBuf),
    /// A pattern.
    Pattern(Pattern),
}

/// The rules of paging that a scenario sets. The others are those of the recording, or the usual ones.
#[derive(Clone, Copy, Debug, Default)]
pub struct PagerRules {
    memory_bytes: Option<u64>,
    page: Option<PageSize>,
    policy: Option<&'static PolicyEntry>,
    gap_threshold_bytes: Option<u64>,
    growth: Option<&'static GrowthEntry>,
    read_ahead: Option<&'static ReadAheadEntry>,
    eviction: Option<&'static EvictionEntry>,
}

impl PagerRules {
    /// `spec` with these rules in the place of its own.
    pub fn over(&self, mut spec: PagingSpec) -> PagingSpec {
        let units = self.memory_bytes.map(|bytes| bytes / u64::from(UNIT_BYTES));
        let units = units.map(|units| u32::try_from(units).unwrap_or(u32::MAX));
        spec.budget_units = units.unwrap_or(spec.budget_units);
        spec.migration.page = self.page.unwrap_or(spec.migration.page);
        spec.migration.policy = self.policy.unwrap_or(spec.migration.policy);
        let gap = self.gap_threshold_bytes;
        let gap = gap.map(|gap| u32::try_from(gap).unwrap_or(u32::MAX));
        spec.migration.gap_threshold_bytes = gap.unwrap_or(spec.migration.gap_threshold_bytes);
        spec.growth = self.growth.unwrap_or(spec.growth);
        spec.read_ahead = self.read_ahead.unwrap_or(spec.read_ahead);
        spec.eviction = self.eviction.unwrap_or(spec.eviction);
        spec
    }

    fn read(section: &mut Section<'_>) -> Option<Self> {
        let memory_bytes = section.optional("memory", quantity::bytes);
        let page = section.optional("page_size", quantity::page_size);
        let policy = section.optional("policy", registered("migration policies", &POLICIES));
        let gap_threshold_bytes = section.optional("gap_threshold", quantity::bytes);
        let growth = section.optional("growth", registered("growth policies", &GROWTHS));
        let read_ahead = section.optional(
            "read_ahead",
            registered("read-ahead policies", &READ_AHEADS),
        );
        let eviction = section.optional("eviction", registered("eviction policies", &EVICTIONS));
        Some(Self {
            memory_bytes: memory_bytes?,
            page: page?,
            policy: policy?,
            gap_threshold_bytes: gap_threshold_bytes?,
            growth: growth?,
            read_ahead: read_ahead?,
            eviction: eviction?,
        })
    }
}

impl PagerPoint {
    pub(crate) fn read(root: &mut Section<'_>, input: &PointInput<'_>) -> Option<Self> {
        let settings = root.section("pager").and_then(|mut section| {
            let rules = PagerRules::read(&mut section);
            let store = section.or(
                "store",
                STORES[0].to_owned(),
                quantity::choice("stores", STORES),
            );
            Some((rules?, store?))
        });
        let workload = root
            .section("workload")
            .and_then(|section| read_workload(section, input.seed));
        let machine = input
            .machine
            .and_then(|file| machine::pager::read(file, input.reader));
        let (machine, (rules, store), (workload, source)) = (machine?, settings?, workload?);
        let Some(store) = machine.spec.store(&store).cloned() else {
            let text = format!("{} has no costs of the store {store}", machine.name);
            let help = "`pagemill doctor pager` measures them".to_owned();
            root.report(Problem::at(root.origin_of("machine"), text).help(help));
            return None;
        };
        let is_pattern = matches!(source, PagerSource::Pattern(_));
        if is_pattern && rules.memory_bytes.is_none() {
            let text = "`pager.memory` is missing: a pattern has none of its own";
            root.report(Problem::at(root.origin_of("pager"), text.to_owned()));
            return None;
        }
        if is_pattern && let Err(error) = rules.over(PagingSpec::new(u32::MAX)).check() {
            root.report(Problem::at(root.origin_of("pager"), error.to_string()));
            return None;
        }
        Some(Self {
            machine,
            store,
            workload,
            source,
            rules,
        })
    }
}

fn read_workload(mut section: Section<'_>, seed: u64) -> Option<(&'static str, PagerSource)> {
    let names: Vec<&str> = PAGER_WORKLOADS.iter().map(|(name, _)| *name).collect();
    let Some(name) = section.required("name", quantity::choice("workloads", &names)) else {
        section.abandon();
        return None;
    };
    if name == TRACE {
        let file = section.required("file", existing_file)?;
        return Some((TRACE, PagerSource::Trace(file)));
    }
    let (name, order) = match name.as_str() {
        RANDOM => (RANDOM, Order::Random),
        _ => (ASCENDING, Order::Ascending),
    };
    let footprint = section.required("footprint", footprint);
    let touches = section.required("touches", quantity::count(0..=1_000_000_000));
    let writes = section.or("writes", 0.0, quantity::probability);
    let think_ns = section.or("think", 0, |node| Ok(quantity::time(node)?.as_nanos()));
    let pattern = Pattern {
        order,
        units: (footprint? / u64::from(UNIT_BYTES)) as u32,
        touches: touches?,
        writes: writes?,
        think_ns: think_ns?,
        seed,
    };
    Some((name, PagerSource::Pattern(pattern)))
}

/// At most what a trace may have.
fn footprint(node: &Node) -> Result<u64, Wrong> {
    match quantity::bytes(node)? {
        bytes if (4096..=256 << 30).contains(&bytes) => Ok(bytes),
        _ => Err(Wrong::new("it has to be from 4 KiB to 256 GiB")),
    }
}
