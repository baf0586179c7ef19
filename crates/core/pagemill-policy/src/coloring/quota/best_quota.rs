use super::{QuotaPolicy, QuotaPolicyEntry, proportional};
use crate::coloring::{MissCurve, Sensitivity, SensitivityRule};

/// The document's rule (CachePM, section 3.1.1): sensitive tasks get the share at which their miss ratio changes most, the
/// others what is left.
///
/// Where two sensitive tasks of a class want more than there is, they share in proportion to what they want. The
/// document leaves this open; two class-A tasks that both want all is the case in which it loses.
#[derive(Debug)]
pub struct BestQuota;

impl BestQuota {
    pub(super) const ENTRY: QuotaPolicyEntry = QuotaPolicyEntry {
        name: "best-quota",
        summary: "sensitive tasks get the share at which their misses fall most, others what is left",
        policy: &Self,
    };
}

impl QuotaPolicy for BestQuota {
    fn quotas(&self, colors: u16, curves: &[MissCurve]) -> Vec<u16> {
        let rule = SensitivityRule::default();
        let smallest = SensitivityRule::smallest_share(colors);
        let classes: Vec<Sensitivity> = curves
            .iter()
            .map(|curve| rule.class_of(curve, smallest))
            .collect();
        // One color for each first: a task without any could not be given a page.
        let mut quotas = vec![1_u16; curves.len()];
        let mut left = colors - curves.len() as u16;
        for class in Sensitivity::ALL
            .into_iter()
            .filter(|class| class.is_sensitive())
        {
            let members: Vec<usize> = (0..curves.len())
                .filter(|task| classes[*task] == class)
                .collect();
            left -= grant(&mut quotas, &members, left, |task| {
                curves[task].best_quota().saturating_sub(1)
            });
        }
        // The least sensitive class that there is gets the rest: the document's gromacs has 8 of 64 colors beside
        // mcf's 56. Where every task is sensitive that class takes it too, as a color without a task helps none.
        let least = classes.iter().max().copied();
        let members: Vec<usize> = (0..curves.len())
            .filter(|task| Some(classes[*task]) == least)
            .collect();
        grant(&mut quotas, &members, left, |_| left);
        quotas
    }
}

/// Gives each member what it wants, or, where `left` is less, a proportional part. Returns what was given.
fn grant(quotas: &mut [u16], members: &[usize], left: u16, wants: impl Fn(usize) -> u16) -> u16 {
    let wanted: Vec<u64> = members.iter().map(|task| u64::from(wants(*task))).collect();
    let sum: u64 = wanted.iter().sum();
    if sum == 0 {
        return 0;
    }
    let given = sum.min(u64::from(left)) as u16;
    for (task, part) in members.iter().zip(proportional(given, &wanted)) {
        quotas[*task] += part;
    }
    given
}
