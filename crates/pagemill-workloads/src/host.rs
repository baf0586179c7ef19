//! The few host calls that every program makes, over whole buffers.

use pagemill_sim::{Buffer, Gpu};

use crate::WorkloadError;

/// Allocates a buffer and writes its contents as the CPU program would, untimed.
pub(crate) fn input(
    gpu: &mut Gpu,
    name: &str,
    bytes: u64,
    write: impl FnOnce(&mut [u8]),
) -> Result<Buffer, WorkloadError> {
    let buffer = gpu.alloc(name, bytes)?;
    write(gpu.host_bytes_mut(buffer));
    upload(gpu, buffer)?;
    Ok(buffer)
}

/// Copies a whole buffer to the GPU.
pub(crate) fn upload(gpu: &mut Gpu, buffer: Buffer) -> Result<(), WorkloadError> {
    gpu.copy_to_gpu(buffer, 0..buffer.bytes)?;
    Ok(())
}

/// Copies a whole buffer to the host.
pub(crate) fn download(gpu: &mut Gpu, buffer: Buffer) -> Result<(), WorkloadError> {
    gpu.copy_from_gpu(buffer, 0..buffer.bytes)?;
    Ok(())
}

/// Copies result buffers to the host if the program was asked to.
pub(crate) fn download_results(
    gpu: &mut Gpu,
    read_results: bool,
    buffers: &[Buffer],
) -> Result<(), WorkloadError> {
    if read_results {
        for &buffer in buffers {
            download(gpu, buffer)?;
        }
    }
    Ok(())
}
