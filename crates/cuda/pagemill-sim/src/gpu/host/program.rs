//! PTX programs on the GPU: modules, arguments, launches.

use crate::gpu::error::GpuError;
use crate::gpu::host::device::{Buffer, Gpu};
use crate::gpu::host::report::LaunchReport;
use crate::gpu::host::timing_model::{GridEnd, TimingModel};
use crate::gpu::stats::ExecutionStats;
use crate::gpu::stream::ptx::{PtxGrid, grid_shape, kernel_costs};
use pagemill_ptx::{
    Block, Executor, FunctionalRun, InstructionCosts, IssueOrder, Kernel, Launch, Linked, Module,
    Patience,
};
use pagemill_types::{Picos, VirtAddr};
use std::collections::BTreeMap;

/// A loaded module of one [`Gpu`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModuleId(pub(in crate::gpu) u32);

/// One kernel argument. Structures by value are laid out by the host, see [`Gpu::launch`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Arg {
    /// A pointer to the first byte of a buffer.
    Buffer(Buffer),
    /// A 32-bit unsigned integer.
    U32(u32),
    /// A 32-bit signed integer.
    I32(i32),
    /// A single-precision number.
    F32(f32),
    /// A 64-bit unsigned integer, or a pointer.
    U64(u64),
    /// A 64-bit signed integer.
    I64(i64),
    /// A double-precision number.
    F64(f64),
}

impl Arg {
    /// Its bytes, little-endian.
    fn to_bytes(self) -> Vec<u8> {
        match self {
            Self::Buffer(buffer) => buffer.address.0.to_le_bytes().to_vec(),
            Self::U32(value) => value.to_le_bytes().to_vec(),
            Self::I32(value) => value.to_le_bytes().to_vec(),
            Self::F32(value) => value.to_le_bytes().to_vec(),
            Self::U64(value) => value.to_le_bytes().to_vec(),
            Self::I64(value) => value.to_le_bytes().to_vec(),
            Self::F64(value) => value.to_le_bytes().to_vec(),
        }
    }
}

/// Where the execution of a launch stands, see [`Gpu::observe_execution`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExecutionMark {
    /// It begins.
    Begin,
    /// It has ended.
    End,
}

/// A launch of the host that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Launched {
    /// What happened in its own grid.
    pub report: LaunchReport,
    /// When everything that it led to was done.
    pub done: Picos,
}

/// The shape of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchShape {
    /// Blocks in each dimension.
    pub grid: [u32; 3],
    /// Threads of a block in each dimension.
    pub block: [u32; 3],
    /// Shared memory of a block beyond what the kernel declares, in bytes.
    pub dynamic_shared_bytes: u32,
    /// Whether the blocks of the grid may wait for each other: all of them have to be resident at once.
    pub cooperative: bool,
    /// Blocks of a cluster in each dimension; `None` for what the kernel says.
    pub cluster: Option<[u32; 3]>,
}

/// A module whose variables are placed in device memory, with the costs of the kernels that were launched.
#[derive(Debug)]
pub(in crate::gpu) struct LoadedModule {
    module: Module,
    linked: Linked,
    costs: BTreeMap<String, InstructionCosts>,
}

impl LoadedModule {
    pub(in crate::gpu) fn kernel_names(&self) -> Vec<String> {
        let kernels = self.module.kernels().iter();
        kernels.map(|kernel| kernel.name.clone()).collect()
    }

    pub(in crate::gpu) fn kernel(&self, name: &str) -> Result<&Kernel, GpuError> {
        self.module.kernel(name).ok_or_else(|| {
            if let Some(failure) = self.module.failure(name) {
                return GpuError::Ptx(failure.clone());
            }
            let names: Vec<&str> = self
                .module
                .kernels()
                .iter()
                .map(|kernel| kernel.name.as_str())
                .collect();
            GpuError::UnknownKernel {
                module: self.module.source_name().to_owned(),
                kernel: name.to_owned(),
                known: if names.is_empty() {
                    "it has none".to_owned()
                } else {
                    format!("it has {}", names.join(", "))
                },
            }
        })
    }
}

impl Gpu {
    /// Loads PTX text and places its variables, which are always on the GPU. `source_name` is for messages.
    ///
    /// # Errors
    /// What is wrong with the text: place, instruction, and what to do.
    pub fn load_module(&mut self, source_name: &str, ptx_text: &str) -> Result<ModuleId, GpuError> {
        let module = Module::load_ordered(source_name, ptx_text, self.issue_order())?.whole()?;
        self.add_module(module, &BTreeMap::new())
    }

