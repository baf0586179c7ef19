//! Launches of the driver API.

use std::ffi::{c_int, c_uint, c_void};

use pagemill_ptx::Param;

use super::driver;
use crate::error::Fault;
use crate::ffi::launch::{LaunchAttribute, apply_attributes, pack, run};
use crate::ffi::{Done, InPtr, OutPtr, address, null, with_runtime};
use crate::runtime::{FunctionKey, Launch, StreamId};

/// `CU_LAUNCH_PARAM_*`: what stands before each value of the `extra` list.
const END: usize = 0;
const BUFFER: usize = 1;
const BUFFER_BYTES: usize = 2;

/// `CUlaunchConfig`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Config {
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared_bytes: c_uint,
    stream: *mut c_void,
    attributes: *const LaunchAttribute,
    attribute_count: c_uint,
}

/// Where a program has put the arguments: one pointer for each, or all in one buffer.
#[derive(Clone, Copy)]
pub(super) struct Arguments {
    pub(super) pointers: *const *const c_void,
    pub(super) extra: *const *const c_void,
}

impl Arguments {
    /// The block of arguments of a kernel with these parameters.
    ///
    /// # Safety
    /// Both lists are null or as the driver API wants them.
    pub(super) unsafe fn block(self, params: &[Param], bytes: u32) -> Result<Vec<u8>, Fault> {
        if !self.pointers.is_null() || self.extra.is_null() {
            // SAFETY: the list has a pointer for each of `params`, to as many bytes as the parameter has.
            return unsafe { pack(self.pointers, params, bytes) };
        }
        // SAFETY: it is not null, and the driver API wants an end in it; the buffer is copied before the launch returns.
        let mut block = unsafe { buffer(self.extra) }?.to_vec();
        // Compilers of other languages leave the padding behind the last argument away.
        if block.len() > bytes as usize {
            return Err(Fault::invalid(format!(
                "the arguments have {} bytes, the kernel's parameters {bytes}",
                block.len()
            )));
        }
        block.resize(bytes as usize, 0);
        Ok(block)
    }
}

/// The buffer of an `extra` list.
///
/// # Safety
/// The list ends, and its pointers point to what it says.
unsafe fn buffer<'a>(extra: *const *const c_void) -> Result<&'a [u8], Fault> {
    let (mut start, mut bytes) = (std::ptr::null::<u8>(), None);
    let mut at = extra;
    loop {
        // SAFETY: the list has its end further on: this is a name or that end.
        let name = unsafe { at.read_unaligned() } as usize;
        if name == END {
            break;
        }
        // SAFETY: a value stands behind every name.
        let value = unsafe { at.add(1).read_unaligned() };
        match name {
            BUFFER => start = value.cast(),
            BUFFER_BYTES if !value.is_null() => {
                // SAFETY: the value points to the size.
                bytes = Some(unsafe { value.cast::<usize>().read_unaligned() })
            }
            _ => {
                let message = format!("there is no launch parameter {name}");
                return Err(Fault::invalid(message));
            }
        }
        // SAFETY: the list goes on until its end.
        at = unsafe { at.add(2) };
    }
    match bytes {
        Some(0) => Ok(&[]),
        // SAFETY: the buffer is not null, and has as many bytes as the value of `BUFFER_BYTES` says.
        Some(bytes) if !start.is_null() => Ok(unsafe { std::slice::from_raw_parts(start, bytes) }),
        _ => Err(null()),
    }
}

/// The launch that a configuration describes.
///
/// # Safety
/// The attributes that `config` points to are there.
unsafe fn described(config: InPtr<Config>) -> Result<Launch, Fault> {
    let config = config.read()?;
    let shape = Launch {
        grid: config.grid,
        block: config.block,
        shared_bytes: config.shared_bytes.into(),
        stream: StreamId(address(config.stream)),
        cooperative: false,
        cluster: None,
    };
    // SAFETY: a program's configuration has the list beside its length.
    unsafe { apply_attributes(shape, config.attributes, config.attribute_count) }
}

/// # Safety
/// As [`Arguments::block`].
unsafe fn launch(function: *const c_void, shape: &Launch, arguments: Arguments) -> Done {
    let key = FunctionKey(address(function));
    // SAFETY: `params` are those of the kernel for which the program made its lists; they stay until the launch returns.
    run(key, shape, |params, bytes| unsafe {
        arguments.block(params, bytes)
    })
}

