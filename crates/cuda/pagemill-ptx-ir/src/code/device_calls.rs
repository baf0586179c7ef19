//! The functions that kernels call, and how their arguments lie.

use super::bank::AddressOperand;
use std::sync::Arc;

/// An argument of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Argument {
    /// 32 bits.
    Narrow,
    /// 64 bits.
    Wide,
    /// Three numbers of 32 bits.
    Dim3,
}

/// A function and its shape.
#[derive(Clone, Copy, Debug)]
pub struct Callee {
    pub function: RuntimeFn,
    pub arguments: &'static [Argument],
    /// `Dim3` is no result.
    pub result: Argument,
}

/// Numbers of all arguments of a function.
pub const NUMBERS_MAX: usize = 12;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuntimeFn {
    GetParameterBuffer,
    GetParameterBufferV2,
    LaunchDevice,
    LaunchDeviceV2,
    GetLastError,
    PeekAtLastError,
    GetErrorName,
    GetErrorString,
    GetDevice,
    GetDeviceCount,
    DeviceGetAttribute,
    DeviceGetLimit,
    DeviceGetCacheConfig,
    RuntimeGetVersion,
    StreamCreate,
    StreamDestroy,
    StreamWaitEvent,
    EventCreate,
    EventDestroy,
    EventRecord,
    Malloc,
    Free,
    Memcpy,
    Memcpy2D,
    Memset,
    Memset2D,
    GraphSetConditional,
}

/// A call of a function of the runtime, decoded.
#[derive(Clone, Debug, PartialEq)]
pub struct RuntimeCall {
    pub function: RuntimeFn,
    /// Each number of each argument.
    pub operands: Vec<AddressOperand>,
    pub result: AddressOperand,
    /// What kernels of the module can launch.
    pub kernels: Arc<[Launchable]>,
}

/// A kernel that kernels of its module can launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launchable {
    pub address: u64,
    pub name: Arc<str>,
    pub param_bytes: u32,
    pub max_threads: Option<u32>,
}

/// Name without `cuda` or `__cudaCDP2`, and without `_ptsz`; arguments; result.
const FUNCTIONS: &[(&str, RuntimeFn, &[Argument], Argument)] = {
    use Argument::{Dim3, Narrow, Wide};
    use RuntimeFn as F;
    &[
        (
            "GetParameterBuffer",
            F::GetParameterBuffer,
            &[Wide, Wide],
            Wide,
        ),
        (
            "GetParameterBufferV2",
            F::GetParameterBufferV2,
            &[Wide, Dim3, Dim3, Narrow],
            Wide,
        ),
        (
            "LaunchDevice",
            F::LaunchDevice,
            &[Wide, Wide, Dim3, Dim3, Narrow, Wide],
            Narrow,
        ),
        ("LaunchDeviceV2", F::LaunchDeviceV2, &[Wide, Wide], Narrow),
        ("GetLastError", F::GetLastError, &[], Narrow),
        ("PeekAtLastError", F::PeekAtLastError, &[], Narrow),
        ("GetErrorName", F::GetErrorName, &[Narrow], Wide),
        ("GetErrorString", F::GetErrorString, &[Narrow], Wide),
        ("GetDevice", F::GetDevice, &[Wide], Narrow),
        ("GetDeviceCount", F::GetDeviceCount, &[Wide], Narrow),
        (
            "DeviceGetAttribute",
            F::DeviceGetAttribute,
            &[Wide, Narrow, Narrow],
            Narrow,
        ),
        ("DeviceGetLimit", F::DeviceGetLimit, &[Wide, Narrow], Narrow),
        (
            "DeviceGetCacheConfig",
            F::DeviceGetCacheConfig,
            &[Wide],
            Narrow,
        ),
        ("RuntimeGetVersion", F::RuntimeGetVersion, &[Wide], Narrow),
        (
            "StreamCreateWithFlags",
            F::StreamCreate,
            &[Wide, Narrow],
            Narrow,
        ),
        ("StreamDestroy", F::StreamDestroy, &[Wide], Narrow),
        (
            "StreamWaitEvent",
            F::StreamWaitEvent,
            &[Wide, Wide, Narrow],
            Narrow,
        ),
        (
            "EventCreateWithFlags",
            F::EventCreate,
            &[Wide, Narrow],
            Narrow,
        ),
        ("EventDestroy", F::EventDestroy, &[Wide], Narrow),
        ("EventRecord", F::EventRecord, &[Wide, Wide], Narrow),
        (
            "EventRecordWithFlags",
            F::EventRecord,
            &[Wide, Wide, Narrow],
            Narrow,
        ),
        (
            "GraphSetConditional",
            F::GraphSetConditional,
            &[Wide, Narrow],
            Narrow,
        ),
        ("Malloc", F::Malloc, &[Wide, Wide], Narrow),
        ("Free", F::Free, &[Wide], Narrow),
        (
            "MemcpyAsync",
            F::Memcpy,
            &[Wide, Wide, Wide, Narrow, Wide],
            Narrow,
        ),
        (
            "Memcpy2DAsync",
            F::Memcpy2D,
            &[Wide, Wide, Wide, Wide, Wide, Wide, Narrow, Wide],
            Narrow,
        ),
        (
            "MemsetAsync",
            F::Memset,
            &[Wide, Narrow, Wide, Wide],
            Narrow,
        ),
        (
            "Memset2DAsync",
            F::Memset2D,
            &[Wide, Wide, Narrow, Wide, Wide, Wide],
            Narrow,
        ),
    ]
};

/// The function that PTX calls `name`.
pub fn find(name: &str) -> Option<Callee> {
    let own = name.strip_prefix("__cudaCDP2");
    let own = own.or_else(|| name.strip_prefix("cuda"))?;
    let own = own.strip_suffix("_ptsz").unwrap_or(own);
    let mut known = FUNCTIONS.iter();
    let found = known.find(|(name, ..)| *name == own);
    found.map(|&(_, function, arguments, result)| Callee {
        function,
        arguments,
        result,
    })
}

#[cfg(test)]
mod tests;
