//! Launches, in all the ways that compilers and people write them.

use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_void};

use pagemill_ptx::Param;

use super::properties::compute_capability;
use super::work::{Wait, submit};
use super::{
    Done, InPtr, OutPtr, address, api, call_stack, enter, null, with_runtime, with_runtime_for,
};
use crate::error::{CudaError, Fault};
use crate::runtime::{FunctionAttributes, FunctionKey, Launch, StreamId, Work};

/// `dim3`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Dim3 {
    x: u32,
    y: u32,
    z: u32,
}

impl Dim3 {
    pub(super) fn extents(self) -> [u32; 3] {
        [self.x, self.y, self.z]
    }
}

impl From<[u32; 3]> for Dim3 {
    fn from([x, y, z]: [u32; 3]) -> Self {
        Self { x, y, z }
    }
}

/// `cudaLaunchConfig_t`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct LaunchConfig {
    grid: Dim3,
    block: Dim3,
    shared_bytes: usize,
    stream: *mut c_void,
    attributes: *const LaunchAttribute,
    attribute_count: u32,
}

/// `cudaLaunchAttribute`.
#[repr(C)]
pub(super) struct LaunchAttribute {
    id: u32,
    value: [u64; 8],
}

const ATTRIBUTE_COOPERATIVE: u32 = 2;
const ATTRIBUTE_CLUSTER: u32 = 4;

/// The function attribute that allows more dynamic shared memory than the plain amount.
const ATTRIBUTE_DYNAMIC_SHARED: c_int = 8;

/// The function attribute that allows clusters of more blocks than every GPU holds.
const ATTRIBUTE_LARGE_CLUSTERS: c_int = 14;

/// `struct cudaFuncAttributes`: the fields up to the largest dynamic shared memory; programs make room for 144 bytes.
#[repr(C)]
pub(super) struct FuncAttributes {
    shared_bytes: usize,
    constant_bytes: usize,
    local_bytes: usize,
    max_threads_per_block: c_int,
    registers: c_int,
    ptx_version: c_int,
    binary_version: c_int,
    cache_mode: c_int,
    max_dynamic_shared_bytes: c_int,
    carveout: c_int,
    /// As [`cluster_attributes`] says.
    clusters: [c_int; 6],
    rest: [c_int; 15],
}

thread_local! {
    /// Between `<<<>>>` and the stub of the kernel.
    static CONFIGURATIONS: RefCell<Vec<Launch>> = const { RefCell::new(Vec::new()) };
}

/// The argument block of a kernel, from the pointers to its arguments.
///
/// # Safety
/// `arguments` points to a pointer for each parameter, which points to as many bytes as the parameter has.
pub(super) unsafe fn pack(
    arguments: *const *const c_void,
    params: &[Param],
    bytes: u32,
) -> Result<Vec<u8>, Fault> {
    if arguments.is_null() && !params.is_empty() {
        return Err(null());
    }
    let mut packed = vec![0u8; bytes as usize];
    for (index, param) in params.iter().enumerate() {
        // SAFETY: the list is not null, and the program has put a pointer into it for each parameter of the kernel.
        let argument = unsafe { arguments.add(index).read_unaligned() };
        let place = param.offset as usize..(param.offset + param.bytes) as usize;
        let place = packed.get_mut(place).ok_or_else(null)?;
        if argument.is_null() {
            return Err(null());
        }
        // SAFETY: the argument is not null, and as large as its parameter, whose size is that of the place; the place is in
        // a vector of ours.
        unsafe { std::ptr::copy_nonoverlapping(argument.cast(), place.as_mut_ptr(), place.len()) };
    }
    Ok(packed)
}

/// # Safety
/// As [`pack`].
unsafe fn launch(function: *const c_void, shape: &Launch, arguments: *const *const c_void) -> Done {
    let key = FunctionKey(address(function));
    // SAFETY: `params` are those of the kernel for which the program made the list; it stays until the launch returns.
    run(key, shape, |params, bytes| unsafe {
        pack(arguments, params, bytes)
    })
}

