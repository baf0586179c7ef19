use std::fmt;

use super::{AttSpec, Organisation};

/// Every organisation of an ATT cache, in the order of listings. A new one is one file and one line here.
#[rustfmt::skip]
pub static ORGANISATIONS: &[OrganisationEntry] = &[
    super::direct_mapped::DirectMapped::ENTRY,
    super::hashed::Hashed::ENTRY,
    super::set_associative::SetAssociative::ENTRY,
    super::per_entry::PerEntry::ENTRY,
];

/// An organisation by name.
#[derive(Clone, Copy)]
pub struct OrganisationEntry {
    /// The name that machine files use.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// The keys of a machine's `[att]` that this organisation heeds, beside the layout of the table.
    pub parameters: &'static [&'static str],
    /// Makes the organisation from a checked specification.
    pub build: fn(&AttSpec) -> Box<dyn Organisation>,
}

impl fmt::Debug for OrganisationEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OrganisationEntry({})", self.name)
    }
}

/// Two entries of one name are one organisation.
impl PartialEq for OrganisationEntry {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for OrganisationEntry {}

/// The registered organisation called `name`.
///
/// # Errors
/// There is none of this name.
pub fn find_organisation(name: &str) -> Result<&'static OrganisationEntry, UnknownOrganisation> {
    let known = ORGANISATIONS.iter().find(|entry| entry.name == name);
    known.ok_or_else(|| UnknownOrganisation {
        name: name.to_owned(),
    })
}

/// A name that no organisation is registered under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownOrganisation {
    /// The name that was given.
    pub name: String,
}

impl fmt::Display for UnknownOrganisation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known: Vec<&str> = ORGANISATIONS.iter().map(|entry| entry.name).collect();
        write!(
            f,
            "there is no ATT cache \"{}\": use one of {}",
            self.name,
            known.join(", ")
        )
    }
}

impl std::error::Error for UnknownOrganisation {}
