//! CUDA error codes, and faults: a code with what to tell the user.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::fmt;
use std::sync::OnceLock;

use pagemill_ptx::{Defect, LaunchError, TrapKind};
use pagemill_sim::{GpuError, LaunchFailure};

/// A `cudaError_t`. `errors.tsv` has the names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CudaError(pub i32);

macro_rules! codes {
    ($($name:ident = $code:literal, $doc:literal;)*) => {
        impl CudaError {
            $(#[doc = $doc] pub const $name: Self = Self($code);)*
        }
    };
}

codes! {
    SUCCESS = 0, "All is well.";
    INVALID_VALUE = 1, "An argument cannot be.";
    MEMORY_ALLOCATION = 2, "There is not enough memory.";
    INITIALIZATION = 3, "There is no GPU.";
    INVALID_CONFIGURATION = 9, "A grid or block that no GPU can run.";
    INVALID_SYMBOL = 13, "No such variable.";
    INVALID_CHANNEL_DESCRIPTOR = 20, "A texel that cannot be.";
    INVALID_MEMCPY_DIRECTION = 21, "A copy kind that does not exist.";
    INVALID_FILTER_SETTING = 26, "Filtering of what is no float.";
    INVALID_NORM_SETTING = 27, "Normalizing of what cannot be.";
    INVALID_DEVICE_FUNCTION = 98, "No such kernel.";
    INVALID_DEVICE = 101, "No such GPU.";
    INVALID_CONTEXT = 201, "No context is current, or this is none.";
    INVALID_KERNEL_IMAGE = 200, "Device code that is none.";
    NO_KERNEL_IMAGE = 209, "No device code that this GPU can run.";
    UNSUPPORTED_LIMIT = 215, "No such limit.";
    PEER_ACCESS_UNSUPPORTED = 217, "There is no other GPU.";
    INVALID_PTX = 218, "PTX that cannot be compiled.";
    FILE_NOT_FOUND = 301, "A file cannot be read.";
    OPERATING_SYSTEM = 304, "The system refused something.";
    INVALID_RESOURCE_HANDLE = 400, "No such stream, event or library.";
    ILLEGAL_STATE = 401, "The stream is not in a state for this.";
    NOT_FOUND = 500, "No such name.";
    NOT_READY = 600, "Work is under way.";
    ILLEGAL_ADDRESS = 700, "A kernel used an address that is not allocated.";
    LAUNCH_OUT_OF_RESOURCES = 701, "A block needs more than an SM has.";
    LAUNCH_TIMEOUT = 702, "A kernel did not end.";
    PEER_ACCESS_NOT_ENABLED = 705, "There is no other GPU whose memory could be reached.";
    ASSERT = 710, "An assertion of a kernel failed.";
    HOST_MEMORY_ALREADY_REGISTERED = 712, "The memory is pinned already.";
    HOST_MEMORY_NOT_REGISTERED = 713, "The memory is not pinned.";
    HARDWARE_STACK_ERROR = 714, "The calls of a kernel nest too deep.";
    MISALIGNED_ADDRESS = 716, "A kernel used an address that is no multiple of the access.";
    INVALID_PC = 718, "A kernel called what is no function.";
    LAUNCH_FAILURE = 719, "A kernel failed.";
    COOPERATIVE_LAUNCH_TOO_LARGE = 720, "A grid whose blocks cannot all be resident at once.";
    NOT_PERMITTED = 800, "Not allowed where it was asked for.";
    NOT_SUPPORTED = 801, "pagemill does not do this.";
    STREAM_CAPTURE_UNSUPPORTED = 900, "A stream that is captured cannot do this.";
    STREAM_CAPTURE_UNMATCHED = 903, "The capture did not begin here.";
    STREAM_CAPTURE_UNJOINED = 904, "Captured work was not joined.";
    STREAM_CAPTURE_IMPLICIT = 906, "Captured work would have to wait for the default stream.";
    GRAPH_EXEC_UPDATE_FAILURE = 910, "The graph has another shape.";
    INVALID_CLUSTER_SIZE = 912, "Clusters that the kernel or the GPU does not allow.";
    UNKNOWN = 999, "A defect of pagemill.";
}

/// Code, name and description.
fn rows() -> impl Iterator<Item = (i32, &'static str, &'static str)> {
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/errors.tsv"))
        .lines()
        .filter_map(|line| {
            let mut fields = line.split('\t');
            let code = fields.next()?.parse().ok()?;
            Some((code, fields.next()?, fields.next()?))
        })
}

impl CudaError {
    /// Code, name and description of every error.
    pub(crate) fn all() -> impl Iterator<Item = (i32, &'static str, &'static str)> {
        rows()
    }

    /// Its name, such as `cudaErrorInvalidValue`.
    pub fn name(self) -> &'static str {
        self.row().map_or("unrecognized error code", |row| row.1)
    }

    /// What it means, in the words of CUDA.
    pub fn description(self) -> &'static str {
        self.row().map_or("unrecognized error code", |row| row.2)
    }

    fn row(self) -> Option<(i32, &'static str, &'static str)> {
        rows().find(|row| row.0 == self.0)
    }

    /// The driver's code for it: the same number, but for errors that the runtime API alone has.
    pub(crate) fn for_driver(self) -> i32 {
        match self {
            Self::INVALID_CONFIGURATION
            | Self::INVALID_CHANNEL_DESCRIPTOR
            | Self::INVALID_MEMCPY_DIRECTION
            | Self::INVALID_FILTER_SETTING
            | Self::INVALID_NORM_SETTING => Self::INVALID_VALUE.0,
            Self::INVALID_SYMBOL => Self::NOT_FOUND.0,
            Self::INVALID_DEVICE_FUNCTION => Self::INVALID_RESOURCE_HANDLE.0,
            Self(code) => code,
        }
    }

    /// Its name for C.
    pub(crate) fn name_for_c(self) -> &'static CStr {
        texts_for_c().get(&self.0).unwrap_or(&UNKNOWN_FOR_C).0
    }

    /// What it means, for C.
    pub(crate) fn description_for_c(self) -> &'static CStr {
        texts_for_c().get(&self.0).unwrap_or(&UNKNOWN_FOR_C).1
    }
}