    /// The same, with the variables named in `placed` at these addresses, in memory that was allocated or lent for them.
    /// Kernels that cannot be executed are errors only when they are asked for.
    ///
    /// # Errors
    /// What is wrong with the text; if there is no memory at such an address.
    pub fn load_module_placed(
        &mut self,
        source_name: &str,
        ptx_text: &str,
        placed: &BTreeMap<String, u64>,
    ) -> Result<ModuleId, GpuError> {
        let module = Module::load_ordered(source_name, ptx_text, self.issue_order())?;
        self.add_module(module, placed)
    }

    /// Where nothing is timed, kernels run, and what is said of them is, as written.
    fn issue_order(&self) -> IssueOrder {
        match self.options.timing {
            true => self.issue_order,
            false => IssueOrder::AsWritten,
        }
    }

    fn add_module(
        &mut self,
        module: Module,
        placed: &BTreeMap<String, u64>,
    ) -> Result<ModuleId, GpuError> {
        let linked = module.link_placed(&mut self.memory, placed)?;
        self.modules.push(LoadedModule {
            module,
            linked,
            costs: BTreeMap::new(),
        });
        Ok(ModuleId(self.modules.len() as u32 - 1))
    }

    /// Address of a module's `__device__` or `__constant__` variable; `None` if there is no such module or variable.
    pub fn symbol_address(&self, module: ModuleId, name: &str) -> Option<VirtAddr> {
        self.modules
            .get(module.0 as usize)?
            .linked
            .address(name)
            .map(VirtAddr)
    }

    /// Bytes of a module's constants.
    ///
    /// # Errors
    /// If there is no such module.
    pub fn constant_bytes(&self, module: ModuleId) -> Result<u64, GpuError> {
        Ok(self.loaded(module)?.module.constant_bytes())
    }

    /// Gives the threads of a module's kernels at most `most` registers.
    ///
    /// # Errors
    /// If there is no such module.
    pub fn limit_registers(&mut self, module: ModuleId, most: u32) -> Result<(), GpuError> {
        self.loaded(module)?;
        self.modules[module.0 as usize].module.limit_registers(most);
        Ok(())
    }

    /// A launch with all that its threads may use.
    pub(in crate::gpu) fn ready_launch(
        &mut self,
        module: ModuleId,
        kernel: &str,
        shape: &LaunchShape,
        arguments: &[u8],
    ) -> Result<Launch, GpuError> {
        let workspace = match shape.cooperative {
            true => Some(self.grid_workspace()?),
            false => None,
        };
        let loaded = self.loaded(module)?;
        let (module_text, linked, kernel) =
            (&loaded.module, &loaded.linked, loaded.kernel(kernel)?);
        let mut launch = Launch::new(
            module_text,
            linked,
            kernel,
            shape.grid,
            shape.block,
            shape.dynamic_shared_bytes,
            arguments,
        )?
        .with_instruction_limit(self.timing_model.instructions_left().max(1));
        if let Some(cluster) = shape.cluster {
            launch = launch.with_cluster(cluster)?;
        }
        if let Some(address) = workspace {
            launch = launch.with_grid_workspace(address);
        }
        if let Some(bytes) = self.stack_bytes {
            launch = launch.with_stack_bytes(bytes);
        }
        if let Some(executor) = self.executor {
            launch = launch.with_executor(executor);
        }
        let shape = grid_shape(&launch);
        // For runs without time too: blocks beyond these wait, and a loop is given looks for each warp that the GPU holds
        // before it counts as endless (ADR 0017).
        let resident = self.timing_model.engine.resident_blocks(&shape);
        Ok(launch
            .with_resident_blocks(resident)
            .with_bounds(
                self.timing_model.instructions_left(),
                self.timing_model.engine.stop.clone(),
            )
            .with_workers(self.options.workers))
    }

    /// Lets `executor` run the instructions of later launches.
    pub fn set_executor(&mut self, executor: Executor) {
        self.executor = Some(executor);
    }

    /// Calls `observe` around the execution of each later launch, with its timing if it is timed. The simulator has no clock of the host; a
    /// benchmark brings its own.
    pub fn observe_execution(&mut self, observe: fn(ExecutionMark)) {
        self.observe_execution = Some(observe);
    }

    /// Gives each thread of later launches a stack of `bytes`, for calls that are not expanded and for `alloca`.
    pub fn set_stack_bytes(&mut self, bytes: u32) {
        self.stack_bytes = Some(bytes);
    }

    /// Gives `malloc` in kernels a heap of `bytes`; false once a kernel has used it.
    pub fn set_heap_bytes(&mut self, bytes: u64) -> bool {
        self.memory.set_heap_bytes(bytes)
    }

