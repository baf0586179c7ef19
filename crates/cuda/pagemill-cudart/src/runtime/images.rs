//! Device code of the program: registered when the program starts, loaded when it is used.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pagemill_sim::{Gpu, ModuleId};

use super::Runtime;
use super::device::Device;
use crate::error::{CudaError, Fault};
use crate::fatbin::{PtxImage, ptx_images};
use crate::linked_ptx;
use pagemill_wire::Stack;

/// What stands for a kernel: the address of its host stub, or a handle of `Modules::kernel_handle`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FunctionKey(pub u64);

/// Set in handles and in no address of user space.
const HANDLE_TAG: u64 = 0x6b << 56;

/// Device code and what has become of it.
struct Image {
    code: Code,
    /// Where its managed variables are, by name.
    managed: BTreeMap<String, u64>,
    loaded: Option<Result<ModuleId, Fault>>,
    /// Whether the program has unloaded it.
    gone: bool,
}

enum Code {
    /// A fat binary.
    Fat(Cow<'static, [u8]>),
    /// Fat binaries that make one program together.
    Linked(Vec<&'static [u8]>),
    /// PTX text.
    Text(String),
}

/// A kernel by name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct KernelName {
    image: usize,
    name: Arc<str>,
}

/// A variable by name.
#[derive(Clone, Debug)]
struct Variable {
    image: usize,
    name: String,
    bytes: u64,
}

/// All device code, and what the program asked for its kernels.
#[derive(Default)]
pub struct Modules {
    /// Compute capability of the GPU, times ten: which PTX is the best.
    capability: u32,
    images: Vec<Image>,
    kernels: Vec<KernelName>,
    /// By the address of the host stub: index into `kernels`.
    stubs: BTreeMap<u64, usize>,
    /// By the address of the host's shadow.
    variables: BTreeMap<u64, Variable>,
    /// Kernels that may have clusters of more than 8 blocks.
    pub(super) large_clusters: BTreeSet<(ModuleId, Arc<str>)>,
    /// Most dynamic shared memory of kernels that have asked for their own limit, in bytes.
    pub(super) dynamic_shared: BTreeMap<(ModuleId, Arc<str>), u32>,
}

/// Device code on its device: what a kernel needs, and what the device has.
pub struct Kernels<'a> {
    pub(super) device: &'a mut Device,
    pub(super) modules: &'a mut Modules,
}

impl Modules {
    /// No device code, for a GPU of this compute capability.
    pub(super) fn new(capability: u32) -> Self {
        Self {
            capability,
            ..Self::default()
        }
    }

    fn add(&mut self, code: Code) -> usize {
        self.images.push(Image {
            code,
            managed: BTreeMap::new(),
            loaded: None,
            gone: false,
        });
        self.images.len() - 1
    }

    /// The kernel's number, the same for the same name.
    fn number(&mut self, kernel: KernelName) -> usize {
        if let Some(at) = self.kernels.iter().position(|known| *known == kernel) {
            return at;
        }
        self.kernels.push(kernel);
        self.kernels.len() - 1
    }

    fn module(&mut self, image: usize, gpu: &mut Gpu) -> Result<ModuleId, Fault> {
        let capability = self.capability;
        let at = &mut self.images[image];
        let Image {
            code,
            managed,
            loaded,
            gone,
        } = at;
        if *gone {
            let message = format!("module {image} was unloaded");
            return Err(Fault::new(CudaError::INVALID_RESOURCE_HANDLE, message));
        }
        loaded
            .get_or_insert_with(|| load(code, managed, image, (gpu, capability)))
            .clone()
    }
}

/// The PTX in a fat binary, what suits the GPU best first: the newest for GPUs that are not newer, then the oldest of the
/// others, which may be executed all the same.
fn best_first(binary: &[u8], capability: u32) -> Result<Vec<PtxImage>, Fault> {
    let mut images = ptx_images(binary)
        .map_err(|error| Fault::new(CudaError::NO_KERNEL_IMAGE, error.to_string()))?;
    images.sort_by_key(|image| distance(image.arch, capability));
    Ok(images)
}

/// How far the PTX of an architecture is from what suits a GPU best.
fn distance(arch: u32, capability: u32) -> (bool, u32) {
    match arch <= capability {
        true => (false, capability - arch),
        false => (true, arch),
    }
}