driver! { Context:
    fn cuLaunchKernel(function: *const c_void, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, shared_bytes: c_uint, stream: *mut c_void, pointers: *const *const c_void, extra: *const *const c_void) {
        let shape = Launch {
            grid: [grid_x, grid_y, grid_z],
            block: [block_x, block_y, block_z],
            shared_bytes: shared_bytes.into(),
            stream: StreamId(address(stream)),
            cooperative: false,
            cluster: None,
        };
        // SAFETY: the program passes `pointers` as null or a pointer to an address; `extra` as null or a pointer to an
        // address.
        unsafe { launch(function, &shape, Arguments { pointers, extra }) }
    }

    fn cuLaunchCooperativeKernel(function: *const c_void, grid_x: c_uint, grid_y: c_uint, grid_z: c_uint, block_x: c_uint, block_y: c_uint, block_z: c_uint, shared_bytes: c_uint, stream: *mut c_void, pointers: *const *const c_void) {
        let shape = Launch {
            grid: [grid_x, grid_y, grid_z],
            block: [block_x, block_y, block_z],
            shared_bytes: shared_bytes.into(),
            stream: StreamId(address(stream)),
            cooperative: true,
            cluster: None,
        };
        // SAFETY: the program passes `pointers` as null or a pointer to an address.
        unsafe { launch(function, &shape, Arguments { pointers, extra: std::ptr::null() }) }
    }

    fn cuLaunchKernelEx(config: InPtr<Config>, function: *const c_void, pointers: *const *const c_void, extra: *const *const c_void) {
        // SAFETY: the program passes `config` as null or a pointer to `Config`; `pointers` as null or a pointer to an
        // address; `extra` as null or a pointer to an address.
        unsafe { launch(function, &described(config)?, Arguments { pointers, extra }) }
    }

    fn cuOccupancyMaxActiveClusters(to: OutPtr<c_int>, function: *const c_void, config: InPtr<Config>) {
        let key = FunctionKey(address(function));
        // SAFETY: the program's `config` has as many attributes as it says.
        let shape = unsafe { described(config)? };
        let clusters = with_runtime(|runtime| runtime.kernels().active_clusters(key, &shape))?;
        to.put(clusters as c_int)
    }

    fn cuOccupancyMaxPotentialClusterSize(to: OutPtr<c_int>, function: *const c_void, config: InPtr<Config>) {
        let key = FunctionKey(address(function));
        // SAFETY: the program's `config` has as many attributes as it says.
        let shape = unsafe { described(config)? };
        let blocks = with_runtime(|runtime| runtime.kernels().largest_cluster(key, &shape))?;
        to.put(blocks as c_int)
    }

    fn cuOccupancyMaxPotentialBlockSize(grid: OutPtr<c_int>, block: OutPtr<c_int>, function: *const c_void, shared_of: Option<extern "C" fn(c_int) -> usize>, shared_bytes: usize, limit: c_int) {
        let key = FunctionKey(address(function));
        let shared = |threads: u32| shared_of.map_or(shared_bytes as u64, |shared| shared(threads as c_int) as u64);
        let most = with_runtime(|runtime| Ok(runtime.kernels().function_attributes(key)?.max_threads_per_block))?;
        let most = u32::try_from(limit).ok().filter(|&limit| limit > 0).map_or(most, |limit| limit.min(most));
        let (mut best, mut best_threads, mut best_blocks) = (0, 0, 0);
        for threads in (32..=most.next_multiple_of(32).max(32)).rev().step_by(32).map(|threads| threads.min(most)) {
            let bytes = shared(threads);
            let blocks = with_runtime(|runtime| runtime.kernels().blocks_per_sm(key, threads, bytes))?;
            if blocks * threads > best {
                (best, best_threads, best_blocks) = (blocks * threads, threads, blocks);
            }
        }
        let sms = with_runtime(|runtime| Ok(runtime.device.setting.machine.sm.count))?;
        grid.put((best_blocks * sms) as c_int)?;
        block.put(best_threads as c_int)
    }
}
