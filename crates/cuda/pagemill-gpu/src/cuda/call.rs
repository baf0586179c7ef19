use cudarc::driver::DriverError;

use crate::GpuError;

/// Results of the driver as errors that say what went on.
pub(super) trait Checked<T> {
    /// Names the call and what it was for.
    fn checked(self, call: &'static str, doing: impl FnOnce() -> String) -> Result<T, GpuError>;
}

impl<T> Checked<T> for Result<T, DriverError> {
    fn checked(self, call: &'static str, doing: impl FnOnce() -> String) -> Result<T, GpuError> {
        self.map_err(|error| GpuError::Call {
            call,
            doing: doing(),
            code: code(error),
            message: message(error),
        })
    }
}

/// The name of an error: `CUDA_ERROR_OUT_OF_MEMORY`.
pub(super) fn code(error: DriverError) -> String {
    format!("{:?}", error.0)
}

/// The driver's words for it: `out of memory`.
pub(super) fn message(error: DriverError) -> String {
    match error.error_string() {
        Ok(text) => text.to_string_lossy().into_owned(),
        Err(_) => "the driver has no words for it".to_owned(),
    }
}
