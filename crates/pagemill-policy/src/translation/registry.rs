use std::fmt;

use super::{AttSpec, Organization};

/// Every organization of an ATT cache, in the order of listings. A new one is one file and one line here.
#[rustfmt::skip]
pub static ORGANIZATIONS: &[OrganizationEntry] = &[
    super::direct_mapped::DirectMapped::ENTRY,
    super::hashed::Hashed::ENTRY,
    super::set_associative::SetAssociative::ENTRY,
    super::per_entry::PerEntry::ENTRY,
];

/// An organization by name.
#[derive(Clone, Copy)]
pub struct OrganizationEntry {
    /// The name that machine files use.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// The keys of a machine's `[att]` that this organization heeds, beside the layout of the table.
    pub parameters: &'static [&'static str],
    /// Makes the organization from a checked specification.
    pub build: fn(&AttSpec) -> Box<dyn Organization>,
}

impl fmt::Debug for OrganizationEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OrganizationEntry({})", self.name)
    }
}

/// Two entries of one name are one organization.
impl PartialEq for OrganizationEntry {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for OrganizationEntry {}

/// The registered organization called `name`.
///
/// # Errors
/// There is none of this name.
pub fn find_organization(name: &str) -> Result<&'static OrganizationEntry, UnknownOrganization> {
    let known = ORGANIZATIONS.iter().find(|entry| entry.name == name);
    known.ok_or_else(|| UnknownOrganization {
        name: name.to_owned(),
    })
}

/// A name that no organization is registered under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownOrganization {
    /// The name that was given.
    pub name: String,
}

impl fmt::Display for UnknownOrganization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known: Vec<&str> = ORGANIZATIONS.iter().map(|entry| entry.name).collect();
        write!(
            f,
            "there is no ATT cache \"{}\": use one of {}",
            self.name,
            known.join(", ")
        )
    }
}

impl std::error::Error for UnknownOrganization {}
