//! OpenCL devices. Memory is used where it lies (`CL_MEM_USE_HOST_PTR`), which is free of copies on integrated GPUs and on CPU
//! devices such as PoCL. The library is loaded when the engine is opened, so nothing is linked against it.

use std::ffi::c_void;
use std::ptr;

use opencl3::command_queue::CommandQueue;
use opencl3::context::Context;
use opencl3::device::{CL_DEVICE_TYPE_ALL, CL_DEVICE_TYPE_GPU, Device, get_all_devices};
use opencl3::error_codes::ClError;
use opencl3::kernel::{ExecuteKernel, Kernel};
use opencl3::memory::{Buffer, CL_MAP_READ, CL_MEM_READ_WRITE, CL_MEM_USE_HOST_PTR, ClMem};
use opencl3::program::Program;
use opencl3::types::CL_TRUE;
use pagemill_linux::clock;

use super::engine::{Engine, EngineEntry, EngineError, Probe, Timing, bytes_of};

const NAME: &str = "opencl";

/// The first GPU, else the first device of any kind.
pub(super) const ENTRY: EngineEntry = EngineEntry {
    name: NAME,
    summary: "an OpenCL device: a GPU if there is one, else PoCL",
    probe: look,
    open: || Ok(Box::new(OpenCl::open()?)),
};

const SOURCE: &str =
    "kernel void zero(global ulong8 *lines) { lines[get_global_id(0)] = (ulong8)(0); }";

/// What one work item clears: a `ulong8`.
const ITEM_BYTES: usize = 64;

struct OpenCl {
    queue: CommandQueue,
    kernel: Kernel,
    context: Context,
}

fn look() -> Probe {
    match device() {
        Some(device) => Probe::Ready(
            device
                .name()
                .unwrap_or_else(|_| "a nameless device".to_owned()),
        ),
        None => Probe::Missing {
            found: "no OpenCL library with a device".to_owned(),
            enable: "apt-get install ocl-icd-libopencl1 pocl-opencl-icd".to_owned(),
        },
    }
}

fn device() -> Option<Device> {
    let of_type = |kind| get_all_devices(kind).ok()?.first().copied();
    let id = of_type(CL_DEVICE_TYPE_GPU).or_else(|| of_type(CL_DEVICE_TYPE_ALL))?;
    Some(Device::new(id))
}

fn failed(what: &'static str) -> impl Fn(ClError) -> EngineError {
    move |error| EngineError::Device {
        engine: NAME,
        what,
        why: error.to_string(),
    }
}

impl OpenCl {
    fn open() -> Result<Self, EngineError> {
        let Some(device) = device() else {
            return Err(look().missing(NAME).unwrap_or(EngineError::Device {
                engine: NAME,
                what: "find its device again",
                why: "it is gone".to_owned(),
            }));
        };
        let context = Context::from_device(&device).map_err(failed("make a context"))?;
        let queue = CommandQueue::create_default_with_properties(&context, 0, 0)
            .map_err(failed("make a queue"))?;
        let program =
            Program::create_and_build_from_source(&context, SOURCE, "").map_err(|log| {
                EngineError::Device {
                    engine: NAME,
                    what: "build its kernel",
                    why: log,
                }
            })?;
        let kernel = Kernel::create(&program, "zero").map_err(failed("make its kernel"))?;
        Ok(Self {
            queue,
            kernel,
            context,
        })
    }

    /// Sends off the clearing of one page. The buffer must live until the queue is finished.
    fn enqueue(&self, page: &mut [u8]) -> Result<Buffer<u8>, ClError> {
        let start: *mut c_void = page.as_mut_ptr().cast();
        // SAFETY: the page lives, and is borrowed exclusively, until `zero` returns, which is after the queue is finished.
        let buffer = unsafe {
            let flags = CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR;
            Buffer::<u8>::create(&self.context, flags, page.len(), start)?
        };
        // SAFETY: the kernel takes one buffer, and each of its items writes its own 64 bytes of it.
        unsafe {
            ExecuteKernel::new(&self.kernel)
                .set_arg(&buffer)
                .set_global_work_size(page.len() / ITEM_BYTES)
                .enqueue_nd_range(&self.queue)?;
        }
        Ok(buffer)
    }

    /// Makes what the device wrote visible at the address of the page; free where memory is shared.
    fn bring_back(&self, buffer: &mut Buffer<u8>, bytes: usize) -> Result<(), ClError> {
        let mut mapped: *mut c_void = ptr::null_mut();
        // SAFETY: the buffer lies on host memory, so it is mapped where that memory is; nothing is read through `mapped`.
        unsafe {
            self.queue.enqueue_map_buffer(
                buffer,
                CL_TRUE,
                CL_MAP_READ,
                0,
                bytes,
                &mut mapped,
                &[],
            )?;
            self.queue
                .enqueue_unmap_mem_object(buffer.get(), mapped, &[])?;
        }
        Ok(())
    }

    fn clear(&self, pages: &mut [&mut [u8]]) -> Result<(), ClError> {
        let mut buffers = Vec::with_capacity(pages.len());
        for page in pages.iter_mut() {
            buffers.push((self.enqueue(page)?, page.len()));
        }
        for (buffer, bytes) in &mut buffers {
            self.bring_back(buffer, *bytes)?;
        }
        self.queue.finish()
    }
}

// SAFETY: OpenCL objects may be used by any thread; kernel arguments are set by one at a time, as `zero` takes `&mut self`.
unsafe impl Send for OpenCl {}

impl Engine for OpenCl {
    fn name(&self) -> &'static str {
        NAME
    }

    fn zero(&mut self, pages: &mut [&mut [u8]]) -> Result<Timing, EngineError> {
        let bytes = bytes_of(pages);
        for page in pages.iter_mut() {
            let odd = page.len() % ITEM_BYTES;
            let whole = page.len() - odd;
            page[whole..].fill(0);
        }
        let (cpu, wall) = (clock::process_cpu_ns(), clock::monotonic_ns());
        let mut whole: Vec<&mut [u8]> = pages
            .iter_mut()
            .map(|page| {
                let whole = page.len() / ITEM_BYTES * ITEM_BYTES;
                &mut page[..whole]
            })
            .filter(|page| !page.is_empty())
            .collect();
        if let Err(error) = self.clear(&mut whole) {
            // What was sent off may still run. Nothing may be borrowed any more when it does.
            return match self.queue.finish() {
                Ok(()) => Err(failed("clear")(error)),
                Err(worse) => Err(EngineError::StillWriting {
                    engine: NAME,
                    why: format!("{error}, then {worse}"),
                }),
            };
        }
        Ok(Timing {
            bytes,
            wall_ns: clock::monotonic_ns() - wall,
            cpu_ns: clock::process_cpu_ns() - cpu,
        })
    }
}

impl Drop for OpenCl {
    fn drop(&mut self) {
        // Nothing is under way: `zero` waits for the end of what it starts.
        let _ = self.queue.finish();
    }
}
