//! Properties of the GPU as a program sees them: `cudaDeviceProp` and `cudaDeviceAttr`, from the machine file.

use pagemill_sim::{GpuMachine, Memory};

use crate::runtime::Runtime;

const CONSTANT_BYTES: u64 = 64 << 10;
const GRID_MAX: [i32; 3] = [i32::MAX, 65_535, 65_535];
const WARP_THREADS: i32 = 32;
const PITCH_MAX: u64 = i32::MAX as u64;
const TEXTURE_ALIGN: u64 = 512;
const TEXTURE_PITCH_ALIGN: u64 = 32;

/// How a structure lies in memory, which depends on the version of CUDA that the program was compiled with.
#[derive(Clone, Copy)]
pub(super) enum Layout {
    /// CUDA 12: `cudaGetDeviceProperties_v2`.
    Twelve,
    /// CUDA 13.
    Thirteen,
}

impl Layout {
    /// Size of the structure in bytes.
    pub(super) fn bytes(self) -> usize {
        match self {
            Self::Twelve => 1032,
            Self::Thirteen => 1008,
        }
    }
}

enum Value {
    Int(i32),
    Ints([i32; 3]),
    /// These attributes, one after the other.
    Attributes(&'static [i32]),
    Size(u64),
}

/// A field, with its offset in both layouts; `None` where CUDA 13 has it no more.
type Field = (usize, Option<usize>, Value);

/// The structure as the program expects it; what is not known of a simulated GPU is zero.
pub(super) fn device_properties(runtime: &Runtime, layout: Layout) -> Vec<u8> {
    let mut structure = vec![0u8; layout.bytes()];
    let mut name = runtime.device.setting.machine_title.clone().into_bytes();
    name.truncate(255);
    structure[..name.len()].copy_from_slice(&name);
    for (twelve, thirteen, value) in fields(runtime) {
        let offset = match layout {
            Layout::Twelve => Some(twelve),
            Layout::Thirteen => thirteen,
        };
        let Some(offset) = offset else { continue };
        let bytes = match value {
            Value::Int(value) => value.to_le_bytes().to_vec(),
            Value::Ints(values) => values.map(i32::to_le_bytes).concat(),
            Value::Attributes(numbers) => {
                let values = numbers
                    .iter()
                    .filter_map(|&number| attribute(runtime, number));
                values.flat_map(i32::to_le_bytes).collect()
            }
            Value::Size(value) => value.to_le_bytes().to_vec(),
        };
        structure[offset..offset + bytes.len()].copy_from_slice(&bytes);
    }
    structure
}

fn fields(runtime: &Runtime) -> Vec<Field> {
    let attribute = |number| Value::Int(attribute(runtime, number).unwrap_or(0));
    let sm = runtime.device.setting.machine.sm;
    let shared = |bytes: u32| Value::Size(bytes.into());
    let threads = sm.max_threads_per_block as i32;
    vec![
        (288, Some(288), Value::Size(runtime.device.total_bytes())),
        (296, Some(296), shared(sm.shared_bytes_per_block())),
        (304, Some(304), attribute(12)),
        (308, Some(308), Value::Int(WARP_THREADS)),
        (312, Some(312), Value::Size(PITCH_MAX)),
        (320, Some(320), Value::Int(threads)),
        (
            324,
            Some(324),
            Value::Ints([threads, threads, threads.min(64)]),
        ),
        (336, Some(336), Value::Ints(GRID_MAX)),
        (348, None, attribute(13)),
        (352, Some(352), Value::Size(CONSTANT_BYTES)),
        (360, Some(360), attribute(75)),
        (364, Some(364), attribute(76)),
        (368, Some(368), Value::Size(TEXTURE_ALIGN)),
        (376, Some(376), Value::Size(TEXTURE_PITCH_ALIGN)),
        (388, Some(384), attribute(16)),
        (400, Some(392), attribute(19)),
        (408, Some(396), attribute(21)),
        (420, Some(404), Value::Attributes(&[22, 23])),
        (436, Some(420), Value::Attributes(&[70, 71, 72])),
        (448, Some(432), Value::Attributes(&[45, 46])),
        (456, Some(440), Value::Attributes(&[24, 25, 26])),
        (484, Some(468), Value::Attributes(&[42, 43])),
        (492, Some(476), Value::Attributes(&[27, 28, 29])),
        (512, Some(496), attribute(55)),
        (516, Some(500), Value::Attributes(&[56, 57])),
        (524, Some(508), Value::Attributes(&[58, 59, 60])),
        (536, Some(520), Value::Attributes(&[61, 62])),
        (544, Some(528), Value::Attributes(&[63, 64, 65])),
        (568, Some(552), Value::Size(TEXTURE_ALIGN)),
        (576, Some(560), attribute(31)),
        (600, Some(584), attribute(40)),
        (604, Some(588), attribute(41)),
        (608, None, attribute(36)),
        (612, Some(592), attribute(37)),
        (616, Some(596), attribute(38)),
        (624, Some(604), attribute(39)),
        (632, Some(612), attribute(79)),
        (636, Some(616), attribute(80)),
        (640, Some(624), shared(sm.shared_bytes)),
        (648, Some(632), attribute(82)),
        (652, Some(636), attribute(83)),
        (676, Some(656), attribute(89)),
        (688, Some(668), attribute(95)),
        (696, Some(672), shared(sm.shared_bytes_per_block_max())),
        (712, Some(688), attribute(106)),
        (728, Some(704), attribute(99)),
        (744, Some(720), attribute(115)),
        (772, Some(748), attribute(120)),
    ]
}

/// Most texels of textures and surfaces, by attribute: those of compute capability 7.5 in the CUDA C++ Programming Guide,
/// "Technical Specifications per Compute Capability", and as an H100 with driver 580.159.04 says.
#[rustfmt::skip]
const IMAGE_LIMITS: [(i32, i32); 40] = [
    (21, 131_072), (22, 131_072), (23, 65_536), (24, 16_384), (25, 16_384), (26, 16_384),
    (27, 32_768), (28, 32_768), (29, 2048), (42, 32_768), (43, 2048), (45, 32_768), (46, 32_768),
    (47, 8192), (48, 8192), (49, 32_768), (52, 32_768), (53, 32_768), (54, 2046),
    (55, 32_768), (56, 131_072), (57, 65_536), (58, 16_384), (59, 16_384), (60, 16_384),
    (61, 32_768), (62, 2048), (63, 32_768), (64, 32_768), (65, 2048),
    (66, 32_768), (67, 32_768), (68, 2046), (69, 268_435_456), (73, 32_768), (74, 32_768), (77, 32_768),
    (70, 131_072), (71, 65_000), (72, 2_097_120),
];

/// Compute capability times ten.
pub(super) fn compute_capability(runtime: &Runtime) -> i32 {
    runtime.device.compute_capability() as i32
}

/// The highest attribute that CUDA 13 knows.
pub(super) const ATTRIBUTE_MAX: i32 = 160;

/// Clock of GPU memory in hertz; that of L2 where a machine gives memory by its rate.
fn memory_clock(machine: &GpuMachine) -> u64 {
    match &machine.memory {
        Memory::Channels { dram, .. } => dram.clock.hertz(),
        Memory::Rate { .. } => machine.l2_clock.hertz(),
    }
}

/// The value of a `cudaDeviceAttr`: 0 for what this GPU does not have, `None` for what is no attribute.
pub(super) fn attribute(runtime: &Runtime, number: i32) -> Option<i32> {
    let machine = &runtime.device.setting.machine;
    let sm = &machine.sm;
    let kilohertz = |hertz: u64| i32::try_from(hertz / 1000).unwrap_or(i32::MAX);
    let bus_bits = || {
        let bandwidth = machine.memory.bandwidth();
        let per_second = bandwidth.bytes_per_second().saturating_mul(8);
        // Two transfers a clock.
        i32::try_from(per_second / (2 * memory_clock(machine)).max(1)).unwrap_or(i32::MAX)
    };
    let value = match number {
        1 => sm.max_threads_per_block as i32,
        2 | 3 => sm.max_threads_per_block as i32,
        4 => sm.max_threads_per_block.min(64) as i32,
        5..=7 => GRID_MAX[number as usize - 5],
        8 => sm.shared_bytes_per_block() as i32,
        81 => sm.shared_bytes as i32,
        97 => sm.shared_bytes_per_block_max() as i32,
        111 => sm.reserved_shared_bytes() as i32,
        9 => CONSTANT_BYTES as i32,
        10 => WARP_THREADS,
        11 => PITCH_MAX as i32,
        12 | 82 => sm.registers as i32,
        13 => kilohertz(machine.core_clock.hertz()),
        14 => TEXTURE_ALIGN as i32,
        15 => 1,
        16 => sm.count as i32,
        19 => 1,
        30 => TEXTURE_ALIGN as i32,
        31 => 1,
        36 => kilohertz(memory_clock(machine)),
        37 => bus_bits(),
        38 => machine.l2.bytes.saturating_mul(machine.memory.partitions()) as i32,
        39 => sm.max_threads as i32,
        // One copy engine for each direction of the link.
        40 => 2,
        // How many times slower double precision is.
        87 => (sm.timings.float64.issue_cycles / sm.timings.float32.issue_cycles.max(1)) as i32,
        // A kernel can be interrupted within a block.
        90 => 1,
        // No NUMA node of the host.
        131 => -1,
        41 => 1,
        51 => TEXTURE_PITCH_ALIGN as i32,
        75 => compute_capability(runtime) / 10,
        76 => compute_capability(runtime) % 10,
        79 | 80 => 1,
        // Cooperative launches.
        95 => 1,
        83 => 1,
        89 => 1,
        99 => 1,
        // Virtual memory management.
        102 => 1,
        106 => sm.max_blocks as i32,
        // The memory pool of `cudaMallocAsync`.
        115 => 1,
        // Clusters, and tensor maps, which the same GPUs have.
        120 | 127 => runtime.device.has_clusters().into(),
        _ if (1..=ATTRIBUTE_MAX).contains(&number) => {
            let limit = IMAGE_LIMITS.iter().find(|(own, _)| *own == number);
            limit.map_or(0, |&(_, most)| most)
        }
        _ => return None,
    };
    Some(value)
}
