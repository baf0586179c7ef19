//! Records of CUPTI's activity API.
//!
//! The numbers are of `cupti_activity.h` in NVIDIA's packages nvidia-cuda-cupti-cu12 (12.0 to 12.9) and nvidia-cuda-cupti (13.0 to
//! 13.5). From one to the next, a record of a kernel grew from 208 to 248 bytes, of managed memory from 64 to 104, of a copy from 88 to
//! 112, of a fill from 88 to 104: always behind the fields that are read here, which have kept their places.

use std::sync::Arc;

use pagemill_gpu::recording::{
    Access, Cause, Copy, CopyKind, CpuFault, Direction, FaultGroup, Kernel, Recording, Transfer,
};

pub const COPY: u32 = 1;
pub const FILL: u32 = 2;
pub const KERNEL: u32 = 10;
pub const MANAGED: u32 = 25;

/// What records of managed memory count, but for movements between GPUs.
pub const COUNTERS: [u32; 7] = [
    BYTES_TO_GPU,
    BYTES_TO_CPU,
    CPU_FAULT,
    GPU_FAULT,
    THRASHING,
    THROTTLING,
    REMOTE_MAP,
];
const BYTES_TO_GPU: u32 = 1;
const BYTES_TO_CPU: u32 = 2;
const CPU_FAULT: u32 = 3;
const GPU_FAULT: u32 = 4;
const THRASHING: u32 = 5;
const THROTTLING: u32 = 6;
const REMOTE_MAP: u32 = 7;

// By CUPTI's numbers.
const CAUSES: [Cause; 6] = [
    Cause::Unknown,
    Cause::User,
    Cause::Coherence,
    Cause::Prefetch,
    Cause::Eviction,
    Cause::AccessCounters,
];
const ACCESSES: [Access; 5] = [
    Access::Unknown,
    Access::Read,
    Access::Write,
    Access::Atomic,
    Access::Prefetch,
];
/// Between them are those of CUDA arrays.
const COPY_KINDS: [CopyKind; 11] = {
    let mut kinds = [CopyKind::Other; 11];
    kinds[1] = CopyKind::CpuToGpu;
    kinds[2] = CopyKind::GpuToCpu;
    kinds[8] = CopyKind::GpuToGpu;
    kinds[9] = CopyKind::CpuToCpu;
    kinds[10] = CopyKind::GpuToGpu;
    kinds
};

/// Why records of a CUPTI that calls itself `version` are not read, if they are not.
///
/// # Errors
/// The reason, for the user.
pub fn check(version: u32) -> Result<(), String> {
    const KNOWN: &str =
        "the CUPTIs whose records this pagemill knows are those of CUDA 12.0 to 13.5";
    // Up to CUDA 12.9 the versions were counted; since 13.0 they are made of the numbers of CUDA's release, and an update.
    match version {
        18..=28 | 130_000..130_600 => Ok(()),
        130_600.. => Err(format!(
            "CUPTI {}.{} is newer than 13.5: {KNOWN}",
            version / 10_000,
            version / 100 % 100
        )),
        _ => Err(format!("CUPTI has interface version {version}: {KNOWN}")),
    }
}

/// Adds the record that `bytes` start with to `all`; `name_at` makes a kernel's name of an address. `None` if it does not end in them.
pub fn read(
    bytes: &[u8],
    all: &mut Recording,
    name_at: impl FnOnce(u64) -> Arc<str>,
) -> Option<()> {
    match u32_at(bytes, 0)? {
        KERNEL => all.kernels.push(Kernel {
            registers: u16::from_ne_bytes(at(bytes, 6)?).into(),
            start_ns: u64_at(bytes, 16)?,
            end_ns: u64_at(bytes, 24)?,
            stream: u32_at(bytes, 48)?,
            grid: three_at(bytes, 52)?,
            block: three_at(bytes, 64)?,
            correlation: u32_at(bytes, 92)?,
            name: name_at(u64_at(bytes, 104)?),
        }),
        kind @ (COPY | FILL) => {
            let between = usize::from(*bytes.get(4)?);
            let known = COPY_KINDS.get(between).copied();
            all.copies.push(Copy {
                kind: match kind {
                    FILL => CopyKind::Fill,
                    _ => known.unwrap_or(CopyKind::Other),
                },
                bytes: u64_at(bytes, 8)?,
                start_ns: u64_at(bytes, 16)?,
                end_ns: u64_at(bytes, 24)?,
            });
        }
        MANAGED => return read_managed(bytes, all),
        _ => all.others += 1,
    }
    Some(())
}

fn read_managed(bytes: &[u8], all: &mut Recording) -> Option<()> {
    let counter = u32_at(bytes, 4)?;
    let (value, address) = (u64_at(bytes, 8)?, u64_at(bytes, 32)?);
    let (start_ns, end_ns) = (u64_at(bytes, 16)?, u64_at(bytes, 24)?);
    let flags = u32_at(bytes, 56)? as usize;
    match counter {
        BYTES_TO_GPU | BYTES_TO_CPU => all.transfers.push(Transfer {
            kind: match counter {
                BYTES_TO_GPU => Direction::ToGpu,
                _ => Direction::ToCpu,
            },
            start_ns,
            end_ns,
            address,
            bytes: value,
            cause: CAUSES.get(flags).copied().unwrap_or(Cause::Unknown),
        }),
        CPU_FAULT => all.cpu_faults.push(CpuFault {
            at_ns: start_ns,
            address,
        }),
        GPU_FAULT => all.fault_groups.push(FaultGroup {
            start_ns,
            end_ns,
            address,
            faults: value,
            access: ACCESSES.get(flags).copied().unwrap_or(Access::Unknown),
        }),
        THRASHING => all.thrashing += 1,
        THROTTLING => all.throttling += 1,
        REMOTE_MAP => all.remote_maps += 1,
        _ => all.others += 1,
    }
    Some(())
}

fn at<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

fn u32_at(bytes: &[u8], place: usize) -> Option<u32> {
    at(bytes, place).map(u32::from_ne_bytes)
}

fn u64_at(bytes: &[u8], place: usize) -> Option<u64> {
    at(bytes, place).map(u64::from_ne_bytes)
}

fn three_at(bytes: &[u8], place: usize) -> Option<[u32; 3]> {
    let [x, y, z] = [0, 4, 8].map(|after| u32_at(bytes, place + after));
    Some([x?, y?, z?])
}
