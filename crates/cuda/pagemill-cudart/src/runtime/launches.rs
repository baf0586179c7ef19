//! Kernels: launching them, and what they need.

use pagemill_ptx::{ClusterNeeds, Kernel, Param, Patience, readable_list};
use pagemill_sim::{GridShape, LaunchEnd, LaunchShape, occupancy};

use super::Runtime;
use super::device::Device;
use super::images::{FunctionKey, Kernels};
use super::streams::StreamId;
use crate::error::{CudaError, Fault};

/// Most threads of a block in its third dimension: CUDA C++ Programming Guide, every compute capability.
const BLOCK_DEPTH_MAX: u64 = 64;

/// Shape and place of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Blocks in each dimension.
    pub grid: [u32; 3],
    /// Threads of a block in each dimension.
    pub block: [u32; 3],
    /// Dynamic shared memory of a block in bytes.
    pub shared_bytes: u64,
    /// Where it waits for its turn.
    pub stream: StreamId,
    /// Whether its blocks may wait for each other.
    pub cooperative: bool,
    /// Blocks of a cluster in each dimension, if the launch says so.
    pub cluster: Option<[u32; 3]>,
}

/// What a kernel needs, in the terms of `cudaFuncGetAttributes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionAttributes {
    /// Static shared memory of a block in bytes.
    pub shared_bytes: u64,
    /// Constants of its module in bytes.
    pub constant_bytes: u64,
    /// Local memory of a thread in bytes.
    pub local_bytes: u64,
    /// Most threads that a block can have.
    pub max_threads_per_block: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Most dynamic shared memory of a block in bytes.
    pub max_dynamic_shared_bytes: u64,
    /// What the kernel says about clusters.
    pub cluster: ClusterNeeds,
    /// Whether clusters of more blocks than every GPU holds are allowed.
    pub allows_large_clusters: bool,
}

impl Device {
    fn check_shape(&self, kernel: &Kernel, launch: &Launch) -> Result<(), Fault> {
        let sm = &self.setting.machine.sm;
        let extents = launch.block.iter().map(|&extent| u64::from(extent));
        let threads = extents.fold(1, u64::saturating_mul);
        if threads > u64::from(sm.max_threads_per_block) {
            return Err(Fault::invalid(format!(
                "kernel {}: a block of {} has {threads} threads, this GPU allows {}",
                kernel.name,
                readable_list(&launch.block),
                sm.max_threads_per_block
            )));
        }
        let depth = u64::from(sm.max_threads_per_block).min(BLOCK_DEPTH_MAX);
        if u64::from(launch.block[2]) > depth {
            return Err(Fault::invalid(format!(
                "kernel {}: a block of {} is {} deep, this GPU allows {depth}",
                kernel.name,
                readable_list(&launch.block),
                launch.block[2]
            )));
        }
        Ok(())
    }

    /// Gives `malloc` in kernels a heap of `bytes`.
    ///
    /// # Errors
    /// Once a kernel has used the heap.
    pub fn set_heap_bytes(&mut self, bytes: u64) -> Result<(), Fault> {
        match self.gpu.set_heap_bytes(bytes) {
            true => Ok(()),
            false => Err(Fault::invalid(
                "cudaLimitMallocHeapSize cannot change once a kernel has called malloc",
            )),
        }
    }
}

impl<'a> Kernels<'a> {
    /// Checks a launch, and lays out the arguments: `pack` gets the kernel's parameters and the size of its argument
    /// block, and returns the block.
    ///
    /// # Errors
    /// No such kernel, or a shape that is not possible.
    pub fn prepare(
        &mut self,
        key: FunctionKey,
        launch: &Launch,
        pack: impl FnOnce(&[Param], u32) -> Result<Vec<u8>, Fault>,
    ) -> Result<Vec<u8>, Fault> {
        let (module, name) = self.kernel(key)?;
        let kernel = self.device.gpu.kernel(module, &name)?;
        self.device.check_shape(kernel, launch)?;
        self.check_shared(key, launch)?;
        let kernel = self.device.gpu.kernel(module, &name)?;
        if launch.cluster.is_some() || kernel.cluster != ClusterNeeds::default() {
            self.check_cluster(key, launch)?;
        }
        if launch.cooperative {
            self.check_residency(key, launch)?;
        }
        let kernel = self.device.gpu.kernel(module, &name)?;
        pack(&kernel.params, kernel.param_bytes)
    }