/// Launches a kernel; `pack` is as for `Kernels::prepare`.
pub(super) fn run(
    key: FunctionKey,
    shape: &Launch,
    pack: impl FnOnce(&[Param], u32) -> Result<Vec<u8>, Fault>,
) -> Done {
    let launched = with_runtime_for(key, |runtime| {
        runtime.note_launch(call_stack::capture);
        let arguments = runtime.kernels().prepare(key, shape, pack)?;
        let work = Work::Kernel(key, *shape, arguments);
        // SAFETY: a kernel touches no memory of the program but what the simulator knows.
        unsafe { submit(runtime, shape.stream, work, Wait::No) }
    });
    after_launch(launched)
}

/// As on hardware: when a kernel goes astray, the launch itself went well, everything after it does not.
pub(super) fn after_launch(launched: Done) -> Done {
    match launched {
        Err(Fault {
            sticky: true,
            message: Some(message),
            ..
        }) => {
            super::complain("kernel launch", &message);
            Ok(())
        }
        other => other,
    }
}

fn shape(grid: Dim3, block: Dim3, shared_bytes: usize, stream: *mut c_void) -> Launch {
    Launch {
        grid: grid.extents(),
        block: block.extents(),
        shared_bytes: shared_bytes as u64,
        stream: StreamId(address(stream)),
        cooperative: false,
        cluster: None,
    }
}

/// What the attributes of a launch make of its shape.
///
/// # Safety
/// `attributes` points to `count` of them.
pub(super) unsafe fn apply_attributes(
    mut shape: Launch,
    attributes: *const LaunchAttribute,
    count: u32,
) -> Result<Launch, Fault> {
    for index in 0..count as usize {
        if attributes.is_null() {
            return Err(null());
        }
        // SAFETY: the list is not null, and has `count` attributes, of which this is one.
        let attribute = unsafe { attributes.add(index).read_unaligned() };
        apply_attribute(&mut shape, attribute.id, &attribute.value);
    }
    Ok(shape)
}

/// Sets an attribute of a launch. Priorities, windows of L2 and the like change nothing that a program computes.
pub(super) fn apply_attribute(shape: &mut Launch, id: u32, value: &[u64; 8]) {
    let [x, y] = [value[0] as u32, (value[0] >> 32) as u32];
    let z = value[1] as u32;
    match id {
        ATTRIBUTE_CLUSTER => shape.cluster = Some([x, y, z]),
        ATTRIBUTE_COOPERATIVE => shape.cooperative = x != 0,
        _ => {}
    }
}

/// What is no kernel is for `cudaFuncGetAttributes` a handle that is none.
fn as_handle(fault: Fault) -> Fault {
    match fault.code {
        CudaError::INVALID_DEVICE_FUNCTION => Fault {
            code: CudaError::INVALID_RESOURCE_HANDLE,
            ..fault
        },
        _ => fault,
    }
}

/// Whether clusters must have a size, the one that the kernel was compiled for, the scheduling policy, and whether sizes
/// beyond the portable ones are allowed.
fn cluster_attributes(found: &FunctionAttributes) -> [c_int; 6] {
    let [x, y, z] = found.cluster.required.unwrap_or_default();
    let must_be_set = found.cluster.is_explicit || found.cluster.required.is_some();
    let allows = found.allows_large_clusters;
    [
        must_be_set.into(),
        x as c_int,
        y as c_int,
        z as c_int,
        0,
        allows.into(),
    ]
}

/// The value of a function attribute of clusters, numbered as by both APIs.
pub(super) fn cluster_attribute(found: &FunctionAttributes, number: c_int) -> c_int {
    let [must_be_set, x, y, z, policy, allows] = cluster_attributes(found);
    match number {
        10 => must_be_set,
        11 => x,
        12 => y,
        13 => z,
        ATTRIBUTE_LARGE_CLUSTERS => allows,
        _ => policy,
    }
}

