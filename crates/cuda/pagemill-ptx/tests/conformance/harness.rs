//! A module on a device of its own: buffers, launches, what was printed.

use super::stepped::{compare, run_stepped};
use super::value::Value;
use crate::seen::Seen;
use pagemill_ptx::{
    DeviceMemory, Executor, FunctionalTotals, Image, Launch, Linked, Module, Output, QueuedWork,
    Sampler, StepTotals, Texture, Trap, run_functional,
};
use std::path::{Path, PathBuf};

/// A loaded and linked module and the memory it works on. Each launch runs three times, on copies of the memory: stepped
/// as a timing model would, as machine code, and functionally by the interpreter. All must agree.
pub struct Device {
    module: Module,
    linked: Linked,
    memory: DeviceMemory,
    /// Stack of each thread in bytes.
    pub stack_bytes: u32,
    /// Blocks of a cluster in each dimension, if launches say so.
    pub cluster: Option<[u32; 3]>,
    /// What `printf` wrote so far.
    pub printed: String,
    /// Remarks on the launches so far.
    pub notes: Vec<String>,
}

/// A kernel argument: its bytes.
pub struct Arg(Vec<u8>);

impl<T: Value> From<T> for Arg {
    fn from(value: T) -> Self {
        Arg(value.to_bits64().to_le_bytes()[..T::BYTES].to_vec())
    }
}

impl Arg {
    /// A structure, as its bytes.
    pub fn bytes(bytes: Vec<u8>) -> Self {
        Arg(bytes)
    }
}

/// The extent of a grid or block: a number, or three.
pub struct Extent([u32; 3]);

impl From<u32> for Extent {
    fn from(x: u32) -> Self {
        Extent([x, 1, 1])
    }
}

impl From<[u32; 3]> for Extent {
    fn from(xyz: [u32; 3]) -> Self {
        Extent(xyz)
    }
}

/// Instructions a warp may execute: far more than any kernel here needs that ends at all.
const INSTRUCTION_LIMIT: u64 = 2_000_000;

/// The folder of kernels.
pub fn kernel_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernels")
}

impl Device {
    /// The module in `tests/kernels/{name}.ptx`.
    pub fn load(name: &str) -> Self {
        let file_name = format!("{name}.ptx");
        let text = std::fs::read_to_string(kernel_folder().join(&file_name))
            .expect("the PTX is committed");
        let module = Module::load(&file_name, &text).unwrap_or_else(|error| panic!("{error}"));
        let mut memory = DeviceMemory::new();
        let linked = module
            .link(&mut memory)
            .unwrap_or_else(|error| panic!("{error}"));
        Self {
            module,
            linked,
            memory,
            stack_bytes: 4096,
            cluster: None,
            printed: String::new(),
            notes: Vec::new(),
        }
    }