    /// A kernel has to ask for more than the plain amount of shared memory before its launch.
    fn check_shared(&mut self, key: FunctionKey, launch: &Launch) -> Result<(), Fault> {
        let attributes = self.function_attributes(key)?;
        if launch.shared_bytes <= attributes.max_dynamic_shared_bytes {
            return Ok(());
        }
        let most = self.device.setting.machine.sm.shared_bytes_per_block_max();
        Err(Fault::invalid(format!(
            "kernel {}: {} bytes of dynamic shared memory beside {} static ones are more than its {}; \
             cudaFuncSetAttribute with cudaFuncAttributeMaxDynamicSharedMemorySize allows up to {} on this GPU",
            self.modules.kernel_name(key)?,
            launch.shared_bytes,
            attributes.shared_bytes,
            attributes.max_dynamic_shared_bytes,
            u64::from(most).saturating_sub(attributes.shared_bytes)
        )))
    }

    /// Allows a kernel up to `bytes` of dynamic shared memory.
    ///
    /// # Errors
    /// If there is no such kernel, or a block of this GPU cannot have as much beside its static shared memory.
    pub fn allow_dynamic_shared(&mut self, key: FunctionKey, bytes: i32) -> Result<(), Fault> {
        let fixed = self.function_attributes(key)?.shared_bytes;
        let most = self.device.setting.machine.sm.shared_bytes_per_block_max();
        let room = u64::from(most).saturating_sub(fixed);
        let allowed = u32::try_from(bytes).ok();
        let Some(allowed) = allowed.filter(|&bytes| u64::from(bytes) <= room) else {
            return Err(Fault::invalid(format!(
                "kernel {}: {bytes} bytes of dynamic shared memory are not possible, 0 to {room} are",
                self.modules.kernel_name(key)?
            )));
        };
        let kernel = self.kernel(key)?;
        self.modules.dynamic_shared.insert(kernel, allowed);
        Ok(())
    }

    /// Blocks that wait for each other have to be resident all at once.
    fn check_residency(&mut self, key: FunctionKey, launch: &Launch) -> Result<(), Fault> {
        let threads = launch.block.iter().product();
        let per_sm = u64::from(self.blocks_per_sm(key, threads, launch.shared_bytes)?);
        let sms = u64::from(self.device.setting.machine.sm.count);
        let extents = launch.grid.iter().map(|&extent| u64::from(extent));
        let blocks = extents.fold(1, u64::saturating_mul);
        if blocks > per_sm * sms {
            let message = format!(
                "{blocks} blocks of {threads} threads were to be launched together, {sms} SMs hold {per_sm} of them each"
            );
            return Err(Fault::new(CudaError::COOPERATIVE_LAUNCH_TOO_LARGE, message));
        }
        Ok(())
    }

    /// What a kernel needs.
    ///
    /// # Errors
    /// If there is no such kernel, or its image cannot be executed.
    pub fn function_attributes(&mut self, key: FunctionKey) -> Result<FunctionAttributes, Fault> {
        let (module, name) = self.kernel(key)?;
        let sm = self.device.setting.machine.sm;
        let kernel = self.device.gpu.kernel(module, &name)?;
        let registers = kernel.allocated_registers.min(sm.max_registers_per_thread);
        let limit = kernel.max_threads.unwrap_or(sm.max_threads_per_block);
        let plain = sm
            .shared_bytes_per_block()
            .saturating_sub(kernel.shared_bytes);
        let dynamic = self.modules.dynamic_shared.get(&(module, name.clone()));
        Ok(FunctionAttributes {
            shared_bytes: kernel.shared_bytes.into(),
            constant_bytes: self.device.gpu.constant_bytes(module)?,
            local_bytes: kernel.local_bytes.into(),
            max_threads_per_block: limit.min(sm.threads_by_registers(registers)),
            registers,
            max_dynamic_shared_bytes: dynamic.copied().unwrap_or(plain).into(),
            cluster: kernel.cluster,
            allows_large_clusters: self
                .modules
                .large_clusters
                .contains(&(module, name.clone())),
        })
    }

