//! What says which point of the oversubscription benchmark a row is about: the same whether it was simulated, measured or
//! advised, so that rows can be compared.

use pagemill_policy::residency::{AccessPattern, StrategyEntry, Variant};
use pagemill_report::{Column, ColumnKind, Row};

/// The parameters: column, kind, what it is.
pub const IDENTITY: &[(&str, ColumnKind, &str)] = &[
    ("machine", ColumnKind::Text, "the machine"),
    (
        "pattern",
        ColumnKind::Text,
        "which bytes the kernel reads, and in which order",
    ),
    (
        "variant",
        ColumnKind::Text,
        "whether the warps of a block keep together",
    ),
    (
        "strategy",
        ColumnKind::Text,
        "how the program places its data",
    ),
    (
        "stripe_bytes",
        ColumnKind::Bytes,
        "granule that striping deals out",
    ),
    (
        "oversubscription_factor",
        ColumnKind::Ratio,
        "allocated bytes over the bytes of GPU memory free for them",
    ),
];

/// The columns of [`IDENTITY`].
pub fn columns() -> impl Iterator<Item = Column> {
    IDENTITY
        .iter()
        .map(|(name, kind, doc)| Column::parameter(*name, *kind, *doc))
}

/// A point on a machine.
pub struct Identity<'a> {
    /// The machine's name.
    pub machine: &'a str,
    /// What is read.
    pub pattern: AccessPattern,
    /// Whether warps keep together.
    pub variant: Variant,
    /// How the data is placed.
    pub strategy: &'static StrategyEntry,
    /// Granule of striping in bytes.
    pub stripe_bytes: u64,
    /// Allocated bytes over those of GPU memory free for them.
    pub factor: f64,
}

impl Identity<'_> {
    /// A row that holds nothing else yet.
    pub fn row(&self) -> Row {
        Row::new()
            .parameter("machine", self.machine)
            .parameter("pattern", self.pattern.name())
            .parameter("variant", self.variant.name())
            .parameter("strategy", self.strategy.name)
            .parameter("stripe_bytes", self.stripe_bytes)
            .parameter("oversubscription_factor", self.factor)
    }
}
