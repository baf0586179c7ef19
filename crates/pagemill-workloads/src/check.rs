use crate::{Checked, Mismatch, WorkloadError};

/// Compares the results of one program with its CPU reference, value by value, and stops at the first that differs.
pub(crate) struct Check {
    workload: &'static str,
    checked: Checked,
}

impl Check {
    /// Results must equal the reference bit for bit.
    pub(crate) fn bit_exact(workload: &'static str) -> Self {
        Self::within(workload, 0.0)
    }

    /// Results may differ by `tolerance` times the scale that each comparison states.
    pub(crate) fn within(workload: &'static str, tolerance: f64) -> Self {
        Self {
            workload,
            checked: Checked {
                tolerance,
                ..Checked::default()
            },
        }
    }

    /// Compares integers, or anything else with an equality that distinguishes all values.
    pub(crate) fn equal<T: PartialEq + std::fmt::Debug>(
        &mut self,
        array: &'static str,
        index: u64,
        expected: T,
        found: T,
    ) -> Result<(), WorkloadError> {
        self.checked.values += 1;
        if expected == found {
            return Ok(());
        }
        Err(self.mismatch(
            array,
            index,
            format!("{expected:?}"),
            format!("{found:?}"),
            "must be equal".to_owned(),
        ))
    }

    /// Compares the bits of two floats.
    pub(crate) fn same_bits(
        &mut self,
        array: &'static str,
        index: u64,
        expected: f32,
        found: f32,
    ) -> Result<(), WorkloadError> {
        self.checked.values += 1;
        if expected.to_bits() == found.to_bits() {
            return Ok(());
        }
        Err(self.mismatch(
            array,
            index,
            format!("{expected:?}"),
            format!("{found:?}"),
            "must be bit-exact".to_owned(),
        ))
    }

    /// Compares a float with a reference of higher precision; the allowed difference is the tolerance times `scale`.
    pub(crate) fn close(
        &mut self,
        array: &'static str,
        index: u64,
        expected: f64,
        found: f32,
        scale: f64,
    ) -> Result<(), WorkloadError> {
        self.checked.values += 1;
        let error = (f64::from(found) - expected).abs() / scale;
        // Written so that a NaN fails.
        if error <= self.checked.tolerance {
            self.checked.largest_error = self.checked.largest_error.max(error);
            return Ok(());
        }
        let bound = format!("must be within {:e}", self.checked.tolerance * scale);
        Err(self.mismatch(array, index, expected.to_string(), found.to_string(), bound))
    }

    /// What was compared.
    pub(crate) fn finish(self) -> Checked {
        self.checked
    }

    fn mismatch(
        &self,
        array: &'static str,
        index: u64,
        expected: String,
        found: String,
        bound: String,
    ) -> WorkloadError {
        Box::new(Mismatch {
            workload: self.workload,
            array,
            index,
            expected,
            found,
            bound,
        })
        .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_difference_is_named() {
        let mut check = Check::bit_exact("demo");
        check.equal("out", 0, 5, 5).expect("equal");
        let error = check.equal("out", 1, 5, 6).expect_err("different");
        assert_eq!(
            error.to_string(),
            "demo: out[1] is 6, the CPU reference says 5 (must be equal)"
        );
    }

    #[test]
    fn signed_zeros_and_nan_are_told_apart() {
        assert!(
            Check::bit_exact("demo")
                .same_bits("out", 0, 0.0, -0.0)
                .is_err()
        );
        assert!(
            Check::bit_exact("demo")
                .same_bits("out", 0, f32::NAN, f32::NAN)
                .is_ok()
        );
        assert!(
            Check::within("demo", 1.0)
                .close("out", 0, 0.0, f32::NAN, 1.0)
                .is_err()
        );
    }

    #[test]
    fn the_largest_error_is_kept() {
        let mut check = Check::within("demo", 0.5);
        check.close("out", 0, 1.0, 1.25, 1.0).expect("within");
        check.close("out", 1, 1.0, 1.125, 1.0).expect("within");
        assert!(check.close("out", 2, 1.0, 1.75, 1.0).is_err());
        assert_eq!(check.finish().largest_error, 0.25);
    }
}
