//! The part of the CUDA runtime that kernels call themselves: launches, copies and fills, streams, errors.
//!
//! A kernel only asks. What it asks for waits in a queue until its grid has ended, because a kernel of compute capability
//! 9.0 cannot wait for its children; who runs grids takes the queue then ([`DeviceMemory::take_device_work`]). A parameter
//! buffer is memory that the parent fills with ordinary stores. See `docs/adr/0026-device-launches.md`.
//!
//! [`DeviceMemory::take_device_work`]: crate::DeviceMemory::take_device_work

mod built_in;
mod calls;
mod codes;
mod work;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::launch;
use crate::memory::DeviceMemory;

pub(crate) use built_in::{built_in, with_built_in};
pub(crate) use calls::{Argument, Callee, NUMBERS_MAX, RuntimeCall, RuntimeFn, find};
pub(crate) use codes::Refusal;
pub use work::{DeviceLaunch, DeviceWork, QueuedWork, Rows};

/// Levels of grids below one that the host launched.
const DEPTH_MAX: u32 = 24;
/// Launches that may wait unless the program says otherwise: `cudaLimitDevRuntimePendingLaunchCount`.
const PENDING_MAX: u64 = 2048;
/// The number of that limit.
const PENDING_LIMIT: i32 = 4;
/// Bytes of all parameter buffers of a grid.
const BUFFERS_BYTES: u64 = 16 << 20;
const BUFFER_ALIGN: u64 = 64;

/// `cudaStreamTailLaunch`.
const TAIL_STREAM: u64 = 3;
/// `cudaStreamFireAndForget`; below it are the default streams.
const LAST_FIXED_STREAM: u64 = 4;
/// First handle of what kernels create.
const FIRST_HANDLE: u64 = 0x1000;

/// What kernels may ask about the device that they run on. Numbers are those of CUDA's enumerations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceFacts {
    /// Version of the runtime: 1000 times the major and 10 times the minor version.
    pub runtime_version: i32,
    /// `cudaDeviceAttr` and value.
    pub attributes: BTreeMap<i32, i32>,
    /// `cudaLimit` and value.
    pub limits: BTreeMap<i32, u64>,
    /// Name and description of each `cudaError_t`.
    pub errors: BTreeMap<i32, (String, String)>,
}

/// A kernel that kernels of its module can launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Launchable {
    pub address: u64,
    pub name: Arc<str>,
    pub param_bytes: u32,
    pub max_threads: Option<u32>,
}

/// What kernels have asked for, and what they hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeviceRuntime {
    pub facts: DeviceFacts,
    /// Address of the parameter buffers, and the bytes of them that are in use.
    buffers: Option<(u64, u64)>,
    /// What each buffer that was not launched yet is for, by address; `None` where the launch says so.
    prepared: BTreeMap<u64, Option<Prepared>>,
    queue: Vec<QueuedWork>,
    /// Work of other grids that has not run yet.
    waiting_elsewhere: u64,
    /// How many grids the running one is below one of the host.
    depth: u32,
    /// The last error of each thread that had one.
    errors: BTreeMap<u64, i32>,
    handles: BTreeSet<u64>,
    next_handle: u64,
    /// Addresses of texts, by code; names and descriptions.
    texts: BTreeMap<(i32, bool), u64>,
    /// Values of the conditional nodes of graphs, by handle.
    pub conditionals: BTreeMap<u64, u32>,
}

/// A launch whose parameters are being filled in.
#[derive(Clone, Debug)]
struct Prepared {
    kernel: Launchable,
    shape: Shape,
}

/// The shape of a device-side launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared_bytes: u32,
}

impl Shape {
    fn check(&self, kernel: &Launchable) -> Result<(), Refusal> {
        if launch::is_shape_possible(self.grid, self.block, kernel.max_threads) {
            return Ok(());
        }
        Err(Refusal::InvalidConfiguration)
    }
}

impl DeviceRuntime {
    fn pending(&self) -> u64 {
        self.waiting_elsewhere + (self.prepared.len() + self.queue.len()) as u64
    }

    fn check_pending(&self) -> Result<(), Refusal> {
        let most = self.facts.limits.get(&PENDING_LIMIT);
        match self.pending() < most.copied().unwrap_or(PENDING_MAX) {
            true => Ok(()),
            false => Err(Refusal::TooManyPending),
        }
    }

    /// Queues `work` on `stream`.
    fn enqueue(&mut self, stream: u64, work: DeviceWork) -> Result<(), Refusal> {
        if stream > LAST_FIXED_STREAM && !self.handles.contains(&stream) {
            return Err(Refusal::InvalidHandle);
        }
        let is_tail = stream == TAIL_STREAM;
        // A grid of the tail stream takes the place of its parent.
        let depth = self.depth + u32::from(!is_tail);
        if depth > DEPTH_MAX {
            return Err(Refusal::TooDeep);
        }
        self.queue.push(QueuedWork {
            work,
            is_tail,
            depth,
        });
        Ok(())
    }

    /// A new stream or event.
    pub(crate) fn create(&mut self) -> u64 {
        self.next_handle = self.next_handle.max(FIRST_HANDLE) + 1;
        self.handles.insert(self.next_handle);
        self.next_handle
    }

    /// Forgets a stream or event. What it holds goes on.
    pub(crate) fn destroy(&mut self, handle: u64) -> Result<(), Refusal> {
        match self.handles.remove(&handle) {
            true => Ok(()),
            false => Err(Refusal::InvalidHandle),
        }
    }

