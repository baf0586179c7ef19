//! A simulated GPU for a host program in Python.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use pagemill_ptx::Param;
use pagemill_ptx_ir::ast::Type;
use pagemill_scenario::{PointSpec, Scenario};
use pagemill_sim::{self as sim, Buffer, LaunchShape, ModuleId, Options};
use pagemill_types::VirtAddr;
use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyDict};

use crate::loaded::{Loaded, locked};
use crate::policy::Policies;
use crate::result_set::ResultSet;
use crate::{error, interrupt, loaded};

/// A GPU, the memory of one program, and its clock.
#[pyclass(frozen, module = "pagemill._native")]
pub struct Gpu {
    /// `None` when the run has ended.
    running: Arc<Mutex<Option<Running>>>,
    scenario: Arc<Scenario>,
    policies: Policies,
    stop: Arc<AtomicBool>,
}

struct Running {
    host: sim::Host,
    /// Texts that were loaded.
    modules: Vec<(String, ModuleId)>,
}

impl Running {
    fn module(&mut self, name: &str, text: &str) -> PyResult<ModuleId> {
        if let Some((_, module)) = self.modules.iter().find(|(known, _)| known == text) {
            return Ok(*module);
        }
        let module = self.host.gpu.load_module(name, text).map_err(refused)?;
        self.modules.push((text.to_owned(), module));
        Ok(module)
    }

    fn buffer(&self, address: u64) -> PyResult<Buffer> {
        let address = VirtAddr(address);
        let bytes = self.host.gpu.allocation_bytes(address).ok_or_else(|| {
            PyValueError::new_err(format!("nothing is allocated at {:#x}", address.0))
        })?;
        Ok(Buffer { address, bytes })
    }
}

fn refused(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// An argument of a kernel as Python hands it over: what it is, and the value.
type Argument<'py> = (String, Bound<'py, PyAny>);

#[pymethods]
impl Gpu {
    /// The machine and the transfer mode of `loaded`, a scenario of kind "cuda".
    #[new]
    fn new(py: Python<'_>, loaded: PyRef<'_, Loaded>) -> PyResult<Self> {
        let (scenario, policies) = loaded.to_run(py)?;
        let PointSpec::Cuda(point) = &scenario.points[0].spec else {
            return Err(PyValueError::new_err(
                "a scenario of kind \"cuda\" is needed",
            ));
        };
        let options = Options {
            limits: point.limits,
            ..Options::default()
        };
        let mut host = sim::Host::new(&point.machine.spec, point.transfer.simulated(), options)
            .map_err(|error| error::InputError::new_err(error.to_string()))?;
        let stop = policies.stop();
        host.gpu.stop_when(Arc::clone(&stop));
        let built = Self {
            running: Arc::new(Mutex::new(Some(Running {
                host,
                modules: Vec::new(),
            }))),
            scenario,
            policies,
            stop,
        };
        built.policies.raise()?;
        Ok(built)
    }

    /// Allocates managed memory and gives its address.
    fn alloc(&self, name: &str, bytes: u64) -> PyResult<u64> {
        self.with(|running| Ok(running.host.alloc(name, bytes).map_err(refused)?.address.0))
    }

    /// The CPU writes the whole buffer at `address`.
    fn write(&self, address: u64, bytes: &[u8]) -> PyResult<()> {
        self.with(|running| {
            let buffer = running.buffer(address)?;
            let place = running.host.gpu.host_bytes_mut(buffer);
            if place.len() != bytes.len() {
                return Err(PyValueError::new_err(format!(
                    "{} bytes do not fit an array of {} bytes",
                    bytes.len(),
                    place.len()
                )));
            }
            place.copy_from_slice(bytes);
            running
                .host
                .copy_to_gpu(buffer, 0..buffer.bytes)
                .map_err(refused)
        })
    }

