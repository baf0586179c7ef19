use std::fmt;

use super::{MigrationPolicy, MigrationSpec};

/// Every migration policy, in the order of listings. A new policy is one file and one line here.
#[rustfmt::skip]
pub static POLICIES: &[PolicyEntry] = &[
    super::whole_page::WholePage::ENTRY,
    super::single_range::SingleRange::ENTRY,
    super::multi_range::MultiRange::ENTRY,
];

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

impl fmt::Debug for PolicyEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PolicyEntry({})", self.name)
    }
}

/// Two entries of one name are one policy.
impl PartialEq for PolicyEntry {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for PolicyEntry {}

/// The registered policy called `name`.
pub fn find_policy(name: &str) -> Result<&'static PolicyEntry, UnknownPolicy> {
    let known = POLICIES.iter().find(|entry| entry.name == name);
    known.ok_or_else(|| UnknownPolicy {
        name: name.to_owned(),
    })
}

/// A name that no migration policy is registered under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownPolicy {
    /// The name that was given.
    pub name: String,
}

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known: Vec<&str> = POLICIES.iter().map(|entry| entry.name).collect();
        write!(
            f,
            "there is no migration policy \"{}\": use one of {}",
            self.name,
            known.join(", ")
        )
    }
}

impl std::error::Error for UnknownPolicy {}
