//! What kernels have asked for and what they hold, apart from memory.

use std::collections::{BTreeMap, BTreeSet};

use super::codes::Refusal;
use super::work::{DeviceWork, QueuedWork};
use pagemill_ptx_ir::code::device_calls::Launchable;

/// Levels of grids below one that the host launched.
const DEPTH_MAX: u32 = 24;
/// Launches that may wait unless the program says otherwise: `cudaLimitDevRuntimePendingLaunchCount`.
const PENDING_MAX: u64 = 2048;
/// The number of that limit.
const PENDING_LIMIT: i32 = 4;

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

/// What kernels have asked for, and what they hold.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeviceRuntime {
    pub facts: DeviceFacts,
    /// Address of the parameter buffers, and the bytes of them that are in use.
    pub(super) buffers: Option<(u64, u64)>,
    /// What each buffer that was not launched yet is for, by address; `None` where the launch says so.
    pub(super) prepared: BTreeMap<u64, Option<Prepared>>,
    pub(super) queue: Vec<QueuedWork>,
    /// Work of other grids that has not run yet.
    pub(super) waiting_elsewhere: u64,
    /// How many grids the running one is below one of the host.
    pub(super) depth: u32,
    /// The last error of each thread that had one.
    pub(super) errors: BTreeMap<u64, i32>,
    handles: BTreeSet<u64>,
    next_handle: u64,
    /// Addresses of texts, by code; names and descriptions.
    pub(super) texts: BTreeMap<(i32, bool), u64>,
    /// Values of the conditional nodes of graphs, by handle.
    pub conditionals: BTreeMap<u64, u32>,
}

/// A launch whose parameters are being filled in.
#[derive(Clone, Debug)]
pub(super) struct Prepared {
    pub(super) kernel: Launchable,
    pub(super) shape: Shape,
}

/// The shape of a device-side launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared_bytes: u32,
}

impl DeviceRuntime {
    fn pending(&self) -> u64 {
        self.waiting_elsewhere + (self.prepared.len() + self.queue.len()) as u64
    }

    pub(super) fn check_pending(&self) -> Result<(), Refusal> {
        let most = self.facts.limits.get(&PENDING_LIMIT);
        match self.pending() < most.copied().unwrap_or(PENDING_MAX) {
            true => Ok(()),
            false => Err(Refusal::TooManyPending),
        }
    }

    /// Queues `work` on `stream`.
    pub(super) fn enqueue(&mut self, stream: u64, work: DeviceWork) -> Result<(), Refusal> {
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
