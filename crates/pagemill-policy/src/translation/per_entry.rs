use super::{Organization, OrganizationEntry};

/// One place for each entry; a miss brings that entry alone. What grouping is measured against.
#[derive(Clone, Copy, Debug)]
pub struct PerEntry {
    sets: u32,
}

impl PerEntry {
    /// How machines name this organization.
    pub const ENTRY: OrganizationEntry = OrganizationEntry {
        name: "per-entry",
        summary: "one place for each entry; a miss brings that entry alone",
        parameters: &["size"],
        build: |spec| {
            Box::new(Self {
                sets: spec.groups() * spec.layout.group_entries,
            })
        },
    };
}

impl Organization for PerEntry {
    fn line_entries(&self) -> u32 {
        1
    }

    fn sets(&self) -> u32 {
        self.sets
    }

    fn set_of(&self, line: u64) -> u32 {
        (line & u64::from(self.sets - 1)) as u32
    }
}