    /// A buffer that holds `values`; its address.
    pub fn upload<T: Value>(&mut self, values: &[T]) -> u64 {
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_bits64().to_le_bytes().into_iter().take(T::BYTES))
            .collect();
        let address = self
            .memory
            .alloc("test buffer", bytes.len().max(1) as u64, 256)
            .expect("memory is there");
        self.memory
            .bytes_mut(address, bytes.len() as u64)
            .expect("just allocated")
            .copy_from_slice(&bytes);
        address
    }

    /// A buffer of `count` zeros; its address.
    pub fn zeros<T: Value>(&mut self, count: usize) -> u64 {
        self.upload(&vec![T::from_bits64(0); count])
    }

    /// `count` values from `address` on.
    pub fn download<T: Value>(&self, address: u64, count: usize) -> Vec<T> {
        let bytes = self
            .memory
            .bytes(address, (count * T::BYTES) as u64)
            .expect("allocated");
        let value = |bytes: &[u8]| {
            let mut word = [0; 8];
            word[..T::BYTES].copy_from_slice(bytes);
            T::from_bits64(u64::from_le_bytes(word))
        };
        bytes.chunks(T::BYTES).map(value).collect()
    }

    /// A texture or surface object; its handle.
    pub fn bind(&mut self, image: Image, sampler: Sampler) -> u64 {
        self.memory.bind_texture(Texture {
            image,
            sampler,
            mipmap: None,
        })
    }

    /// What kernels have asked for since the last call.
    pub fn take_work(&mut self) -> Vec<QueuedWork> {
        self.memory.take_device_work()
    }

    /// Runs a kernel that must succeed.
    pub fn launch(
        &mut self,
        kernel: &str,
        grid: impl Into<Extent>,
        block: impl Into<Extent>,
        args: &[Arg],
    ) {
        self.launch_with_shared(kernel, grid, block, 0, args);
    }

    /// Runs a kernel that must succeed, with dynamic shared memory.
    pub fn launch_with_shared(
        &mut self,
        kernel: &str,
        grid: impl Into<Extent>,
        block: impl Into<Extent>,
        dynamic_shared_bytes: u32,
        args: &[Arg],
    ) {
        if let Err(trap) = self.run(
            kernel,
            grid.into(),
            block.into(),
            dynamic_shared_bytes,
            args,
        ) {
            panic!("{kernel}: {trap}");
        }
    }

    /// Runs a kernel that must be stopped, and says why it was.
    pub fn trap(
        &mut self,
        kernel: &str,
        grid: impl Into<Extent>,
        block: impl Into<Extent>,
        args: &[Arg],
    ) -> Box<Trap> {
        match self.run(kernel, grid.into(), block.into(), 0, args) {
            Ok(_) => panic!("{kernel} ran to its end"),
            Err(trap) => trap,
        }
    }

    fn run(
        &mut self,
        kernel: &str,
        grid: Extent,
        block: Extent,
        dynamic_shared_bytes: u32,
        args: &[Arg],
    ) -> Result<FunctionalTotals, Box<Trap>> {
        let launch = self.prepare(kernel, (grid, block), dynamic_shared_bytes, args);
        let mut steps = Vec::new();
        let mut stepped_memory = self.memory.clone();
        let stepped = run_stepped(&launch, &mut stepped_memory, &mut steps);
        let mut compiled_memory = self.memory.clone();
        let compiled = launch.clone().with_executor(Executor::Compiled);
        compare_steps(
            &compiled,
            &mut self.memory.clone(),
            (&stepped, &stepped_memory, &steps),
        );
        let mut compiled_output = Output::default();
        let compiled = run_functional(&compiled, &mut compiled_memory, &mut compiled_output);
        let mut output = Output::default();
        let result = run_functional(&launch, &mut self.memory, &mut output);
        compare_compiled(
            &launch,
            (&compiled, &compiled_memory),
            (&result, &self.memory),
        );
        let counts = result
            .as_ref()
            .map(|totals| (totals.instructions, totals.thread_instructions));
        compare(
            &launch,
            (&stepped, &stepped_memory),
            (counts.map_err(|trap| &**trap), &self.memory),
        );
        let (printed, mut notes) = (output.take(), output.take_notes());
        assert_eq!(
            (compiled_output.take(), compiled_output.take_notes()),
            (printed.clone(), notes.clone())
        );
        self.printed.push_str(&printed);
        self.notes.append(&mut notes);
        result
    }

    fn prepare(
        &self,
        kernel: &str,
        (grid, block): (Extent, Extent),
        dynamic_shared_bytes: u32,
        args: &[Arg],
    ) -> Launch {
        let kernel = self
            .module
            .kernel(kernel)
            .unwrap_or_else(|| panic!("no kernel {kernel}"));
        assert_eq!(
            kernel.params.len(),
            args.len(),
            "arguments of {}",
            kernel.name
        );
        let mut image = Vec::new();
        for (param, Arg(bytes)) in kernel.params.iter().zip(args) {
            assert_eq!(
                param.bytes as usize,
                bytes.len(),
                "an argument of {}",
                kernel.name
            );
            image.resize(param.offset as usize, 0);
            image.extend_from_slice(bytes);
        }
        let launch = Launch::new(
            &self.module,
            &self.linked,
            kernel,
            grid.0,
            block.0,
            dynamic_shared_bytes,
            &image,
        )
        .unwrap_or_else(|error| panic!("{error}"))
        .with_instruction_limit(INSTRUCTION_LIMIT)
        .with_stack_bytes(self.stack_bytes)
        .with_executor(Executor::Interpreter);
        match self.cluster {
            Some(cluster) => launch
                .with_cluster(cluster)
                .unwrap_or_else(|error| panic!("{error}")),
            None => launch,
        }
    }
}

/// Runs `compiled` step by step: each step must say what the interpreter's said.
fn compare_steps(
    compiled: &Launch,
    memory: &mut DeviceMemory,
    (result, wanted_memory, wanted): (&Result<StepTotals, Box<Trap>>, &DeviceMemory, &[Seen]),
) {
    let name = &compiled.kernel().name;
    let mut steps = Vec::new();
    let found = run_stepped(compiled, memory, &mut steps);
    for (number, (found, wanted)) in steps.iter().zip(wanted).enumerate() {
        assert_eq!(found, wanted, "step {number} of compiled {name}");
    }
    let text = |result: &Result<StepTotals, Box<Trap>>| match result {
        Ok(totals) => format!("{totals:?}"),
        Err(trap) => trap.to_string(),
    };
    assert_eq!(text(&found), text(result), "stepped, compiled {name}");
    assert_eq!(steps.len(), wanted.len(), "steps of compiled {name}");
    compare_memory(name, memory, wanted_memory);
}

/// Machine code and interpreter run the same warps in the same order: everything must be the same.
fn compare_compiled(
    launch: &Launch,
    compiled: (&Result<FunctionalTotals, Box<Trap>>, &DeviceMemory),
    interpreted: (&Result<FunctionalTotals, Box<Trap>>, &DeviceMemory),
) {
    let name = &launch.kernel().name;
    let text = |result: &Result<FunctionalTotals, Box<Trap>>| match result {
        Ok(totals) => format!("{totals:?}"),
        Err(trap) => trap.to_string(),
    };
    assert_eq!(text(compiled.0), text(interpreted.0), "compiled {name}");
    compare_memory(name, compiled.1, interpreted.1);
}

fn compare_memory(name: &str, compiled: &DeviceMemory, interpreted: &DeviceMemory) {
    for allocation in interpreted.allocations() {
        let bytes = |memory: &DeviceMemory| {
            let bytes = memory.bytes(allocation.address(), allocation.bytes());
            bytes.expect("allocated in both").to_vec()
        };
        let (found, wanted) = (bytes(compiled), bytes(interpreted));
        let first = found.iter().zip(&wanted).position(|(a, b)| a != b);
        if let Some(at) = first {
            let around = at & !7..(at & !7) + 8;
            let of = allocation.name();
            let (found, wanted) = (&found[around.clone()], &wanted[around]);
            panic!("{of} after compiled {name}: byte {at} is in {found:x?}, not {wanted:x?}");
        }
    }
}
