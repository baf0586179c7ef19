use super::{QuotaPolicy, proportional};
use crate::coloring::MissCurve;

/// The same share for all.
#[derive(Debug)]
pub struct Equal;

impl QuotaPolicy for Equal {
    fn quotas(&self, colors: u16, curves: &[MissCurve]) -> Vec<u16> {
        proportional(colors, &vec![1; curves.len()])
    }
}
