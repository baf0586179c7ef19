/// Measurements of one thing.
#[derive(Clone, Debug, Default)]
pub(super) struct Samples(Vec<f64>);

impl Samples {
    pub fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    /// The middle one; 0 of none.
    pub fn median(&self) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(0.0)
    }

    /// Sum over count; 0 of none.
    pub fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len().max(1) as f64
    }

    /// Standard deviation of the sample; 0 of fewer than two.
    pub fn deviation(&self) -> f64 {
        if self.0.len() < 2 {
            return 0.0;
        }
        let mean = self.mean();
        let squares: f64 = self.0.iter().map(|value| (value - mean).powi(2)).sum();
        (squares / (self.0.len() - 1) as f64).sqrt()
    }

    /// Without the largest twentieth: what interruptions of a shared machine add.
    pub fn trimmed(&self) -> Self {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.truncate(sorted.len() - sorted.len() / 20);
        Self(sorted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_one_to_five() {
        let samples = Samples(vec![5.0, 1.0, 4.0, 2.0, 3.0]);
        assert_eq!((samples.median(), samples.mean()), (3.0, 3.0));
        assert!((samples.deviation() - 2.5_f64.sqrt()).abs() < 1e-12);
        assert_eq!(Samples::default().median(), 0.0);
    }

    #[test]
    fn trimming_takes_the_largest() {
        let samples = Samples((0..40).map(f64::from).collect());
        assert_eq!(samples.trimmed().0.len(), 38);
        assert_eq!(samples.trimmed().0.last(), Some(&37.0));
    }
}