fn load(
    code: &Code,
    managed: &BTreeMap<String, u64>,
    number: usize,
    (gpu, capability): (&mut Gpu, u32),
) -> Result<ModuleId, Fault> {
    let name = format!("module {number}");
    match code {
        Code::Text(text) => Ok(gpu.load_module_placed(&name, text, managed)?),
        Code::Linked(parts) => {
            let mut sources = Vec::new();
            for part in parts {
                let images = best_first(part, capability)?;
                sources.extend(images.into_iter().next().map(|image| image.text));
            }
            Ok(gpu.load_module_placed(&name, &linked_ptx::link(&sources), managed)?)
        }
        Code::Fat(binary) => {
            let images = best_first(binary, capability)?;
            let mut first_error = None;
            for image in images {
                let name = format!("{name} compute_{}", image.arch);
                match gpu.load_module_placed(&name, &image.text, managed) {
                    Ok(module) => return Ok(module),
                    Err(error) => first_error = first_error.or(Some(error)),
                }
            }
            Err(first_error.map_or_else(|| Fault::silent(CudaError::NO_KERNEL_IMAGE), Fault::from))
        }
    }
}

impl Modules {
    /// Takes note of a fat binary; it is read when it is used. Returns its number.
    pub fn register_fat_binary(&mut self, binary: impl Into<Cow<'static, [u8]>>) -> usize {
        self.add(Code::Fat(binary.into()))
    }

    /// Takes note of fat binaries that make one program together. Returns its number.
    pub fn register_linked(&mut self, parts: Vec<&'static [u8]>) -> usize {
        self.add(Code::Linked(parts))
    }

    /// Takes note of PTX text. Returns its number.
    pub fn register_ptx(&mut self, text: String) -> usize {
        self.add(Code::Text(text))
    }

    /// The host stub at address `stub` stands for the kernel `name` of an image.
    pub fn add_function(&mut self, image: usize, stub: u64, name: &str) {
        let name = name.into();
        let number = self.number(KernelName { image, name });
        self.stubs.insert(stub, number);
    }

    /// The host variable at `shadow` stands for the variable `name` of an image.
    pub fn add_variable(&mut self, image: usize, shadow: u64, name: &str, bytes: u64) {
        let name = name.to_owned();
        let variable = Variable { image, name, bytes };
        self.variables.insert(shadow, variable);
    }

    /// Forgets an image, whose kernels and variables are gone with it.
    ///
    /// # Errors
    /// If there is none of this number, or it is gone already.
    pub fn unload_image(&mut self, image: usize) -> Result<(), Fault> {
        let known = self.images.get_mut(image).filter(|image| !image.gone);
        let image = known.ok_or_else(|| {
            let message = format!("there is no module {image} to unload");
            Fault::new(CudaError::INVALID_RESOURCE_HANDLE, message)
        })?;
        image.gone = true;
        image.code = Code::Text(String::new());
        Ok(())
    }

    /// The image that a kernel belongs to.
    ///
    /// # Errors
    /// If there is no such kernel.
    pub fn image_of(&self, key: FunctionKey) -> Result<usize, Fault> {
        Ok(self.kernels[self.kernel_number(key)?].image)
    }

    /// A handle for the kernel of a host stub, good for as long as the program runs.
    ///
    /// # Errors
    /// If no kernel was registered for it.
    pub fn kernel_handle(&self, key: FunctionKey) -> Result<FunctionKey, Fault> {
        Ok(FunctionKey(HANDLE_TAG | self.kernel_number(key)? as u64))
    }

    fn kernel_number(&self, key: FunctionKey) -> Result<usize, Fault> {
        let number = (key.0 ^ HANDLE_TAG) as usize;
        let known = match self.stubs.get(&key.0) {
            Some(&number) => Some(number),
            None => (number < self.kernels.len()).then_some(number),
        };
        known.ok_or_else(|| {
            let message = format!("{:#x} is no kernel that was registered", key.0);
            Fault::new(CudaError::INVALID_DEVICE_FUNCTION, message)
        })
    }

    /// The name that a kernel has in its PTX.
    ///
    /// # Errors
    /// If there is no such kernel.
    pub fn kernel_name(&self, key: FunctionKey) -> Result<&str, Fault> {
        Ok(&self.kernels[self.kernel_number(key)?].name)
    }
}