type TextsForC = BTreeMap<i32, (&'static CStr, &'static CStr)>;

const UNKNOWN_FOR_C: (&CStr, &CStr) = (c"unrecognized error code", c"unrecognized error code");

/// Name and description of every code as C wants them. Programs keep the pointers, so they live for ever.
fn texts_for_c() -> &'static TextsForC {
    static TEXTS: OnceLock<TextsForC> = OnceLock::new();
    TEXTS.get_or_init(|| {
        let for_c = |text: &str| -> &'static CStr {
            Box::leak(CString::new(text).unwrap_or_default().into_boxed_c_str())
        };
        rows()
            .map(|(code, name, description)| (code, (for_c(name), for_c(description))))
            .collect()
    })
}

/// Name and description of a driver error for C; `None` for what is none.
pub(crate) fn driver_error(code: i32) -> Option<(&'static CStr, &'static CStr)> {
    static TEXTS: OnceLock<TextsForC> = OnceLock::new();
    let texts = TEXTS.get_or_init(|| {
        let rows = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/driver-errors.tsv")).lines();
        let rows = rows.filter_map(|line| {
            let (code, name) = line.split_once('\t')?;
            let code = code.parse().ok()?;
            let name: &'static CStr = Box::leak(CString::new(name).ok()?.into_boxed_c_str());
            Some((code, (name, CudaError(code).description_for_c())))
        });
        rows.collect()
    });
    texts.get(&code).copied()
}

impl fmt::Display for CudaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}): {}", self.name(), self.0, self.description())
    }
}

/// A request that failed: the code that the program gets, and a line for the user, if there is more to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What the program gets.
    pub code: CudaError,
    /// What went wrong, for standard error.
    pub message: Option<String>,
    /// Whether the GPU is lost: every later call fails with the same code.
    pub sticky: bool,
    /// The mistake that the call was, for `--check`.
    pub defect: Option<Defect>,
}

impl Fault {
    /// The same, as a mistake that `--check` reports.
    #[must_use]
    pub fn as_defect(self, defect: Defect) -> Self {
        Self {
            defect: Some(defect),
            ..self
        }
    }

    /// A failure with one line to the user.
    pub fn new(code: CudaError, message: impl Into<String>) -> Self {
        Self {
            code,
            message: Some(message.into()),
            sticky: false,
            defect: None,
        }
    }

