//! Launches that failed: noted by kernel and cause, for the results.

use super::Runtime;
use super::images::FunctionKey;
use crate::error::Fault;
use pagemill_wire::FailedLaunches;

/// Causes that are told apart; later ones are counted under the last.
const CAUSES_MAX: usize = 256;

impl Runtime {
    /// Does `work` for a launch of the kernel `key`, as [`Runtime::call`] does, and notes it if it fails.
    ///
    /// # Errors
    /// As [`Runtime::call`].
    pub fn call_launch<T>(
        &mut self,
        key: FunctionKey,
        work: impl FnOnce(&mut Self) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let result = self.call(work);
        if let Err(fault) = &result {
            self.note_failed_launch(key, fault);
        }
        result
    }

    pub(super) fn note_failed_launch(&mut self, key: FunctionKey, fault: &Fault) {
        let kernel = match self.modules.kernel_name(key) {
            Ok(name) => name.to_owned(),
            Err(_) => format!("{:#x}", key.0),
        };
        let status = fault.code.name();
        let cause = match (&fault.message, self.lost) {
            (Some(message), _) => message.clone(),
            (None, Some(_)) => "an earlier kernel stopped the GPU".to_owned(),
            (None, None) => fault.code.description().to_owned(),
        };
        let is_same = |known: &FailedLaunches| {
            known.kernel == kernel && known.status == status && known.cause == cause
        };
        if let Some(at) = self.failed.iter().position(is_same) {
            self.failed[at].launches += 1;
        } else if self.failed.len() < CAUSES_MAX {
            self.failed.push(FailedLaunches {
                kernel,
                status: status.to_owned(),
                cause,
                launches: 1,
            });
        } else if let Some(last) = self.failed.last_mut() {
            last.launches += 1;
        }
    }
}
