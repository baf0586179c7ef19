//! One launch of a kernel: its shape, its arguments, and every value that is the same for all threads.

pub(crate) mod coordinates;
pub(crate) mod cost;

use crate::launch::coordinates::{join, split};
use crate::program::module::{Linked, Module};
use crate::program::{kernel::Kernel, names::readable_list};
use crate::{exec::watch::QUIET_LOOKS, memory::cluster::Seat};
use pagemill_ptx_ir::address::{cluster::BLOCKS_MAX, reserved_shared};
use pagemill_ptx_ir::code::Constant;
use pagemill_ptx_ir::line::{ConstantLines, LANES, Line};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Most threads in a block.
const BLOCK_THREADS_MAX: u64 = 1024;
/// Most shared memory of a block in bytes, static and dynamic.
const SHARED_BYTES_MAX: u64 = 227 * 1024;
/// Most local memory of a thread in bytes.
const LOCAL_BYTES_MAX: u32 = 512 * 1024;
/// Bytes that the frames of a thread may take unless the launch says otherwise: as with CUDA's drivers.
const STACK_BYTES: u32 = 1024;
/// Frames hold whole registers here, which compilers pack closer: a stack has this many times the room that is asked for.
const STACK_ROOM: u32 = 2;
/// Largest grid in each dimension.
const GRID_MAX: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
/// Instructions a warp may execute unless the launch says otherwise.
const INSTRUCTION_LIMIT: u64 = 1 << 28;

/// Blocks that are resident at once unless the launch says otherwise.
const RESIDENT_BLOCKS: u64 = 1024;

/// Why a launch was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// A zero or too large grid or block dimension.
    #[error(
        "kernel {kernel}: {what} {} is not possible; allowed is 1 to {max}",
        readable_list(given)
    )]
    Dimensions {
        /// Kernel name.
        kernel: String,
        /// "grid" or "block".
        what: &'static str,
        /// What was asked for.
        given: [u32; 3],
        /// What is allowed.
        max: String,
    },
    /// An argument block of the wrong size.
    #[error(
        "kernel {kernel}: {given} argument bytes were given, its {params} parameters take {wanted}"
    )]
    Arguments {
        /// Kernel name.
        kernel: String,
        /// Bytes given.
        given: usize,
        /// Bytes wanted.
        wanted: u32,
        /// Number of parameters.
        params: usize,
    },
    /// More shared or local memory than a machine has.
    #[error("kernel {kernel}: {bytes} bytes of {space} memory are more than the {max} allowed")]
    TooMuchMemory {
        /// Kernel name.
        kernel: String,
        /// "shared" or "local".
        space: &'static str,
        /// Bytes wanted.
        bytes: u64,
        /// Bytes allowed.
        max: u64,
    },
    /// A cluster that the kernel, the grid or GPUs do not allow.
    #[error(
        "kernel {kernel}: clusters of {} blocks are not possible: {reason}",
        readable_list(given)
    )]
    Cluster {
        /// Kernel name.
        kernel: String,
        /// Blocks in each dimension.
        given: [u32; 3],
        /// Why not.
        reason: String,
    },
    /// Kernel, link and module do not belong together.
    #[error(
        "kernel {kernel}: it is from another module than the link; link the module it was loaded with"
    )]
    WrongModule {
        /// Kernel name.
        kernel: String,
    },
}

/// What executes instructions. Both give the same bits, and in timed runs the same steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Executor {
    /// One decoded instruction after the other.
    Interpreter,
    /// Machine code, where the processor has AVX-512 and the system allows executable memory; the interpreter elsewhere,
    /// and for instructions that are not compiled.
    Compiled,
}

impl Default for Executor {
    /// [`Executor::Compiled`], unless the environment says `PAGEMILL_PTX=interpreted`.
    fn default() -> Self {
        static CHOICE: OnceLock<Executor> = OnceLock::new();
        *CHOICE.get_or_init(|| match std::env::var_os("PAGEMILL_PTX") {
            Some(choice) if choice == "interpreted" => Self::Interpreter,
            _ => Self::Compiled,
        })
    }
}

