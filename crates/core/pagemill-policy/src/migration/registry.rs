use pagemill_types::{Registry, named};

use super::{MigrationPolicy, MigrationSpec};

/// Every migration policy, in the order of listings. A new policy is one file and one line here.
#[rustfmt::skip]
pub static POLICIES: Registry<PolicyEntry> = Registry::new("migration policy", &[
    super::whole_page::WholePage::ENTRY,
    super::single_range::SingleRange::ENTRY,
    super::tree::Tree::ENTRY,
    super::multi_range::MultiRange::ENTRY,
]);

/// Makes a policy from a checked specification.
pub type BuildPolicy = dyn Fn(&MigrationSpec) -> Box<dyn MigrationPolicy> + Send + Sync;

/// A migration policy by name.
#[derive(Clone, Copy)]
pub struct PolicyEntry {
    /// The name that scenario files use.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// The keys of a scenario's `[transfer]` that this policy heeds, beside the page size.
    pub parameters: &'static [&'static str],
    /// Makes the policy from a checked specification.
    pub build: &'static BuildPolicy,
}

named!(PolicyEntry);
