use pagemill_types::{Registry, named};

use super::{AttSpec, Organization};

/// Every organization of an ATT cache, in the order of listings. A new one is one file and one line here.
#[rustfmt::skip]
pub static ORGANIZATIONS: Registry<OrganizationEntry> = Registry::new("ATT cache", &[
    super::direct_mapped::ENTRY,
    super::hashed::ENTRY,
    super::set_associative::ENTRY,
    super::hashed_sets::ENTRY,
    super::per_entry::ENTRY,
]);

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
    pub build: fn(&AttSpec) -> Organization,
}

named!(OrganizationEntry);

/// An organization in files: its name.
pub(super) mod by_name {
    use super::{ORGANIZATIONS, OrganizationEntry};
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(
        entry: &&'static OrganizationEntry,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        entry.name.serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<&'static OrganizationEntry, D::Error> {
        let name = String::deserialize(deserializer)?;
        ORGANIZATIONS.find(&name).map_err(Error::custom)
    }
}