/// One launch, immutable while its blocks run.
#[derive(Clone, Debug)]
pub struct Launch {
    pub(crate) kernel: Kernel,
    pub(crate) constants: ConstantLines,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    /// Blocks of a cluster in each dimension; 1 in each if there are none.
    pub(crate) cluster: [u32; 3],
    pub(crate) threads: u32,
    pub(crate) shared_bytes: u32,
    pub(crate) args: Vec<u8>,
    pub(crate) instruction_limit: u64,
    stack_bytes: u32,
    pub(crate) executor: Executor,
    /// Whether the caller chose it. Otherwise timed runs compile what gains from it.
    pub(crate) is_chosen: bool,
    /// The most blocks that are resident at once.
    pub(crate) resident_blocks: u64,
    /// Threads of the host that may run its blocks.
    pub(crate) workers: usize,
    /// Thread instructions after which parts of it end, and what ends them before.
    pub(crate) bounds: (u64, Option<Arc<AtomicBool>>),
    /// Identifies a launch, so that a block knows when it must change shape.
    pub(crate) id: u64,
}

impl Launch {
    /// A launch of `kernel` over `grid` blocks of `block` threads; `args` is its parameter block in the layout of [`Entry::params`](crate::Entry::params).
    ///
    /// # Errors
    /// When a dimension, a memory size or the argument size is not possible, or the parts do not belong together.
    pub fn new(
        module: &Module,
        linked: &Linked,
        kernel: &Kernel,
        grid: [u32; 3],
        block: [u32; 3],
        dynamic_shared_bytes: u32,
        args: &[u8],
    ) -> Result<Self, LaunchError> {
        if module.id() != linked.module_id || kernel.module_id != linked.module_id {
            return Err(LaunchError::WrongModule {
                kernel: kernel.name.clone(),
            });
        }
        check_shape(kernel, grid, block)?;
        check_sizes(kernel, dynamic_shared_bytes, args)?;
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        let cluster = kernel.cluster.required.unwrap_or([1; 3]);
        check_cluster(kernel, grid, cluster)?;
        let threads = block.iter().product();
        let values = Values {
            linked,
            grid,
            block,
            cluster,
            is_explicit_cluster: kernel.cluster.required.is_some(),
            threads,
            kernel,
            dynamic_shared_bytes,
            args,
        };
        let code = &kernel.code;
        let narrow = code
            .constants_narrow
            .iter()
            .map(|constant| Line::splat(values.of(constant) as u32));
        let wide = code
            .constants_wide
            .iter()
            .map(|constant| Line::splat(values.of(constant)));
        let constants = ConstantLines {
            narrow: narrow.collect(),
            wide: wide.collect(),
        };
        Ok(Self {
            kernel: kernel.clone(),
            constants,
            grid,
            block,
            cluster,
            threads,
            shared_bytes: kernel.shared_bytes + dynamic_shared_bytes,
            args: args.to_vec(),
            instruction_limit: INSTRUCTION_LIMIT,
            stack_bytes: STACK_BYTES,
            executor: Executor::default(),
            is_chosen: false,
            resident_blocks: RESIDENT_BLOCKS,
            workers: 1,
            bounds: (u64::MAX, None),
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
        })
    }

    /// Traps any warp that executes more than `instructions` PTX instructions.
    #[must_use]
    pub fn with_instruction_limit(self, instructions: u64) -> Self {
        Self {
            instruction_limit: instructions,
            ..self
        }
    }

    /// Lets at most `blocks` blocks be resident at once, as many as the GPU holds: blocks beyond wait until others have ended.
    #[must_use]
    pub fn with_resident_blocks(self, blocks: u64) -> Self {
        Self {
            resident_blocks: blocks.max(self.cluster_blocks().into()),
            ..self
        }
    }

    /// Lets up to `workers` threads of the host, at least one, run its blocks without time, where those cannot see each other.
    /// Results are the same for any number.
    #[must_use]
    pub fn with_workers(self, workers: usize) -> Self {
        let workers = workers.max(1);
        Self { workers, ..self }
    }

    /// Ends what [`Ahead`](crate::Ahead) executes soon after so many thread instructions, or after `stop` was set.
    #[must_use]
    pub fn with_bounds(self, thread_instructions: u64, stop: Option<Arc<AtomicBool>>) -> Self {
        Self {
            bounds: (thread_instructions, stop),
            ..self
        }
    }