    /// The CPU reads the whole buffer at `address`.
    fn read<'py>(&self, py: Python<'py>, address: u64) -> PyResult<Bound<'py, PyByteArray>> {
        self.with(|running| {
            let buffer = running.buffer(address)?;
            running
                .host
                .copy_from_gpu(buffer, 0..buffer.bytes)
                .map_err(refused)?;
            Ok(PyByteArray::new(py, running.host.gpu.host_bytes(buffer)))
        })
    }

    /// Frees the buffer at `address`.
    fn free(&self, address: u64) -> PyResult<()> {
        self.with(|running| running.host.free(VirtAddr(address)).map_err(refused))
    }

    /// Runs a kernel to its end.
    #[allow(
        clippy::too_many_arguments,
        reason = "the border to Python, which has keywords"
    )]
    fn launch<'py>(
        &self,
        py: Python<'py>,
        source_name: &str,
        text: &str,
        kernel: String,
        grid: [u32; 3],
        block: [u32; 3],
        shared_bytes: u32,
        arguments: Vec<Argument<'py>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (module, packed) = self.with(|running| {
            let module = running.module(source_name, text)?;
            let known = running.host.gpu.kernel(module, &kernel).map_err(refused)?;
            let packed = pack(&kernel, &known.params, known.param_bytes, &arguments)?;
            Ok((module, packed))
        })?;
        let running = Arc::clone(&self.running);
        let shape = LaunchShape {
            grid,
            block,
            dynamic_shared_bytes: shared_bytes,
            cooperative: false,
            cluster: None,
        };
        let work = move || {
            let mut running = locked(&running);
            let host = running.as_mut().map(|running| &mut running.host);
            host.map(|host| host.launch_packed(module, &kernel, &shape, &packed))
        };
        let launched = interrupt::run(py, &self.stop, work, |_| Ok(()));
        self.policies.raise()?;
        let report = launched?.ok_or_else(ended)?.map_err(error::run)?;
        let dict = PyDict::new(py);
        dict.set_item("kernel", &report.kernel)?;
        dict.set_item("time_ns", report.time().0 as f64 / 1e3)?;
        dict.set_item(
            "warp_instructions",
            report.stats.execution.warp_instructions,
        )?;
        dict.set_item(
            "thread_instructions",
            report.stats.execution.thread_instructions,
        )?;
        Ok(dict)
    }

    /// What kernels printed since the last call.
    fn output(&self) -> PyResult<String> {
        self.with(|running| Ok(running.host.gpu.take_output()))
    }

    /// Ends the run: a row for all of it, and one for each kernel.
    fn finish(&self) -> PyResult<ResultSet> {
        let running = locked(&self.running).take().ok_or_else(ended)?;
        let report = running.host.finish();
        let point = &self.scenario.points[0];
        let rows = pagemill_run::rows_of_program(point, "python", &report);
        Ok(loaded::results_of_rows(&self.scenario, rows))
    }
}

impl Gpu {
    fn with<T>(&self, act: impl FnOnce(&mut Running) -> PyResult<T>) -> PyResult<T> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(error::run(
                "a launch on this GPU was stopped: begin with a new one",
            ));
        }
        act(locked(&self.running).as_mut().ok_or_else(ended)?)
    }
}

fn ended() -> PyErr {
    error::run("the run of this GPU has ended: begin with a new one")
}

/// Lays the arguments out as the kernel's parameters lie.
fn pack(
    kernel: &str,
    params: &[Param],
    bytes: u32,
    arguments: &[Argument<'_>],
) -> PyResult<Vec<u8>> {
    if params.len() != arguments.len() {
        return Err(PyTypeError::new_err(format!(
            "kernel {kernel} has {} parameters, {} arguments were given",
            params.len(),
            arguments.len()
        )));
    }
    let mut packed = vec![0; bytes as usize];
    for (index, (param, argument)) in params.iter().zip(arguments).enumerate() {
        let value = bytes_of(param, argument).map_err(|error| {
            let message = format!(
                "argument {index} of kernel {kernel}: {}",
                error.value(argument.1.py())
            );
            if error.is_instance_of::<PyOverflowError>(argument.1.py()) {
                PyOverflowError::new_err(message)
            } else {
                PyTypeError::new_err(message)
            }
        })?;
        let place = param.offset as usize..(param.offset + param.bytes) as usize;
        match packed.get_mut(place) {
            Some(place) if place.len() == value.len() => place.copy_from_slice(&value),
            _ => {
                return Err(PyTypeError::new_err(format!(
                    "argument {index} of kernel {kernel} has {} bytes, its parameter {} has {}",
                    value.len(),
                    param.name,
                    param.bytes
                )));
            }
        }
    }
    Ok(packed)
}

fn bytes_of(param: &Param, (form, value): &Argument<'_>) -> PyResult<Vec<u8>> {
    match form.as_str() {
        "address" => Ok(value.extract::<u64>()?.to_le_bytes().to_vec()),
        "bytes" => value.extract(),
        "float" => match param.ty {
            Type::F64 => Ok(value.extract::<f64>()?.to_le_bytes().to_vec()),
            Type::F32 => Ok((value.extract::<f64>()? as f32).to_le_bytes().to_vec()),
            other => Err(PyTypeError::new_err(format!(
                "a float was given, the parameter is {other:?}: give an int, or a NumPy scalar of its size"
            ))),
        },
        _ => whole(param, value),
    }
}

/// A Python integer in the size of the parameter, signed or not.
fn whole(param: &Param, value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    match param.ty {
        Type::F64 => return Ok(value.extract::<f64>()?.to_le_bytes().to_vec()),
        Type::F32 => return Ok((value.extract::<f64>()? as f32).to_le_bytes().to_vec()),
        _ => {}
    }
    let number: i128 = value.extract()?;
    let bits = 8 * param.bytes.min(8);
    let (least, most) = (-(1_i128 << (bits - 1)), (1_i128 << bits) - 1);
    if param.bytes > 8 || number < least || number > most {
        return Err(PyOverflowError::new_err(format!(
            "{number} does not fit a parameter of {} bytes",
            param.bytes
        )));
    }
    Ok(number.to_le_bytes()[..param.bytes as usize].to_vec())
}
