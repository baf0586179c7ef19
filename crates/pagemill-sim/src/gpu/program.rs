//! PTX programs on the GPU: modules, arguments, launches.

use super::error::GpuError;
use super::host::{Buffer, Gpu};
use super::report::LaunchReport;
use super::stats::ExecutionStats;
use super::stream::ptx::{PtxGrid, kernel_costs};
use pagemill_ptx::{InstructionCosts, Kernel, Launch, Linked, Module, run_functional};
use pagemill_types::VirtAddr;
use std::collections::BTreeMap;

/// A loaded module of one [`Gpu`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModuleId(u32);

/// One kernel argument.
#[derive(Clone, Debug, PartialEq)]
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
    /// A structure, as it lies in memory.
    Bytes(Vec<u8>),
}

impl Arg {
    /// Its bytes, little-endian.
    fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::Buffer(buffer) => buffer.address.0.to_le_bytes().to_vec(),
            Self::U32(value) => value.to_le_bytes().to_vec(),
            Self::I32(value) => value.to_le_bytes().to_vec(),
            Self::F32(value) => value.to_le_bytes().to_vec(),
            Self::U64(value) => value.to_le_bytes().to_vec(),
            Self::I64(value) => value.to_le_bytes().to_vec(),
            Self::F64(value) => value.to_le_bytes().to_vec(),
            Self::Bytes(bytes) => bytes.clone(),
        }
    }
}

/// A module whose variables are placed in device memory, with the costs of the kernels that were launched.
#[derive(Debug)]
pub(super) struct LoadedModule {
    module: Module,
    linked: Linked,
    costs: BTreeMap<String, InstructionCosts>,
}

impl LoadedModule {
    fn kernel(&self, name: &str) -> Result<&Kernel, GpuError> {
        self.module.kernel(name).ok_or_else(|| {
            let names: Vec<&str> = self.module.kernels().iter().map(|kernel| kernel.name.as_str()).collect();
            GpuError::UnknownKernel {
                module: self.module.source_name().to_owned(),
                kernel: name.to_owned(),
                known: if names.is_empty() { "it has none".to_owned() } else { format!("it has {}", names.join(", ")) },
            }
        })
    }
}

/// Shape of a launch.
#[derive(Clone, Copy)]
struct Shape {
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_shared_bytes: u32,
}

impl Gpu {
    /// Loads PTX text and places its variables, which are always on the GPU. `source_name` is for messages.
    ///
    /// # Errors
    /// What is wrong with the text: place, instruction, and what to do.
    pub fn load_module(&mut self, source_name: &str, ptx_text: &str) -> Result<ModuleId, GpuError> {
        let module = Module::load(source_name, ptx_text)?;
        let linked = module.link(&mut self.memory)?;
        self.modules.push(LoadedModule { module, linked, costs: BTreeMap::new() });
        Ok(ModuleId(self.modules.len() as u32 - 1))
    }

    /// Address of a module's `__device__` or `__constant__` variable; `None` if there is no such module or variable.
    pub fn symbol_address(&self, module: ModuleId, name: &str) -> Option<VirtAddr> {
        self.modules.get(module.0 as usize)?.linked.address(name).map(VirtAddr)
    }

    /// Runs `kernel` of a module over `grid` blocks of `block` threads and waits for its end.
    ///
    /// Without time ([`Options::timing`](super::Options) off), the report's times and memory counts are zero.
    ///
    /// # Errors
    /// No such kernel, arguments that do not fit its parameters, an impossible shape, or whatever stopped the kernel.
    pub fn launch(
        &mut self,
        module: ModuleId,
        kernel: &str,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_shared_bytes: u32,
        args: &[Arg],
    ) -> Result<LaunchReport, GpuError> {
        let shape = Shape { grid, block, dynamic_shared_bytes };
        let launch = self.prepare(module, kernel, shape, args)?;
        if self.options.timing { self.run_timed(module, &launch) } else { self.run_untimed(&launch) }
    }

    fn prepare(&self, module: ModuleId, kernel: &str, shape: Shape, args: &[Arg]) -> Result<Launch, GpuError> {
        let loaded = self.modules.get(module.0 as usize).ok_or(GpuError::UnknownModule { index: module.0 })?;
        let kernel = loaded.kernel(kernel)?;
        let packed = pack_arguments(kernel, args)?;
        let Shape { grid, block, dynamic_shared_bytes } = shape;
        let launch = Launch::new(&loaded.module, &loaded.linked, kernel, grid, block, dynamic_shared_bytes, &packed)?;
        Ok(launch.with_instruction_limit(self.clockwork.instructions_left().max(1)))
    }

    fn run_timed(&mut self, module: ModuleId, launch: &Launch) -> Result<LaunchReport, GpuError> {
        let Self { modules, memory, output, clockwork, timings, .. } = self;
        let name = &launch.kernel().name;
        let costs = modules[module.0 as usize]
            .costs
            .entry(name.clone())
            .or_insert_with(|| kernel_costs(launch.kernel(), timings));
        clockwork.run_grid(name, &mut PtxGrid::new(launch, costs, memory, output))
    }

    fn run_untimed(&mut self, launch: &Launch) -> Result<LaunchReport, GpuError> {
        let totals = run_functional(launch, &mut self.memory, &mut self.output).map_err(GpuError::Trap)?;
        let execution = ExecutionStats {
            blocks: totals.blocks,
            warp_instructions: totals.instructions,
            thread_instructions: totals.thread_instructions,
            ..ExecutionStats::default()
        };
        self.clockwork.note_functional(&launch.kernel().name, execution)
    }
}

/// Lays the arguments out as the kernel's parameters lie.
fn pack_arguments(kernel: &Kernel, args: &[Arg]) -> Result<Vec<u8>, GpuError> {
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