    /// Looks at warps in a row at which nothing is new until the launch is taken for endless: a few for each warp that may run.
    pub(crate) fn quiet_looks(&self) -> u64 {
        let blocks = self.resident_blocks.min(self.blocks());
        let warps = blocks.saturating_mul(self.warps_per_block().into());
        warps.saturating_mul(4).max(QUIET_LOOKS)
    }

    /// Gives every thread a stack of `bytes` for calls that are not expanded and for `alloca`, in place of 1024.
    #[must_use]
    pub fn with_stack_bytes(self, bytes: u32) -> Self {
        Self {
            stack_bytes: bytes,
            ..self
        }
    }

    pub(crate) fn shared_window(&self) -> u32 {
        reserved_shared::window(self.shared_bytes, &self.kernel.code.constants_narrow)
    }

    /// Words of local memory that a thread has from the start.
    pub(crate) fn local_words(&self) -> usize {
        let own = self.kernel.local_bytes;
        let stack = &self.kernel.code.stack;
        let bytes = stack.map_or(own, |stack| stack.bottom.saturating_add(stack.margin));
        bytes.div_ceil(4) as usize
    }

    /// Bytes of local memory that a thread may have, its stack included; a multiple of 4.
    pub(crate) fn local_limit(&self) -> u32 {
        let own = 4 * self.local_words() as u32;
        match &self.kernel.code.stack {
            None => own,
            Some(_) => {
                let room = self.stack_bytes.saturating_mul(STACK_ROOM) & !15;
                own.saturating_add(room).min(LOCAL_BYTES_MAX.max(own))
            }
        }
    }

    /// Chooses what executes. Without it, timed runs compile only what gains from it.
    #[must_use]
    pub fn with_executor(self, executor: Executor) -> Self {
        Self {
            executor,
            is_chosen: true,
            ..self
        }
    }

    /// Lets the blocks meet: `address` is that of 8 zero bytes, their size as a 32-bit number and a counter, in which
    /// cooperative groups of the whole grid count who has come.
    #[must_use]
    pub fn with_grid_workspace(mut self, address: u64) -> Self {
        let constants = &self.kernel.code.constants_narrow;
        for (line, constant) in self.constants.narrow.iter_mut().zip(constants) {
            match constant {
                Constant::GridWorkspaceHigh => *line = Line::splat((address >> 32) as u32),
                Constant::GridWorkspaceLow => *line = Line::splat(address as u32),
                _ => {}
            }
        }
        self
    }

    /// Lets blocks form clusters of these extents: those of one are resident together, reach each other's shared memory,
    /// and have a barrier of their own.
    ///
    /// # Errors
    /// When the kernel, the grid or GPUs do not allow such clusters.
    pub fn with_cluster(mut self, cluster: [u32; 3]) -> Result<Self, LaunchError> {
        check_cluster(&self.kernel, self.grid, cluster)?;
        self.cluster = cluster;
        let constants = &self.kernel.code.constants_narrow;
        for (line, constant) in self.constants.narrow.iter_mut().zip(constants) {
            if let Some(value) = cluster_constant(constant, self.grid, cluster, true) {
                *line = Line::splat(value);
            }
        }
        Ok(self)
    }

    /// Blocks of a cluster; 1 without clusters.
    pub fn cluster_blocks(&self) -> u32 {
        self.cluster.iter().product()
    }

    /// The kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// Number of blocks.
    pub fn blocks(&self) -> u64 {
        self.grid.iter().map(|&extent| u64::from(extent)).product()
    }

    /// Threads of a block.
    pub fn threads_per_block(&self) -> u32 {
        self.threads
    }

    /// Warps of a block.
    pub fn warps_per_block(&self) -> u32 {
        self.threads.div_ceil(LANES as u32)
    }

    /// Shared memory of a block in bytes, static and dynamic.
    pub fn shared_bytes(&self) -> u32 {
        self.shared_bytes
    }

    /// Coordinates of block `index`.
    pub(crate) fn block_coordinates(&self, index: u64) -> [u32; 3] {
        split(index, self.grid)
    }

    /// Block number `rank` of cluster number `cluster`, counted in the grid.
    pub fn block_of_cluster(&self, cluster: u64, rank: u32) -> u64 {
        let clusters = cluster_grid(self.grid, self.cluster);
        let (of_grid, of_cluster) = (split(cluster, clusters), split(rank.into(), self.cluster));
        let [x, y, z]: [u64; 3] = std::array::from_fn(|axis| {
            u64::from(of_grid[axis]) * u64::from(self.cluster[axis]) + u64::from(of_cluster[axis])
        });
        let [width, height, _] = self.grid.map(u64::from);
        (z * height + y) * width + x
    }

