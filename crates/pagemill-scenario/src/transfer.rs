//! `[transfer]`: how data gets to the GPU.

use pagemill_policy::migration::{FullSlotRule, MigrationSpec, POLICIES, PolicyEntry};
use pagemill_types::PageSize;

use crate::document::{Node, Section};
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
    /// What moves on demand; `None` for the modes that do not migrate.
    pub migration: Option<MigrationSpec>,
}

/// The names of all transfer modes and one line about each.
pub fn transfer_modes() -> impl Iterator<Item = (&'static str, &'static str)> {
    let fixed = [
        (IDEAL_OVERLAP, "copies cost nothing: the bound that perfect overlap would reach"),
        (PROGRAMMER_COPY, "the program copies its data before it launches, as with cudaMemcpy"),
    ];
    fixed.into_iter().chain(POLICIES.iter().map(|policy| (policy.name, policy.summary)))
}

impl Transfer {
    /// Reads `[transfer]`. A mode reads the keys it heeds, and no others.
    pub(crate) fn read(mut section: Section<'_>) -> Option<Self> {
        let names: Vec<&str> = transfer_modes().map(|(name, _)| name).collect();
        let mode = section.required("mode", quantity::choice("transfer modes", &names));
        let page = section.or("page_size", PageSize::MIB_2, quantity::page_size);
        let (Some(mode), Some(page)) = (mode, page) else {
            section.abandon();
            return None;
        };
        let mode = names.into_iter().find(|name| *name == mode)?;
        let migration = match POLICIES.iter().find(|policy| policy.name == mode) {
            Some(policy) => Some(read_migration(&mut section, page, policy)?),
            None => None,
        };
        Some(Self { mode, page, migration })
    }
}

fn read_migration(section: &mut Section<'_>, page: PageSize, policy: &'static PolicyEntry) -> Option<MigrationSpec> {
    let mut spec = MigrationSpec::new(page, policy);
    let mut sound = true;
    for &key in policy.parameters {
        sound &= read_parameter(section, &mut spec, key).is_some();
    }
    if !sound {
        return None;
    }
    // The keys were checked one by one above; this is what policies may refuse beyond that.
    if let Err(error) = spec.build() {
        section.report(Problem::at(section.origin(), error.to_string()));
        return None;
    }
    Some(spec)
}

fn read_parameter(section: &mut Section<'_>, spec: &mut MigrationSpec, key: &str) -> Option<()> {
    match key {
        "unit" => spec.unit_bytes = section.or(key, spec.unit_bytes, |node| unit(node, spec.page))?,
        "gap_threshold" => {
            spec.gap_threshold_bytes = section.or(key, spec.gap_threshold_bytes, |node| at_most_page(node, spec.page))?;
        }
        "range_slots" => {
            spec.range_slots = section.optional(key, |node| {
                quantity::count(1..=u64::from(u32::MAX))(node).map(|slots| slots as u32).map_err(|wrong| {
                    wrong.help("leave `range_slots` out for no limit".to_owned())
                })
            })?;
        }
        "when_full" => spec.when_full = section.or(key, spec.when_full, full_slot_rule)?,
        _ => {
            let problem = format!("the policy {} has the key `{key}`, which scenarios do not have", spec.policy.name);
            section.report(Problem::at(section.origin(), problem));
            return None;
        }
    }
    Some(())
}

fn unit(node: &Node, page: PageSize) -> Result<u32, Wrong> {
    let bytes = at_most_page(node, page)?;
    if bytes == 0 {
        return Err(Wrong::new("a migration unit holds at least 1 byte").help("write for example \"1 KiB\"".to_owned()));
    }
    if !page.bytes().is_multiple_of(u64::from(bytes)) {
        let page = show_bytes(page.bytes());
        let near = show_bytes(u64::from(bytes).next_power_of_two());
        return Err(Wrong::new(format!("a migration unit has to divide the page of {page}"))
            .help(format!("a power of two does, such as {near:?}")));
    }
    Ok(bytes)
}

fn at_most_page(node: &Node, page: PageSize) -> Result<u32, Wrong> {
    let bytes = quantity::bytes(node)?;
    let page = page.bytes();
    // A page size is at most 1 GiB.
    if bytes <= page {
        return Ok(bytes as u32);
    }
    let page = show_bytes(page);
    Err(Wrong::new(format!("this is larger than the page of {page}"))
        .help(format!("write at most {page:?}, or raise `transfer.page_size`")))
}

fn full_slot_rule(node: &Node) -> Result<FullSlotRule, Wrong> {
    let names = FullSlotRule::ALL.map(FullSlotRule::name);
    let name = quantity::choice("rules for full range slots", &names)(node)?;
    name.parse().map_err(|error: pagemill_policy::migration::UnknownFullSlotRule| Wrong::new(error.to_string()))
}
