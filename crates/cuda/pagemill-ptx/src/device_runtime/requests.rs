//! Requests of kernels that concern memory, and the work that they have queued.

use super::codes::Refusal;
use super::state::{DeviceFacts, Prepared, Shape};
use super::work::{DeviceLaunch, DeviceWork, QueuedWork};
use crate::launch;
use crate::memory::{DeviceMemory, MemoryError};
use pagemill_ptx_ir::code::device_calls::Launchable;

/// Bytes of all parameter buffers of a grid.
const BUFFERS_BYTES: u64 = 16 << 20;
const BUFFER_ALIGN: u64 = 64;

fn check_shape(shape: &Shape, kernel: &Launchable) -> Result<(), Refusal> {
    if launch::is_shape_possible(shape.grid, shape.block, kernel.max_threads) {
        return Ok(());
    }
    Err(Refusal::InvalidConfiguration)
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

    /// What kernels may ask about the device.
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
            check_shape(shape, kernel)?;
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
        check_shape(&shape, &kernel)?;
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

impl DeviceWork {
    /// Carries out a copy or a fill; returns the bytes that were read and written. A launch does nothing here.
    ///
    /// # Errors
    /// If bytes are not within an allocation.
    pub fn move_bytes(&self, memory: &mut DeviceMemory) -> Result<u64, MemoryError> {
        match *self {
            Self::Launch(_) => Ok(0),
            Self::Copy {
                to,
                from,
                width,
                rows,
            } => {
                for row in (0..rows).filter(|_| width > 0) {
                    let bytes = memory.bytes(from.at(row), width)?.to_vec();
                    memory.bytes_mut(to.at(row), width)?.copy_from_slice(&bytes);
                }
                Ok(width.saturating_mul(rows).saturating_mul(2))
            }
            Self::Fill {
                to,
                value,
                width,
                rows,
            } => {
                for row in (0..rows).filter(|_| width > 0) {
                    memory.bytes_mut(to.at(row), width)?.fill(value);
                }
                Ok(width.saturating_mul(rows))
            }
        }
    }
}