    /// Coordinates of the cluster of a block in the grid, and of the block in the cluster.
    pub(crate) fn cluster_coordinates(&self, block: [u32; 3]) -> ([u32; 3], [u32; 3]) {
        (
            std::array::from_fn(|axis| block[axis] / self.cluster[axis]),
            std::array::from_fn(|axis| block[axis] % self.cluster[axis]),
        )
    }

    /// The number in its cluster of the block with these coordinates there.
    pub(crate) fn rank_in_cluster(&self, place: [u32; 3]) -> u32 {
        join(place, self.cluster) as u32
    }

    /// Where a block with these coordinates sits, if others reach it or it uses the barrier of its cluster.
    pub(crate) fn seat(&self, block: [u32; 3]) -> Option<Seat> {
        let blocks = self.cluster_blocks();
        let barriers = &self.kernel.code.barriers;
        if blocks == 1 && !barriers.iter().any(|barrier| barrier.is_of_cluster()) {
            return None;
        }
        let (cluster, place) = self.cluster_coordinates(block);
        Some(Seat {
            launch: self.id,
            cluster: join(cluster, cluster_grid(self.grid, self.cluster)),
            rank: self.rank_in_cluster(place),
            blocks,
            warps_per_block: self.warps_per_block(),
            shared_bytes: self.shared_window(),
        })
    }

    /// Coordinates of thread `index` of a block.
    pub(crate) fn thread_coordinates(&self, index: u32) -> [u32; 3] {
        split(u64::from(index), self.block)
    }
}

/// Clusters of a grid in each dimension.
fn cluster_grid(grid: [u32; 3], cluster: [u32; 3]) -> [u32; 3] {
    std::array::from_fn(|axis| grid[axis] / cluster[axis])
}

fn check_cluster(kernel: &Kernel, grid: [u32; 3], cluster: [u32; 3]) -> Result<(), LaunchError> {
    let refused = |reason: String| {
        Err(LaunchError::Cluster {
            kernel: kernel.name.clone(),
            given: cluster,
            reason,
        })
    };
    let extents = cluster.iter().map(|&extent| u64::from(extent));
    let blocks = extents.fold(1, u64::saturating_mul);
    let most = kernel.cluster.max_blocks.unwrap_or(BLOCKS_MAX);
    let most = u64::from(most.min(BLOCKS_MAX));
    if let Some(required) = kernel
        .cluster
        .required
        .filter(|&required| required != cluster)
    {
        return refused(format!(
            "the kernel was compiled for {}",
            readable_list(&required)
        ));
    }
    if !(1..=most).contains(&blocks) {
        return refused(format!("a cluster has 1 to {most} blocks"));
    }
    if (0..3).any(|axis| !grid[axis].is_multiple_of(cluster[axis])) {
        return refused(format!(
            "the grid {} is no multiple of it",
            readable_list(&grid)
        ));
    }
    Ok(())
}

/// The value of a constant that depends on the clusters.
fn cluster_constant(
    constant: &Constant,
    grid: [u32; 3],
    cluster: [u32; 3],
    is_explicit: bool,
) -> Option<u32> {
    Some(match *constant {
        Constant::ClusterDim(axis) => cluster[usize::from(axis)],
        Constant::ClusterGridDim(axis) => cluster_grid(grid, cluster)[usize::from(axis)],
        Constant::ClusterBlocks => cluster.iter().product(),
        Constant::IsExplicitCluster => is_explicit.into(),
        _ => return None,
    })
}

fn check_shape(kernel: &Kernel, grid: [u32; 3], block: [u32; 3]) -> Result<(), LaunchError> {
    let wrong = |what, given, max: String| LaunchError::Dimensions {
        kernel: kernel.name.clone(),
        what,
        given,
        max,
    };
    if !is_grid_possible(grid) {
        return Err(wrong("grid", grid, readable_list(&GRID_MAX)));
    }
    let max = most_threads(kernel.max_threads);
    if !is_block_possible(block, kernel.max_threads) {
        return Err(wrong("block", block, format!("{max} threads")));
    }
    Ok(())
}