/// Sets an attribute of a kernel. Most say how fast it may be, which changes nothing here.
pub(super) fn set_attribute(key: FunctionKey, attribute: c_int, value: c_int) -> Done {
    if !(8..=16).contains(&attribute) {
        let message = format!("there is no function attribute {attribute}");
        return Err(Fault::invalid(message));
    }
    with_runtime(|runtime| match attribute {
        ATTRIBUTE_DYNAMIC_SHARED => runtime.kernels().allow_dynamic_shared(key, value),
        ATTRIBUTE_LARGE_CLUSTERS => runtime.kernels().allow_large_clusters(key, value != 0),
        _ => runtime.kernels().function_attributes(key).map(|_| ()),
    })
}

/// The launch that an occupancy query describes.
///
/// # Safety
/// The attributes that `config` points to are there.
unsafe fn described(config: InPtr<LaunchConfig>) -> Result<Launch, Fault> {
    let config = config.read()?;
    let shape = shape(
        config.grid,
        config.block,
        config.shared_bytes,
        config.stream,
    );
    // SAFETY: a program's configuration has the list beside its length.
    unsafe { apply_attributes(shape, config.attributes, config.attribute_count) }
}

api! {
    fn __cudaPushCallConfiguration(grid: Dim3, block: Dim3, shared_bytes: usize, stream: *mut c_void) {
        CONFIGURATIONS.with_borrow_mut(|pushed| pushed.push(shape(grid, block, shared_bytes, stream)));
        Ok(())
    }

    fn __cudaPopCallConfiguration(grid: OutPtr<Dim3>, block: OutPtr<Dim3>, shared_bytes: OutPtr<usize>, stream: OutPtr<*mut c_void>) {
        let Some(popped) = CONFIGURATIONS.with_borrow_mut(Vec::pop) else {
            return Err(Fault::new(CudaError(52), "a kernel stub was called without <<<>>>"));
        };
        let dim3 = |[x, y, z]: [u32; 3]| Dim3 { x, y, z };
        grid.put(dim3(popped.grid))?;
        block.put(dim3(popped.block))?;
        shared_bytes.put(popped.shared_bytes as usize)?;
        stream.put(popped.stream.0 as *mut c_void)
    }

    fn __cudaGetKernel(to: OutPtr<*mut c_void>, stub: *const c_void) {
        // Also on a GPU that is lost, so that what is launched there has a name.
        let key = enter(|runtime| runtime.modules.kernel_handle(FunctionKey(address(stub))))?;
        to.put(key.0 as *mut c_void)
    }

    fn cudaLaunchKernel(function: *const c_void, grid: Dim3, block: Dim3, arguments: *const *const c_void, shared_bytes: usize, stream: *mut c_void) {
        // SAFETY: the stub that nvcc makes of a kernel passes a pointer to each of its parameters.
        unsafe { launch(function, &shape(grid, block, shared_bytes, stream), arguments) }
    }

    fn cudaLaunchCooperativeKernel(function: *const c_void, grid: Dim3, block: Dim3, arguments: *const *const c_void, shared_bytes: usize, stream: *mut c_void) {
        let shape = Launch { cooperative: true, ..shape(grid, block, shared_bytes, stream) };
        // SAFETY: the program passes a pointer to an argument for each parameter of the kernel.
        unsafe { launch(function, &shape, arguments) }
    }

    fn cudaLaunchKernelExC(config: InPtr<LaunchConfig>, function: *const c_void, arguments: *const *const c_void) {
        // SAFETY: the program's `config` has as many attributes as it says, and `arguments` a pointer for each parameter.
        unsafe { launch(function, &described(config)?, arguments) }
    }

    fn cudaOccupancyMaxActiveClusters(to: OutPtr<c_int>, function: *const c_void, config: InPtr<LaunchConfig>) {
        let key = FunctionKey(address(function));
        // SAFETY: the program's `config` has as many attributes as it says.
        let shape = unsafe { described(config)? };
        let clusters = with_runtime(|runtime| runtime.kernels().active_clusters(key, &shape))?;
        to.put(clusters as c_int)
    }

    fn cudaOccupancyMaxPotentialClusterSize(to: OutPtr<c_int>, function: *const c_void, config: InPtr<LaunchConfig>) {
        let key = FunctionKey(address(function));
        // SAFETY: the program's `config` has as many attributes as it says.
        let shape = unsafe { described(config)? };
        let blocks = with_runtime(|runtime| runtime.kernels().largest_cluster(key, &shape))?;
        to.put(blocks as c_int)
    }

    fn cudaFuncGetAttributes(to: OutPtr<FuncAttributes>, function: *const c_void) {
        let key = FunctionKey(address(function));
        let (found, capability) = with_runtime(|runtime| {
            let found = runtime.kernels().function_attributes(key).map_err(as_handle)?;
            Ok((found, compute_capability(runtime)))
        })?;
        let attributes = FuncAttributes {
            shared_bytes: found.shared_bytes as usize,
            constant_bytes: found.constant_bytes as usize,
            local_bytes: found.local_bytes as usize,
            max_threads_per_block: found.max_threads_per_block as c_int,
            registers: found.registers as c_int,
            ptx_version: capability,
            binary_version: capability,
            cache_mode: 0,
            max_dynamic_shared_bytes: found.max_dynamic_shared_bytes as c_int,
            carveout: -1,
            clusters: cluster_attributes(&found),
            rest: [0; 15],
        };
        to.put(attributes)
    }

    fn cudaFuncSetAttribute(function: *const c_void, attribute: c_int, value: c_int) {
        set_attribute(FunctionKey(address(function)), attribute, value)
    }

    fn cudaFuncSetCacheConfig(function: *const c_void, _preference: c_int) {
        with_runtime(|runtime| runtime.modules.kernel_handle(FunctionKey(address(function))).map(|_| ()))
    }

    fn cudaFuncGetName(to: OutPtr<*const c_char>, function: *const c_void) {
        let name = with_runtime(|runtime| Ok(runtime.modules.kernel_name(FunctionKey(address(function)))?.to_owned()))?;
        let name = std::ffi::CString::new(name).map_err(|_| null())?;
        // Programs keep the pointer.
        let name: &'static std::ffi::CStr = Box::leak(name.into_boxed_c_str());
        to.put(name.as_ptr())
    }

    fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(to: OutPtr<c_int>, function: *const c_void, threads: c_int, shared_bytes: usize) {
        let threads = u32::try_from(threads).unwrap_or(0);
        let key = FunctionKey(address(function));
        let blocks = with_runtime(|runtime| runtime.kernels().blocks_per_sm(key, threads, shared_bytes as u64))?;
        to.put(blocks as c_int)
    }

    fn cudaOccupancyAvailableDynamicSMemPerBlock(to: OutPtr<usize>, function: *const c_void, blocks: c_int, threads: c_int) {
        let (blocks, threads) = (u32::try_from(blocks).unwrap_or(0), u32::try_from(threads).unwrap_or(0));
        let key = FunctionKey(address(function));
        let bytes = with_runtime(|runtime| runtime.kernels().shared_bytes_beside(key, blocks, threads))?;
        to.put(bytes as usize)
    }

    fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(to: OutPtr<c_int>, function: *const c_void, threads: c_int, shared_bytes: usize, _flags: u32) {
        let threads = u32::try_from(threads).unwrap_or(0);
        let key = FunctionKey(address(function));
        let blocks = with_runtime(|runtime| runtime.kernels().blocks_per_sm(key, threads, shared_bytes as u64))?;
        to.put(blocks as c_int)
    }
}
