//! Why the device runtime refuses: numbers of `cudaError_t`.

/// A call of a kernel that fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Refusal {
    /// `cudaErrorInvalidValue`
    InvalidValue = 1,
    /// `cudaErrorMemoryAllocation`
    OutOfMemory = 2,
    /// `cudaErrorInvalidConfiguration`
    InvalidConfiguration = 9,
    /// `cudaErrorLaunchMaxDepthExceeded`
    TooDeep = 65,
    /// `cudaErrorLaunchPendingCountExceeded`
    TooManyPending = 69,
    /// `cudaErrorInvalidDeviceFunction`
    InvalidFunction = 98,
    /// `cudaErrorInvalidDevice`
    InvalidDevice = 101,
    /// `cudaErrorUnsupportedLimit`
    UnsupportedLimit = 215,
    /// `cudaErrorInvalidResourceHandle`
    InvalidHandle = 400,
}
