//! `[transfer]`: how data gets to the GPU.

use pagemill_policy::migration::{FullSlotRule, MigrationSpec, POLICIES, PolicyEntry};
use pagemill_policy::residency::{BLOCK_BYTES, Mechanism, PAGE_BYTES, STRATEGIES, StrategyEntry};
use pagemill_sim::{DriverRun, TransferMode};
use pagemill_types::PageSize;

use crate::document::{Kind, Node, Section};
use crate::error::Problem;
use crate::quantity::{self, Wrong, show_bytes};

/// The transfer mode in which copies cost nothing.
pub const IDEAL_OVERLAP: &str = "ideal-overlap";
/// The transfer mode in which the program copies everything before it runs.
pub const PROGRAMMER_COPY: &str = "programmer-copy";

/// A transfer mode and the keys that belong to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// The name of the mode.
    pub mode: &'static str,
    /// The page size of the unified address space, which the TLBs see in every mode.
    pub page: PageSize,
    /// What the GPU itself moves on demand; `None` for the other modes.
    pub migration: Option<MigrationSpec>,
    /// How the machine's driver is used; `None` for the other modes.
    pub driver: Option<DriverRun>,
}

/// The names of all transfer modes and one line about each.
pub fn transfer_modes() -> impl Iterator<Item = (&'static str, &'static str)> {
    let fixed = [
        (
            IDEAL_OVERLAP,
            "copies cost nothing: the bound that perfect overlap would reach",
        ),
        (
            PROGRAMMER_COPY,
            "the program copies its data before it launches, as with cudaMemcpy",
        ),
    ];
    fixed
        .into_iter()
        .chain(POLICIES.all().map(|policy| (policy.name, policy.summary)))
        .chain(driven().map(|strategy| (strategy.name, strategy.summary)))
}

/// The strategies that a unified-memory driver carries out.
fn driven() -> impl Iterator<Item = &'static StrategyEntry> {
    let by_driver = |entry: &&StrategyEntry| (entry.build)().mechanism() == Mechanism::Driver;
    STRATEGIES.iter().filter(by_driver)
}

impl Transfer {
    /// How the simulator calls it.
    pub fn simulated(&self) -> TransferMode {
        if let Some(driver) = self.driver {
            return TransferMode::Driver(driver);
        }
        match &self.migration {
            Some(migration) => TransferMode::Migrate(migration.clone()),
            None if self.mode == IDEAL_OVERLAP => TransferMode::IdealOverlap,
            None => TransferMode::ProgrammerCopy,
        }
    }

    /// Reads `[transfer]`; `default` is the mode where it says none.
    pub(crate) fn read(mut section: Section<'_>, default: Option<&str>) -> Option<Self> {
        let names: Vec<&str> = transfer_modes().map(|(name, _)| name).collect();
        let choice = quantity::choice("transfer modes", &names);
        let mode = match default {
            Some(default) => section.or("mode", default.to_owned(), choice),
            None => section.required("mode", choice),
        };
        let page = section.or("page_size", PageSize::MIB_2, quantity::page_size);
        let (Some(mode), Some(page)) = (mode, page) else {
            section.abandon();
            return None;
        };
        let mode = names.into_iter().find(|name| *name == mode)?;
        let stripe_bytes = match driven().any(|strategy| strategy.name == mode) {
            true => section.or("stripe", BLOCK_BYTES, stripe)?,
            false => BLOCK_BYTES,
        };
        let keys = MigrationKeys::read(&mut section, page)?;
        let migration = match POLICIES.find(mode).ok() {
            Some(policy) => Some(keys.heeded_by(policy, page, &section)?),
            None => None,
        };
        let strategy = driven().find(|strategy| strategy.name == mode);
        if strategy.is_some() && page != PageSize::MIB_2 {
            let origin = section.origin_of("page_size");
            let text = format!(
                "`transfer.mode` = {mode:?} needs pages of 2 MiB, the blocks of the driver"
            );
            section.report(Problem::at(origin, text));
            return None;
        }
        Some(Self {
            mode,
            page,
            migration,
            driver: strategy.map(|strategy| DriverRun {
                strategy,
                stripe_bytes,
            }),
        })
    }
}

/// The keys of all policies; `None` where a key is absent. They are checked in every mode, so that one file serves
/// all modes, and heeded by those that know them.
struct MigrationKeys {
    unit_bytes: Option<u32>,
    gap_threshold_bytes: Option<u32>,
    range_slots: Option<u32>,
    when_full: Option<FullSlotRule>,
}

