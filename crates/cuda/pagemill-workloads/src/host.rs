//! The few host calls that every program makes, over whole buffers.

use pagemill_sim::{Buffer, Host};

use crate::WorkloadError;

/// Allocates a buffer and writes its contents as the CPU program would, untimed.
pub(crate) fn input(
    host: &mut Host,
    name: &str,
    bytes: u64,
    write: impl FnOnce(&mut [u8]),
) -> Result<Buffer, WorkloadError> {
    let buffer = host.alloc(name, bytes)?;
    write(host.gpu.host_bytes_mut(buffer));
    upload(host, buffer)?;
    Ok(buffer)
}

/// Copies a whole buffer to the GPU.
pub(crate) fn upload(host: &mut Host, buffer: Buffer) -> Result<(), WorkloadError> {
    host.copy_to_gpu(buffer, 0..buffer.bytes)?;
    Ok(())
}

/// Copies a whole buffer to the host.
pub(crate) fn download(host: &mut Host, buffer: Buffer) -> Result<(), WorkloadError> {
    host.copy_from_gpu(buffer, 0..buffer.bytes)?;
    Ok(())
}

/// Copies result buffers to the host if the program was asked to.
pub(crate) fn download_results(
    host: &mut Host,
    read_results: bool,
    buffers: &[Buffer],
) -> Result<(), WorkloadError> {
    if read_results {
        for &buffer in buffers {
            download(host, buffer)?;
        }
    }
    Ok(())
}