/// Whether a kernel of at most `max_threads` threads can have this grid.
pub(crate) fn is_shape_possible(grid: [u32; 3], block: [u32; 3], max_threads: Option<u32>) -> bool {
    is_grid_possible(grid) && is_block_possible(block, max_threads)
}

fn is_grid_possible(grid: [u32; 3]) -> bool {
    let mut extents = grid.into_iter().zip(GRID_MAX);
    extents.all(|(extent, max)| (1..=max).contains(&extent))
}

fn most_threads(max_threads: Option<u32>) -> u64 {
    max_threads
        .map_or(BLOCK_THREADS_MAX, u64::from)
        .min(BLOCK_THREADS_MAX)
}

fn is_block_possible(block: [u32; 3], max_threads: Option<u32>) -> bool {
    let threads: u64 = block
        .iter()
        .map(|&extent| u64::from(extent))
        .try_fold(1u64, u64::checked_mul)
        .unwrap_or(u64::MAX);
    (1..=most_threads(max_threads)).contains(&threads)
}

fn check_sizes(kernel: &Kernel, dynamic_shared_bytes: u32, args: &[u8]) -> Result<(), LaunchError> {
    let too_much = |space, bytes, max| LaunchError::TooMuchMemory {
        kernel: kernel.name.clone(),
        space,
        bytes,
        max,
    };
    let shared = u64::from(kernel.shared_bytes) + u64::from(dynamic_shared_bytes);
    if shared > SHARED_BYTES_MAX {
        return Err(too_much("shared", shared, SHARED_BYTES_MAX));
    }
    if kernel.local_bytes > LOCAL_BYTES_MAX {
        return Err(too_much(
            "local",
            kernel.local_bytes.into(),
            LOCAL_BYTES_MAX.into(),
        ));
    }
    if args.len() != kernel.param_bytes as usize {
        return Err(LaunchError::Arguments {
            kernel: kernel.name.clone(),
            given: args.len(),
            wanted: kernel.param_bytes,
            params: kernel.params.len(),
        });
    }
    Ok(())
}

/// What a [`Constant`] may refer to.
struct Values<'a> {
    linked: &'a Linked,
    grid: [u32; 3],
    block: [u32; 3],
    cluster: [u32; 3],
    is_explicit_cluster: bool,
    threads: u32,
    kernel: &'a Kernel,
    dynamic_shared_bytes: u32,
    args: &'a [u8],
}

impl Values<'_> {
    fn of(&self, constant: &Constant) -> u64 {
        match *constant {
            Constant::Bits(bits) => bits,
            Constant::Param {
                offset,
                bytes,
                signed,
            } => self.param(offset, bytes, signed),
            Constant::Symbol { index, addend } => {
                self.linked.addresses[index as usize].wrapping_add(addend as u64)
            }
            Constant::GridDim(axis) => self.grid[usize::from(axis)].into(),
            Constant::BlockDim(axis) => self.block[usize::from(axis)].into(),
            Constant::DynamicSharedBytes => self.dynamic_shared_bytes.into(),
            Constant::TotalSharedBytes => {
                u64::from(self.kernel.shared_bytes) + u64::from(self.dynamic_shared_bytes)
            }
            Constant::ReservedShared(offset) => {
                let own = self.kernel.shared_bytes + self.dynamic_shared_bytes;
                u64::from(reserved_shared::start(own)) + u64::from(offset)
            }
            Constant::WarpsPerBlock => self.threads.div_ceil(LANES as u32).into(),
            // See `Launch::with_grid_workspace`.
            Constant::GridWorkspaceHigh | Constant::GridWorkspaceLow => 0,
            Constant::ClusterDim(_)
            | Constant::ClusterGridDim(_)
            | Constant::ClusterBlocks
            | Constant::IsExplicitCluster => {
                let explicit = self.is_explicit_cluster;
                cluster_constant(constant, self.grid, self.cluster, explicit).map_or(0, u64::from)
            }
        }
    }

    fn param(&self, offset: u32, bytes: u8, signed: bool) -> u64 {
        let offset = offset as usize;
        let raw = self
            .args
            .get(offset..offset + usize::from(bytes))
            .unwrap_or_default();
        crate::exec::transfer::extend(crate::exec::transfer::little_endian(raw), bytes, signed)
    }
}
