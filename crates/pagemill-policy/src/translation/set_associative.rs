use super::{Organization, OrganizationEntry};

/// Several places for each group, the least recently used one making room. As many ways as groups make it fully associative.
#[derive(Clone, Copy, Debug)]
pub struct SetAssociative {
    line_entries: u32,
    sets: u32,
    ways: u32,
}

impl SetAssociative {
    /// How machines name this organization.
    pub const ENTRY: OrganizationEntry = OrganizationEntry {
        name: "set-associative",
        summary: "several places for each group, the least recently used makes room",
        parameters: &["size", "ways"],
        build: |spec| {
            Box::new(Self {
                line_entries: spec.layout.group_entries,
                sets: spec.groups() / spec.ways,
                ways: spec.ways,
            })
        },
    };
}

impl Organization for SetAssociative {
    fn line_entries(&self) -> u32 {
        self.line_entries
    }

    fn sets(&self) -> u32 {
        self.sets
    }

    fn ways(&self) -> u32 {
        self.ways
    }

    fn set_of(&self, line: u64) -> u32 {
        (line & u64::from(self.sets - 1)) as u32
    }
}
