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
mod tests;
