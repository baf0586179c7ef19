use super::{QuotaPolicy, QuotaPolicyEntry, proportional};
use crate::coloring::MissCurve;

/// The same share for all.
#[derive(Debug)]
pub struct Equal;

impl Equal {
    pub(super) const ENTRY: QuotaPolicyEntry = QuotaPolicyEntry {
        name: "equal",
        summary: "the same share for all",
        policy: &Self,
    };
}

impl QuotaPolicy for Equal {
    fn quotas(&self, colors: u16, curves: &[MissCurve]) -> Vec<u16> {
        proportional(colors, &vec![1; curves.len()])
    }
}