    /// Something that the program passed is not possible, with one line to the user.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(CudaError::INVALID_VALUE, message)
    }

    /// A failure that the code says all about.
    pub fn silent(code: CudaError) -> Self {
        Self {
            code,
            message: None,
            sticky: false,
            defect: None,
        }
    }

    /// A failure after which the GPU can do nothing more.
    pub fn sticky(code: CudaError, message: impl Into<String>) -> Self {
        Self {
            sticky: true,
            ..Self::new(code, message)
        }
    }
}

impl From<GpuError> for Fault {
    fn from(error: GpuError) -> Self {
        let message = error.to_string();
        match &error {
            GpuError::Trap(trap) => Self::sticky(trap_code(&trap.kind), message),
            GpuError::Launch { failure, .. } => match failure {
                LaunchFailure::DoesNotFit(_) => {
                    Self::new(CudaError::LAUNCH_OUT_OF_RESOURCES, message)
                }
                LaunchFailure::InstructionLimit { .. }
                | LaunchFailure::Stopped
                | LaunchFailure::TimeLimit
                | LaunchFailure::Deadlock { .. } => {
                    Self::sticky(CudaError::LAUNCH_TIMEOUT, message)
                }
            },
            GpuError::Refused(refused) => Self::new(refusal_code(refused), message),
            GpuError::OutOfMemory { .. } | GpuError::TooManyPages { .. } | GpuError::Memory(_) => {
                Self::new(CudaError::MEMORY_ALLOCATION, message)
            }
            GpuError::DeviceCopy(_) => Self::sticky(CudaError::ILLEGAL_ADDRESS, message),
            GpuError::Ptx(_) => Self::new(CudaError::INVALID_PTX, message),
            GpuError::UnknownKernel { .. } => {
                Self::new(CudaError::INVALID_DEVICE_FUNCTION, message)
            }
            GpuError::Program { .. } => Self::sticky(CudaError::LAUNCH_FAILURE, message),
            _ => Self::new(CudaError::INVALID_VALUE, message),
        }
    }
}

fn refusal_code(refused: &LaunchError) -> CudaError {
    match refused {
        LaunchError::Dimensions { .. }
        | LaunchError::Arguments { .. }
        | LaunchError::TooMuchMemory { .. } => CudaError::INVALID_VALUE,
        LaunchError::Cluster { .. } => CudaError::INVALID_CLUSTER_SIZE,
        LaunchError::WrongModule { .. } => CudaError::INVALID_DEVICE_FUNCTION,
    }
}

/// As CUDA 13.0 says it on an H100 with driver 580.159.04.
fn trap_code(kind: &TrapKind) -> CudaError {
    match kind {
        TrapKind::OutOfBounds { .. }
        | TrapKind::StackOverflow { .. }
        | TrapKind::BadFree { on_heap: false, .. }
        | TrapKind::OutsideWindow { .. }
        | TrapKind::NoSuchRank { .. }
        | TrapKind::ReadOnly { .. } => CudaError::ILLEGAL_ADDRESS,
        TrapKind::Misaligned { .. } => CudaError::MISALIGNED_ADDRESS,
        TrapKind::Assert { .. } => CudaError::ASSERT,
        TrapKind::BadCall { .. } => CudaError::INVALID_PC,
        TrapKind::InstructionLimit { .. }
        | TrapKind::NoProgress { .. }
        | TrapKind::ClusterDeadlock { .. }
        | TrapKind::Deadlock { .. } => CudaError::LAUNCH_TIMEOUT,
        _ => CudaError::LAUNCH_FAILURE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_the_names_of_cuda() {
        assert_eq!(CudaError::INVALID_VALUE.name(), "cudaErrorInvalidValue");
        assert_eq!(CudaError::ILLEGAL_ADDRESS.name(), "cudaErrorIllegalAddress");
        assert_eq!(
            CudaError::NO_KERNEL_IMAGE.name(),
            "cudaErrorNoKernelImageForDevice"
        );
        assert_eq!(CudaError::LAUNCH_TIMEOUT.name(), "cudaErrorLaunchTimeout");
        assert_eq!(
            CudaError::NOT_SUPPORTED.name_for_c().to_str(),
            Ok("cudaErrorNotSupported")
        );
        assert_eq!(CudaError(12_345).description(), "unrecognized error code");
        assert_eq!(
            CudaError::SUCCESS.description_for_c().to_str(),
            Ok("no error")
        );
    }
}