impl MigrationKeys {
    fn read(section: &mut Section<'_>, page: PageSize) -> Option<Self> {
        let unit_bytes = section.optional("unit", |node| unit(node, page));
        let gap_threshold_bytes =
            section.optional("gap_threshold", |node| at_most_page(node, page));
        let range_slots = section.optional("range_slots", range_slots);
        let when_full = section.optional("when_full", full_slot_rule);
        Some(Self {
            unit_bytes: unit_bytes?,
            gap_threshold_bytes: gap_threshold_bytes?,
            range_slots: range_slots?.flatten(),
            when_full: when_full?,
        })
    }

    fn heeded_by(
        self,
        policy: &'static PolicyEntry,
        page: PageSize,
        section: &Section<'_>,
    ) -> Option<MigrationSpec> {
        let heeds = |key| policy.parameters.contains(&key);
        let mut spec = MigrationSpec::new(page, policy);
        spec.unit_bytes = self
            .unit_bytes
            .filter(|_| heeds("unit"))
            .unwrap_or(spec.unit_bytes);
        spec.gap_threshold_bytes = self
            .gap_threshold_bytes
            .filter(|_| heeds("gap_threshold"))
            .unwrap_or(spec.gap_threshold_bytes);
        spec.range_slots = self.range_slots.filter(|_| heeds("range_slots"));
        spec.when_full = self
            .when_full
            .filter(|_| heeds("when_full"))
            .unwrap_or(spec.when_full);
        // The keys were checked one by one; this is what a policy may refuse beyond that.
        if let Err(error) = spec.check() {
            section.report(Problem::at(section.origin(), error.to_string()));
            return None;
        }
        Some(spec)
    }
}

/// How a file says that ranges are not limited; leaving the key out says the same.
const UNLIMITED: &str = "unlimited";

fn range_slots(node: &Node) -> Result<Option<u32>, Wrong> {
    if matches!(&node.kind, Kind::String(text) if text == UNLIMITED) {
        return Ok(None);
    }
    let slots = quantity::count(1..=u64::from(u32::MAX))(node);
    slots
        .map(|slots| Some(slots as u32))
        .map_err(|wrong| wrong.help(format!("write {UNLIMITED:?} for no limit")))
}

fn unit(node: &Node, page: PageSize) -> Result<u32, Wrong> {
    let bytes = at_most_page(node, page)?;
    if bytes == 0 {
        return Err(Wrong::new("a migration unit holds at least 1 byte")
            .help("write for example \"1 KiB\"".to_owned()));
    }
    if !page.bytes().is_multiple_of(u64::from(bytes)) {
        let page = show_bytes(page.bytes());
        let near = show_bytes(u64::from(bytes).next_power_of_two());
        return Err(
            Wrong::new(format!("a migration unit has to divide the page of {page}"))
                .help(format!("a power of two does, such as {near:?}")),
        );
    }
    Ok(bytes)
}

fn at_most_page(node: &Node, page: PageSize) -> Result<u32, Wrong> {
    let bytes: u64 = quantity::bytes(node)?;
    let page = page.bytes();
    // A page size is at most 1 GiB.
    if bytes <= page {
        return Ok(bytes as u32);
    }
    let page = show_bytes(page);
    Err(
        Wrong::new(format!("this is larger than the page of {page}")).help(format!(
            "write at most {page:?}, or raise `transfer.page_size`"
        )),
    )
}

fn full_slot_rule(node: &Node) -> Result<FullSlotRule, Wrong> {
    let names = FullSlotRule::ALL.map(FullSlotRule::name);
    let name = quantity::choice("rules for full range slots", &names)(node)?;
    name.parse()
        .map_err(|error: pagemill_policy::migration::UnknownFullSlotRule| {
            Wrong::new(error.to_string())
        })
}

/// A granule of striping.
pub(crate) fn stripe(node: &Node) -> Result<u64, Wrong> {
    let bytes: u64 = quantity::bytes(node)?;
    if bytes >= PAGE_BYTES && bytes.is_multiple_of(PAGE_BYTES) {
        return Ok(bytes);
    }
    Err(Wrong::new("a stripe is a multiple of 4 KiB").help("write \"2 MiB\"".to_owned()))
}