    /// Where the blocks of cooperative launches count who has come; the same for all, one after the other.
    fn grid_workspace(&mut self) -> Result<u64, GpuError> {
        const BYTES: u32 = 8;
        if let Some(address) = self.grid_workspace {
            return Ok(address);
        }
        let address = self
            .memory
            .alloc("grid workspace", BYTES.into(), BYTES.into())?;
        let size = self.memory.bytes_mut(address, 4)?;
        // The workspace begins with its size; blocks count their arrivals in the word behind it.
        size.copy_from_slice(&BYTES.to_le_bytes());
        self.grid_workspace = Some(address);
        Ok(address)
    }

    pub(in crate::gpu) fn loaded(&self, module: ModuleId) -> Result<&LoadedModule, GpuError> {
        let index = module.0;
        self.modules
            .get(index as usize)
            .ok_or(GpuError::UnknownModule { index })
    }

    /// Runs a launch in time until it ends or waits; its blocks, to go on with, are beside the end.
    pub(in crate::gpu) fn run_timed(
        &mut self,
        at: Picos,
        module: ModuleId,
        launch: &Launch,
        patience: Patience,
    ) -> Result<(GridEnd, Vec<Block>), GpuError> {
        self.on_grid(module, launch, |timing_model, grid| {
            let mut grid = grid.ahead_of_time(patience);
            let name = &launch.kernel().name;
            let end = timing_model.run_grid(at, name, &mut grid, patience)?;
            Ok((end, grid.into_blocks()))
        })
    }

    /// Gives `run` a launch as the timing model sees it.
    pub(in crate::gpu) fn on_grid<T>(
        &mut self,
        module: ModuleId,
        launch: &Launch,
        run: impl FnOnce(&mut TimingModel, PtxGrid<'_>) -> T,
    ) -> T {
        let Self {
            modules,
            memory,
            output,
            timing_model,
            timings,
            observe_execution,
            ..
        } = self;
        let name = &launch.kernel().name;
        let costs = modules[module.0 as usize]
            .costs
            // Once for each kernel: what its instructions cost does not depend on the launch.
            .entry(name.clone())
            .or_insert_with(|| kernel_costs(launch.kernel(), timings));
        let observe = observe_execution.unwrap_or(|_| ());
        observe(ExecutionMark::Begin);
        let result = run(timing_model, PtxGrid::new(launch, costs, memory, output));
        observe(ExecutionMark::End);
        result
    }

    /// Runs the instructions of a launch, without time.
    pub(in crate::gpu) fn execute(&mut self, launch: &Launch) -> Result<ExecutionStats, GpuError> {
        let mut run = FunctionalRun::default();
        self.go_on_untimed(&mut run, launch, Patience::ToTheEnd)?;
        Ok(executed(&run))
    }

    /// Runs the instructions of a launch until it ends, without time; false if it waits.
    pub(in crate::gpu) fn go_on_untimed(
        &mut self,
        run: &mut FunctionalRun,
        launch: &Launch,
        patience: Patience,
    ) -> Result<bool, GpuError> {
        let observe = self.observe_execution.unwrap_or(|_| ());
        observe(ExecutionMark::Begin);
        let ended = run.go_on(launch, patience, &mut self.memory, &mut self.output);
        observe(ExecutionMark::End);
        ended.map_err(GpuError::Trap)
    }
}

/// What a launch without time executed.
pub(in crate::gpu) fn executed(run: &FunctionalRun) -> ExecutionStats {
    let totals = run.totals();
    ExecutionStats {
        blocks: totals.blocks,
        warp_instructions: totals.instructions,
        thread_instructions: totals.thread_instructions,
        ..ExecutionStats::default()
    }
}

/// Lays the arguments out as the kernel's parameters lie.
pub(in crate::gpu) fn pack_arguments(kernel: &Kernel, args: &[Arg]) -> Result<Vec<u8>, GpuError> {
    if args.len() != kernel.params.len() {
        return Err(GpuError::ArgumentCount {
            kernel: kernel.name.clone(),
            given: args.len(),
            wanted: kernel.params.len(),
        });
    }
    let mut packed = vec![0; kernel.param_bytes as usize];
    for (index, (param, arg)) in kernel.params.iter().zip(args).enumerate() {
        let bytes = arg.to_bytes();
        let place = param.offset as usize..(param.offset + param.bytes) as usize;
        match packed.get_mut(place) {
            // By size alone: to PTX a pointer is a number, and one of 8 bytes may be either.
            Some(place) if place.len() == bytes.len() => place.copy_from_slice(&bytes),
            _ => {
                return Err(GpuError::ArgumentSize {
                    kernel: kernel.name.clone(),
                    index,
                    name: param.name.clone(),
                    given: bytes.len(),
                    wanted: param.bytes,
                });
            }
        }
    }
    Ok(packed)
}