impl Kernels<'_> {
    /// Loads an image now.
    ///
    /// # Errors
    /// If there is none of this number, or it cannot be executed.
    pub fn load_image(&mut self, image: usize) -> Result<ModuleId, Fault> {
        if image >= self.modules.images.len() {
            return Err(Fault::silent(CudaError::INVALID_RESOURCE_HANDLE));
        }
        self.modules.module(image, &mut self.device.gpu)
    }

    /// Gives the threads of an image's kernels at most `most` registers.
    ///
    /// # Errors
    /// If the image cannot be executed.
    pub fn limit_registers(&mut self, image: usize, most: u32) -> Result<(), Fault> {
        let module = self.load_image(image)?;
        Ok(self.device.gpu.limit_registers(module, most)?)
    }

    /// The names of an image's kernels that can be executed.
    ///
    /// # Errors
    /// If the image cannot be executed.
    pub fn kernel_names(&mut self, image: usize) -> Result<Vec<String>, Fault> {
        let module = self.load_image(image)?;
        Ok(self.device.gpu.kernel_names(module))
    }

    /// The handle of the kernel `name` of an image, whose code is loaded for it.
    ///
    /// # Errors
    /// If the image cannot be executed, or has no such kernel.
    pub fn kernel_of_image(&mut self, image: usize, name: &str) -> Result<FunctionKey, Fault> {
        self.load_image(image)?;
        let name = name.into();
        let number = self.modules.number(KernelName { image, name });
        let key = FunctionKey(HANDLE_TAG | number as u64);
        self.kernel(key)?;
        Ok(key)
    }

    /// A kernel and its module, loaded if need be.
    pub(super) fn kernel(&mut self, key: FunctionKey) -> Result<(ModuleId, Arc<str>), Fault> {
        let KernelName { image, name } =
            self.modules.kernels[self.modules.kernel_number(key)?].clone();
        let module = self.modules.module(image, &mut self.device.gpu)?;
        self.device.gpu.kernel(module, &name)?;
        Ok((module, name))
    }

    /// Address and size on the GPU of the variable that `shadow` stands for.
    ///
    /// # Errors
    /// If no variable was registered for it, or its image cannot be executed.
    pub fn symbol(&mut self, shadow: u64) -> Result<(u64, u64), Fault> {
        let variable = self
            .modules
            .variables
            .get(&shadow)
            .cloned()
            .ok_or_else(|| {
                let message = format!("{shadow:#x} is no __device__ or __constant__ variable");
                Fault::new(CudaError::INVALID_SYMBOL, message)
            })?;
        let (address, _) = self.global_of_image(variable.image, &variable.name)?;
        Ok((address, variable.bytes))
    }

    /// Address and size of the variable `name` of an image.
    ///
    /// # Errors
    /// If the image cannot be executed, or has no such variable.
    pub fn global_of_image(&mut self, image: usize, name: &str) -> Result<(u64, u64), Fault> {
        let module = self.load_image(image)?;
        let found = self.device.gpu.symbol_address(module, name);
        let found = found.and_then(|at| Some((at.0, self.device.gpu.allocation_bytes(at)?)));
        found.ok_or_else(|| {
            let message = format!("the device code has no variable {name:?}");
            Fault::new(CudaError::INVALID_SYMBOL, message)
        })
    }
}

impl Runtime {
    /// The kernels of the program on this device.
    pub fn kernels(&mut self) -> Kernels<'_> {
        Kernels {
            device: &mut self.device,
            modules: &mut self.modules,
        }
    }

    /// Makes room for a managed variable of an image and returns its address. Its initial value is there once the image
    /// is loaded.
    ///
    /// # Errors
    /// If the image is loaded already, or there is no room.
    pub fn register_managed_variable(
        &mut self,
        image: usize,
        name: &str,
        bytes: u64,
    ) -> Result<u64, Fault> {
        let known = self.modules.images.get(image);
        if known.is_none_or(|image| image.loaded.is_some()) {
            let message = format!("variable {name} comes after its image was loaded");
            return Err(Fault::new(CudaError::INVALID_SYMBOL, message));
        }
        let address = self.device.malloc_managed(bytes)?;
        self.note_allocation(address, || Stack {
            variable: Some(name.to_owned()),
            ..Stack::default()
        })?;
        let managed = &mut self.modules.images[image].managed;
        managed.insert(name.to_owned(), address);
        // As a symbol, a managed variable is what the host sees: itself.
        self.modules.add_variable(image, address, name, bytes);
        Ok(address)
    }
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn the_newest_ptx_that_the_gpu_is_new_enough_for_comes_first() {
        for (capability, wanted) in [
            (75, [75, 60, 80, 90]),
            (86, [80, 75, 60, 90]),
            (90, [90, 80, 75, 60]),
        ] {
            let mut archs = [60, 75, 80, 90];
            archs.sort_by_key(|&arch| distance(arch, capability));
            assert_eq!(archs, wanted, "compute capability {capability}");
        }
    }
}
