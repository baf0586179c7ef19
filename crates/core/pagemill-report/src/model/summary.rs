use crate::{ColumnKind, Value};

/// A statement of a publication, beside what this run found.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Stable name for scripts: `whole-page-slowdown`.
    pub id: String,
    /// The statement in words.
    pub text: String,
    /// The published figure, if there is one.
    pub published: Option<Value>,
    /// What this run found, if it could be found.
    pub measured: Option<Value>,
    /// What the two figures count.
    pub kind: ColumnKind,
    /// Whether the statement holds here; `None` where this run cannot tell.
    pub holds: Option<bool>,
    /// Source, condition or reason; may be empty.
    pub note: String,
}

/// One figure about the whole run.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// Name with its unit: `simulated_bytes`.
    pub name: String,
    /// The figure.
    pub value: Value,
    /// What it counts.
    pub kind: ColumnKind,
    /// One sentence for people.
    pub doc: String,
}

impl Fact {
    /// A figure of this name.
    pub fn new(
        name: impl Into<String>,
        value: impl Into<Value>,
        kind: ColumnKind,
        doc: &str,
    ) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
            kind,
            doc: doc.to_owned(),
        }
    }
}

/// What all rows together say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Summary {
    /// Published statements and whether they hold.
    pub claims: Vec<Claim>,
    /// Figures about the whole run.
    pub facts: Vec<Fact>,
    /// Kernel launches that were refused or did not come to their end; `None` where nothing is launched by a program.
    pub failed_launches: Option<u64>,
    /// Sentences that a reader needs before any figure; shown first.
    pub warnings: Vec<String>,
}

impl Summary {
    /// How many claims hold, how many do not, and how many this run cannot judge.
    pub fn verdicts(&self) -> (usize, usize, usize) {
        let count = |verdict| {
            self.claims
                .iter()
                .filter(|claim| claim.holds == verdict)
                .count()
        };
        (count(Some(true)), count(Some(false)), count(None))
    }
}
