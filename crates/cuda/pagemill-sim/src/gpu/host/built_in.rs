//! The host of a built-in program: one thread that waits for each of its calls, and what it does around launches because of
//! the transfer mode.

use crate::gpu::error::GpuError;
use crate::gpu::host::device::{Buffer, Gpu, Options, TransferMode};
use crate::gpu::host::program::{Arg, LaunchShape, ModuleId, pack_arguments};
use crate::gpu::host::report::{LaunchReport, Report};
use crate::gpu::machine::{GpuMachine, HostCopies, HostReads};
use crate::gpu::stream::GridStream;
use pagemill_pages::SpecError;
use pagemill_pages::parts::link::Direction;
use pagemill_types::{Picos, VirtAddr};
use std::ops::Range;

/// A program's thread on the CPU, with the GPU that it uses.
#[derive(Debug)]
pub struct Host {
    /// The GPU, for everything that takes no time.
    pub gpu: Gpu,
    now: Picos,
    reads: HostReads,
    copies: HostCopies,
    allocations: Vec<Allocation>,
}

/// What the program has allocated.
#[derive(Debug)]
struct Allocation {
    buffer: Buffer,
    /// Bytes that the program has not copied to the GPU.
    uncopied: u64,
}

impl Host {
    /// A program that begins, with a GPU of its own.
    ///
    /// # Errors
    /// As [`Gpu::new`].
    pub fn new(
        machine: &GpuMachine,
        mode: TransferMode,
        options: Options,
    ) -> Result<Self, SpecError> {
        Ok(Self {
            gpu: Gpu::new(machine, mode, options)?,
            now: Picos::ZERO,
            reads: machine.host_reads,
            copies: machine.host_copies,
            allocations: Vec::new(),
        })
    }

    /// When the last call was done.
    pub fn now(&self) -> Picos {
        self.now
    }

    /// As [`Gpu::alloc`].
    ///
    /// # Errors
    /// As [`Gpu::alloc`].
    pub fn alloc(&mut self, name: &str, bytes: u64) -> Result<Buffer, GpuError> {
        let buffer = self.gpu.alloc(name, bytes)?;
        let uncopied = bytes;
        self.allocations.push(Allocation { buffer, uncopied });
        Ok(buffer)
    }

    /// As [`Gpu::free`].
    ///
    /// # Errors
    /// As [`Gpu::free`].
    pub fn free(&mut self, address: VirtAddr) -> Result<(), GpuError> {
        self.gpu.free(self.now, address)
    }

    /// As [`Gpu::copy_to_gpu`], and waits for it.
    ///
    /// # Errors
    /// If `range` is not within the buffer.
    pub fn copy_to_gpu(&mut self, buffer: Buffer, range: Range<u64>) -> Result<(), GpuError> {
        let bytes = range.end.saturating_sub(range.start);
        self.now = self.gpu.copy_to_gpu(self.now, buffer, range)?;
        let mut known = self.allocations.iter_mut();
        if let Some(allocation) = known.find(|allocation| allocation.buffer == buffer) {
            allocation.uncopied = allocation.uncopied.saturating_sub(bytes);
        }
        Ok(())
    }

    /// As [`Gpu::copy_from_gpu`], and waits for it.
    ///
    /// # Errors
    /// If `range` is not within the buffer.
    pub fn copy_from_gpu(&mut self, buffer: Buffer, range: Range<u64>) -> Result<(), GpuError> {
        self.now = self.gpu.copy_from_gpu(self.now, buffer, range)?;
        Ok(())
    }

    /// Runs `kernel` of a module over `grid` blocks of `block` threads and waits for its end.
    ///
    /// # Errors
    /// As [`Gpu::launch`]; arguments that do not fit the kernel's parameters.
    pub fn launch(
        &mut self,
        module: ModuleId,
        kernel: &str,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_shared_bytes: u32,
        args: &[Arg],
    ) -> Result<LaunchReport, GpuError> {
        let packed = pack_arguments(self.gpu.kernel(module, kernel)?, args)?;
        let shape = LaunchShape {
            grid,
            block,
            dynamic_shared_bytes,
            cooperative: false,
            cluster: None,
        };
        self.launch_packed(module, kernel, &shape, &packed)
    }

    /// As [`Gpu::launch`], and waits for its end.
    ///
    /// # Errors
    /// As [`Gpu::launch`].
    pub fn launch_packed(
        &mut self,
        module: ModuleId,
        kernel: &str,
        shape: &LaunchShape,
        arguments: &[u8],
    ) -> Result<LaunchReport, GpuError> {
        self.prepare_launch();
        let launched = self
            .gpu
            .launch(self.now, module, kernel, shape, arguments)?;
        self.now = launched.done;
        Ok(launched.report)
    }

    /// As [`Gpu::launch_grid`], and waits for its end.
    ///
    /// # Errors
    /// As [`Gpu::launch_grid`].
    pub fn launch_grid<S: GridStream>(
        &mut self,
        kernel: &str,
        stream: &mut S,
    ) -> Result<LaunchReport, GpuError> {
        self.prepare_launch();
        let report = self.gpu.launch_grid(self.now, kernel, stream)?;
        self.now = report.stats.end;
        Ok(report)
    }

    /// Ends the run; returns its results.
    pub fn finish(self) -> Report {
        self.gpu.finish(self.now)
    }

    /// What the transfer mode has the program do before a launch: place its data, copy, read what the last launch left.
    fn prepare_launch(&mut self) {
        if !self.gpu.options.timing {
            return;
        }
        self.now = self.gpu.place_data(self.now);
        self.copy_the_rest();
        self.read_between_launches();
    }

    /// A programmer who copies everything also copies what the GPU only writes.
    fn copy_the_rest(&mut self) {
        // "All the data that the GPU needs" are copied before it runs (Zhang et al. 2019, section 5): outputs are among them.
        if self.copies == HostCopies::Inputs || !self.gpu.timing_model.copies() {
            return;
        }
        for allocation in &mut self.allocations {
            let bytes = std::mem::take(&mut allocation.uncopied);
            self.now = self.gpu.transfer(self.now, bytes, Direction::ToGpu);
        }
    }

    /// What the CPU reads before every launch but the first.
    fn read_between_launches(&mut self) {
        if self.reads == HostReads::Nothing || !self.gpu.timing_model.has_launched() {
            return;
        }
        for Allocation { buffer, .. } in &self.allocations {
            let (address, bytes) = (buffer.address.0, buffer.bytes);
            let timing_model = &mut self.gpu.timing_model;
            self.now = timing_model.copy(self.now, address, bytes, Direction::ToCpu);
        }
    }
}
