use super::*;

struct Sum {
    parts: Vec<u32>,
    total: u32,
}

impl Invariants for Sum {
    fn broken_invariant(&self) -> Option<String> {
        first_broken([
            (!self.parts.is_empty(), "there are no parts"),
            (
                self.parts.iter().sum::<u32>() == self.total,
                "the total is not that of the parts",
            ),
        ])
    }
}

#[test]
fn the_first_broken_rule_is_named() {
    let sum = |parts: &[u32], total| Sum {
        parts: parts.to_vec(),
        total,
    };
    assert_eq!(sum(&[1, 2], 3).broken_invariant(), None);
    let broken = |sum: Sum| sum.broken_invariant().expect("it is broken");
    assert_eq!(broken(sum(&[], 1)), "there are no parts");
    assert_eq!(broken(sum(&[1], 2)), "the total is not that of the parts");
}

#[test]
fn checks_become_rare() {
    let mut schedule = CheckSchedule::default();
    let due = (0..1000).filter(|_| schedule.is_due()).count();
    assert_eq!(due, if cfg!(debug_assertions) { 10 } else { 0 });
}