    /// Names, offsets and sizes of a kernel's parameters.
    ///
    /// # Errors
    /// If there is no such kernel, or its image cannot be executed.
    pub fn parameters(mut self, key: FunctionKey) -> Result<&'a [Param], Fault> {
        let (module, name) = self.kernel(key)?;
        let device: &'a Device = self.device;
        Ok(&device.gpu.kernel(module, &name)?.params)
    }

    /// Most dynamic shared memory of a block in bytes, if an SM is to hold `blocks` blocks of `threads` threads.
    ///
    /// # Errors
    /// If there is no such kernel, or an SM does not hold as many blocks.
    pub fn shared_bytes_beside(
        &mut self,
        key: FunctionKey,
        blocks: u32,
        threads: u32,
    ) -> Result<u64, Fault> {
        if blocks == 0 || blocks > self.blocks_per_sm(key, threads, 0)? {
            let message = format!("an SM does not hold {blocks} blocks of {threads} threads");
            return Err(Fault::invalid(message));
        }
        let fixed = self.function_attributes(key)?.shared_bytes;
        let sm = &self.device.setting.machine.sm;
        let share = sm.shared_bytes / blocks / sm.shared_unit * sm.shared_unit;
        let room = share.saturating_sub(sm.reserved_shared_bytes());
        Ok(u64::from(room).saturating_sub(fixed))
    }

    /// How many blocks of `threads` threads an SM holds at once.
    ///
    /// # Errors
    /// If there is no such kernel, or a block has no threads.
    pub fn blocks_per_sm(
        &mut self,
        key: FunctionKey,
        threads: u32,
        dynamic_shared_bytes: u64,
    ) -> Result<u32, Fault> {
        let attributes = self.function_attributes(key)?;
        if threads == 0 {
            return Err(Fault::silent(CudaError::INVALID_VALUE));
        }
        let shared = attributes.shared_bytes.saturating_add(dynamic_shared_bytes);
        let shape = GridShape {
            blocks: 1,
            threads_per_block: threads,
            warps_per_block: threads.div_ceil(32),
            registers_per_thread: attributes.registers,
            shared_bytes_per_block: u32::try_from(shared).unwrap_or(u32::MAX),
            cluster_blocks: 1,
        };
        if dynamic_shared_bytes > attributes.max_dynamic_shared_bytes {
            return Ok(0);
        }
        Ok(occupancy(&self.device.setting.machine.sm, &shape).blocks_per_sm)
    }
}

impl Runtime {
    /// Launches a kernel. `pack` is as for `Kernels::prepare`.
    ///
    /// # Errors
    /// A shape that is not possible, or whatever stopped the kernel.
    pub fn launch(
        &mut self,
        key: FunctionKey,
        launch: &Launch,
        pack: impl FnOnce(&[Param], u32) -> Result<Vec<u8>, Fault>,
    ) -> Result<(), Fault> {
        let arguments = self.kernels().prepare(key, launch, pack)?;
        self.run_kernel(key, launch, &arguments)
    }

    /// Runs a kernel that was prepared.
    ///
    /// # Errors
    /// Whatever stopped the kernel.
    pub fn run_kernel(
        &mut self,
        key: FunctionKey,
        launch: &Launch,
        arguments: &[u8],
    ) -> Result<(), Fault> {
        let (module, name) = self.kernels().kernel(key)?;
        let shape = LaunchShape {
            grid: launch.grid,
            block: launch.block,
            dynamic_shared_bytes: launch.shared_bytes as u32,
            cooperative: launch.cooperative,
            cluster: launch.cluster,
        };
        self.place_memory(launch.stream)?;
        self.prefetch_planned(launch.stream)?;
        self.device.report_first_touches();
        let mut at = self.streams.start(launch.stream)?.at;
        let begun = self.launch_begins(launch.stream)?;
        if self.device.is_programmer_copy() {
            at = self.device.copy_open_pages(at);
        }
        let patience = match launch.stream.may_wait() {
            true => Patience::ForOthers,
            false => Patience::ToTheEnd,
        };
        let gpu = &mut self.device.gpu;
        let end = gpu.launch_for(at, module, &name, &shape, arguments, patience);
        if end.is_err() {
            self.device.close_pages_on_gpu(at);
        }
        self.launch_ended(begun, matches!(&end, Ok(LaunchEnd::Done(_))));
        self.launched(key, launch.stream, end?)
    }
}

#[cfg(test)]
mod tests;