    /// Whether all of `handles` are streams or events. Work runs in the order in which it was asked for, so events need
    /// no more.
    pub(crate) fn check_handles(&self, handles: &[u64]) -> Result<(), Refusal> {
        let is_known = |handle: &u64| *handle <= LAST_FIXED_STREAM || self.handles.contains(handle);
        match handles.iter().all(is_known) {
            true => Ok(()),
            false => Err(Refusal::InvalidHandle),
        }
    }

    pub(crate) fn note_error(&mut self, thread: u64, code: i32) {
        self.errors.insert(thread, code);
    }

    /// The last error of a thread, or 0; forgotten if `takes`.
    pub(crate) fn last_error(&mut self, thread: u64, takes: bool) -> i32 {
        let error = match takes {
            true => self.errors.remove(&thread),
            false => self.errors.get(&thread).copied(),
        };
        error.unwrap_or(0)
    }
}

impl DeviceMemory {
    /// The value that a kernel or the host gave a conditional node of a graph; 0 if none did.
    pub fn conditional(&self, handle: u64) -> u32 {
        let values = &self.device_runtime.conditionals;
        values.get(&handle).copied().unwrap_or(0)
    }

    /// Gives the conditional node of a handle a value.
    pub fn set_conditional(&mut self, handle: u64, value: u32) {
        self.device_runtime.conditionals.insert(handle, value);
    }

    /// What kernels are told about the device.
    pub fn device_facts_mut(&mut self) -> &mut DeviceFacts {
        &mut self.device_runtime.facts
    }

    /// Takes what the grid that has ended asked for, in that order. Nothing it held is valid any more.
    pub fn take_device_work(&mut self) -> Vec<QueuedWork> {
        let runtime = &mut self.device_runtime;
        runtime.prepared.clear();
        runtime.errors.clear();
        if let Some((_, used)) = &mut runtime.buffers {
            *used = 0;
        }
        std::mem::take(&mut runtime.queue)
    }

    /// The next grid is `depth` grids below one of the host, and `waiting` pieces of work of others wait.
    pub fn begin_device_grid(&mut self, depth: u32, waiting: u64) {
        self.device_runtime.depth = depth;
        self.device_runtime.waiting_elsewhere = waiting;
    }

    /// A buffer for the parameters of a launch: of `kernel`, or of what the launch will name.
    pub(crate) fn parameter_buffer(
        &mut self,
        kernel: Option<(&Launchable, Shape)>,
        bytes: u64,
    ) -> Result<u64, Refusal> {
        self.device_runtime.check_pending()?;
        if let Some((kernel, shape)) = &kernel {
            shape.check(kernel)?;
        }
        let (start, used) = match self.device_runtime.buffers {
            Some(buffers) => buffers,
            None => (
                self.alloc("parameters of device-side launches", BUFFERS_BYTES, 256)
                    .map_err(|_| Refusal::OutOfMemory)?,
                0,
            ),
        };
        let end = used
            .saturating_add(bytes.max(1))
            .checked_next_multiple_of(BUFFER_ALIGN);
        let end = end.filter(|end| *end <= BUFFERS_BYTES);
        let runtime = &mut self.device_runtime;
        runtime.buffers = Some((start, end.unwrap_or(used)));
        if end.is_none() {
            return Err(Refusal::TooManyPending);
        }
        let prepared = kernel.map(|(kernel, shape)| Prepared {
            kernel: kernel.clone(),
            shape,
        });
        runtime.prepared.insert(start + used, prepared);
        Ok(start + used)
    }

    /// Queues the launch that `buffer` was filled for; `kernel` is what a launch names whose buffer does not say.
    pub(crate) fn launch_from_kernel(
        &mut self,
        buffer: u64,
        kernel: Option<(&Launchable, Shape)>,
        stream: u64,
    ) -> Result<(), Refusal> {
        let prepared = self.device_runtime.prepared.remove(&buffer);
        let prepared = prepared.ok_or(Refusal::InvalidValue)?;
        let named = kernel.map(|(kernel, shape)| Prepared {
            kernel: kernel.clone(),
            shape,
        });
        let Prepared { kernel, shape } = prepared.or(named).ok_or(Refusal::InvalidValue)?;
        shape.check(&kernel)?;
        let arguments = self.bytes(buffer, kernel.param_bytes.into());
        let arguments = arguments.map_err(|_| Refusal::InvalidValue)?.to_vec();
        let launch = DeviceLaunch {
            kernel: kernel.name,
            grid: shape.grid,
            block: shape.block,
            dynamic_shared_bytes: shape.shared_bytes,
            arguments,
        };
        self.device_runtime
            .enqueue(stream, DeviceWork::Launch(launch))
    }

    /// Queues a copy or a fill.
    pub(crate) fn copy_from_kernel(
        &mut self,
        stream: u64,
        work: DeviceWork,
    ) -> Result<(), Refusal> {
        self.device_runtime.check_pending()?;
        self.device_runtime.enqueue(stream, work)
    }

    /// The address of the name or description of an error.
    pub(crate) fn error_text(&mut self, code: i32, is_name: bool) -> u64 {
        if let Some(&address) = self.device_runtime.texts.get(&(code, is_name)) {
            return address;
        }
        let known = self.device_runtime.facts.errors.get(&code);
        let text = known.map_or("unrecognized error code", |(name, description)| {
            if is_name { name } else { description }
        });
        let text = [text.as_bytes(), &[0]].concat();
        let Ok(address) = self.alloc("text of an error", text.len() as u64, 16) else {
            return 0;
        };
        if let Ok(place) = self.bytes_mut(address, text.len() as u64) {
            place.copy_from_slice(&text);
        }
        self.device_runtime.texts.insert((code, is_name), address);
        address
    }
}
