use super::{Organization, OrganizationEntry};

/// One place for each group, chosen by all bits of its number folded together: buffers a power of two apart meet rarely.
#[derive(Clone, Copy, Debug)]
pub struct Hashed {
    line_entries: u32,
    sets: u32,
}

impl Hashed {
    /// How machines name this organization.
    pub const ENTRY: OrganizationEntry = OrganizationEntry {
        name: "hashed",
        summary: "as direct-mapped, the place chosen by a fold of the whole address",
        parameters: &["size"],
        build: |spec| {
            Box::new(Self {
                line_entries: spec.layout.group_entries,
                sets: spec.groups(),
            })
        },
    };
}

impl Organization for Hashed {
    fn line_entries(&self) -> u32 {
        self.line_entries
    }

    fn sets(&self) -> u32 {
        self.sets
    }

    fn set_of(&self, line: u64) -> u32 {
        let bits = self.sets.trailing_zeros();
        let mut folded = line;
        let mut rest = if bits == 0 { 0 } else { line >> bits };
        while rest != 0 {
            folded ^= rest;
            rest >>= bits;
        }
        (folded & u64::from(self.sets - 1)) as u32
    }
}
