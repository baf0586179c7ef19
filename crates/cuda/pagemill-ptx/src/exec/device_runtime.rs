//! Calls of the device runtime, one thread after the other.

use super::access::Stores;
use crate::device_runtime::codes::Refusal;
use crate::device_runtime::state::Shape;
use crate::device_runtime::work::{DeviceWork, Rows};
use pagemill_ptx_ir::address::window::{self, Window};
use pagemill_ptx_ir::code::device_calls::{Launchable, NUMBERS_MAX, RuntimeCall, RuntimeFn};
use pagemill_ptx_ir::code::{AddressOperand, SINK};
use pagemill_ptx_ir::line::{Frame, LANE_BITS, LANES, lanes_of};

/// `cudaStreamNonBlocking`, which streams of kernels have to be.
const NON_BLOCKING: u64 = 1;
/// `cudaEventDisableTiming`, which events of kernels have to say.
const WITHOUT_TIMING: u64 = 2;

/// Performs `call` for each lane of `mask`, lowest first.
#[inline(never)]
pub(super) fn execute(
    call: &RuntimeCall,
    frame: &mut Frame<'_>,
    stores: &mut Stores<'_>,
    mask: u32,
) {
    for lane in lanes_of(mask) {
        let mut numbers = [0; NUMBERS_MAX];
        for (number, operand) in numbers.iter_mut().zip(&call.operands) {
            *number = match *operand {
                AddressOperand::Narrow(operand) => frame.narrow(operand)[lane].into(),
                AddressOperand::Wide(operand) => frame.wide(operand)[lane],
            };
        }
        let mut caller = Caller {
            stores,
            lane,
            kernels: &call.kernels,
        };
        let result = caller.call(call.function, &numbers);
        match call.result {
            AddressOperand::Narrow(SINK) | AddressOperand::Wide(SINK) => {}
            AddressOperand::Narrow(dst) => {
                frame.set_narrow(dst, LANE_BITS[lane], [result as u32; LANES]);
            }
            AddressOperand::Wide(dst) => frame.set_wide(dst, LANE_BITS[lane], [result; LANES]),
        }
    }
}

/// A thread that calls.
struct Caller<'a, 'b> {
    stores: &'a mut Stores<'b>,
    lane: usize,
    kernels: &'a [Launchable],
}

impl Caller<'_, '_> {
    fn call(&mut self, function: RuntimeFn, numbers: &[u64; NUMBERS_MAX]) -> u64 {
        let thread = self.stores.first_thread + self.lane as u64;
        let runtime = &mut self.stores.memory.device_runtime;
        match function {
            RuntimeFn::GetLastError => return runtime.last_error(thread, true) as u64,
            RuntimeFn::PeekAtLastError => return runtime.last_error(thread, false) as u64,
            RuntimeFn::GetErrorName => {
                return self.stores.memory.error_text(numbers[0] as i32, true);
            }
            RuntimeFn::GetErrorString => {
                return self.stores.memory.error_text(numbers[0] as i32, false);
            }
            _ => {}
        }
        let done = match function {
            RuntimeFn::GetParameterBuffer | RuntimeFn::GetParameterBufferV2 => {
                match self.parameter_buffer(function, numbers) {
                    Ok(address) => return address,
                    Err(refusal) => Err(refusal),
                }
            }
            RuntimeFn::LaunchDevice | RuntimeFn::LaunchDeviceV2 => self.launch(function, numbers),
            RuntimeFn::StreamCreate
            | RuntimeFn::StreamDestroy
            | RuntimeFn::StreamWaitEvent
            | RuntimeFn::EventCreate
            | RuntimeFn::EventDestroy
            | RuntimeFn::EventRecord => self.order(function, numbers),
            RuntimeFn::Memcpy | RuntimeFn::Memcpy2D | RuntimeFn::Memset | RuntimeFn::Memset2D => {
                self.move_bytes(function, numbers)
            }
            RuntimeFn::Malloc => self.malloc(numbers),
            RuntimeFn::Free => self.free(numbers[0]),
            RuntimeFn::GraphSetConditional => {
                self.stores
                    .memory
                    .set_conditional(numbers[0], numbers[1] as u32);
                Ok(())
            }
            _ => self.ask(function, numbers),
        };
        let Err(refusal) = done else {
            return 0;
        };
        let code = refusal as i32;
        let runtime = &mut self.stores.memory.device_runtime;
        runtime.note_error(thread, code);
        match function {
            // No buffer.
            RuntimeFn::GetParameterBuffer | RuntimeFn::GetParameterBufferV2 => 0,
            _ => code as u64,
        }
    }

    fn kernel(&self, address: u64) -> Result<&Launchable, Refusal> {
        let mut known = self.kernels.iter();
        let found = known.find(|kernel| kernel.address == address);
        found.ok_or(Refusal::InvalidFunction)
    }

    fn parameter_buffer(
        &mut self,
        function: RuntimeFn,
        numbers: &[u64; NUMBERS_MAX],
    ) -> Result<u64, Refusal> {
        if function == RuntimeFn::GetParameterBuffer {
            return self.stores.memory.parameter_buffer(None, numbers[1]);
        }
        let kernel = self.kernel(numbers[0])?.clone();
        let named = Some((&kernel, shape(&numbers[1..])));
        self.stores
            .memory
            .parameter_buffer(named, kernel.param_bytes.into())
    }

    fn launch(&mut self, function: RuntimeFn, numbers: &[u64; NUMBERS_MAX]) -> Result<(), Refusal> {
        if function == RuntimeFn::LaunchDeviceV2 {
            let (buffer, stream) = (numbers[0], numbers[1]);
            return self.stores.memory.launch_from_kernel(buffer, None, stream);
        }
        let kernel = self.kernel(numbers[0])?.clone();
        let named = Some((&kernel, shape(&numbers[2..])));
        self.stores
            .memory
            .launch_from_kernel(numbers[1], named, numbers[9])
    }

    /// Streams and events.
    fn order(&mut self, function: RuntimeFn, numbers: &[u64; NUMBERS_MAX]) -> Result<(), Refusal> {
        let runtime = &mut self.stores.memory.device_runtime;
        match function {
            RuntimeFn::StreamCreate if numbers[1] != NON_BLOCKING => Err(Refusal::InvalidValue),
            RuntimeFn::EventCreate if numbers[1] != WITHOUT_TIMING => Err(Refusal::InvalidValue),
            RuntimeFn::StreamCreate | RuntimeFn::EventCreate => {
                let handle = runtime.create();
                self.give(numbers[0], &handle.to_le_bytes())
            }
            RuntimeFn::StreamDestroy | RuntimeFn::EventDestroy => runtime.destroy(numbers[0]),
            _ => runtime.check_handles(&numbers[..2]),
        }
    }

    fn move_bytes(
        &mut self,
        function: RuntimeFn,
        numbers: &[u64; NUMBERS_MAX],
    ) -> Result<(), Refusal> {
        let line = |address| Rows { address, pitch: 0 };
        let [a, b, c, d, e, f, ..] = *numbers;
        let (stream, work) = match function {
            RuntimeFn::Memcpy => {
                let (to, from) = (line(a), line(b));
                let (width, rows) = (c, 1);
                (
                    e,
                    DeviceWork::Copy {
                        to,
                        from,
                        width,
                        rows,
                    },
                )
            }
            RuntimeFn::Memcpy2D => {
                let (to, from) = (rows_of(a, b, e)?, rows_of(c, d, e)?);
                let (width, rows) = (e, f);
                (
                    numbers[7],
                    DeviceWork::Copy {
                        to,
                        from,
                        width,
                        rows,
                    },
                )
            }
            RuntimeFn::Memset => {
                let (to, value) = (line(a), b as u8);
                let (width, rows) = (c, 1);
                (
                    d,
                    DeviceWork::Fill {
                        to,
                        value,
                        width,
                        rows,
                    },
                )
            }
            _ => {
                let (to, value) = (rows_of(a, b, d)?, c as u8);
                let (width, rows) = (d, e);
                (
                    f,
                    DeviceWork::Fill {
                        to,
                        value,
                        width,
                        rows,
                    },
                )
            }
        };
        self.stores.memory.copy_from_kernel(stream, work)
    }

    fn malloc(&mut self, numbers: &[u64; NUMBERS_MAX]) -> Result<(), Refusal> {
        let address = self.stores.memory.malloc(numbers[1]);
        self.give(numbers[0], &address.to_le_bytes())?;
        match address == 0 && numbers[1] != 0 {
            true => Err(Refusal::OutOfMemory),
            false => Ok(()),
        }
    }

    fn free(&mut self, address: u64) -> Result<(), Refusal> {
        match address == 0 || self.stores.memory.free_on_heap(address) {
            true => Ok(()),
            false => Err(Refusal::InvalidValue),
        }
    }

    /// Questions about the device.
    fn ask(&mut self, function: RuntimeFn, numbers: &[u64; NUMBERS_MAX]) -> Result<(), Refusal> {
        let facts = &self.stores.memory.device_runtime.facts;
        let value = match function {
            RuntimeFn::GetDeviceCount => 1,
            RuntimeFn::RuntimeGetVersion => facts.runtime_version,
            RuntimeFn::DeviceGetAttribute if numbers[2] != 0 => {
                return Err(Refusal::InvalidDevice);
            }
            RuntimeFn::DeviceGetAttribute => {
                let known = facts.attributes.get(&(numbers[1] as i32));
                *known.ok_or(Refusal::InvalidValue)?
            }
            RuntimeFn::DeviceGetLimit => {
                let known = facts.limits.get(&(numbers[1] as i32));
                let value = *known.ok_or(Refusal::UnsupportedLimit)?;
                return self.give(numbers[0], &value.to_le_bytes());
            }
            // The device's number, and the preference for no cache.
            _ => 0,
        };
        self.give(numbers[0], &value.to_le_bytes())
    }

    /// Writes `bytes` to where the thread wants them.
    fn give(&mut self, address: u64, bytes: &[u8]) -> Result<(), Refusal> {
        let offset = (address & (window::BYTES - 1)) as usize;
        let stores = &mut *self.stores;
        match Window::of(address) {
            Window::Global => {
                let place = stores.memory.bytes_mut(address, bytes.len() as u64);
                place
                    .map_err(|_| Refusal::InvalidValue)?
                    .copy_from_slice(bytes);
                stores.memory.note_write();
                Ok(())
            }
            Window::Shared => {
                let place = stores.shared.get_mut(offset..offset + bytes.len());
                place.ok_or(Refusal::InvalidValue)?.copy_from_slice(bytes);
                Ok(())
            }
            Window::Local if offset + bytes.len() <= 4 * stores.local.len() => {
                for (index, &byte) in bytes.iter().enumerate() {
                    stores.set_local_byte(self.lane, offset + index, byte);
                }
                Ok(())
            }
            _ => Err(Refusal::InvalidValue),
        }
    }
}

/// Grid, block and shared memory from seven numbers.
fn shape(numbers: &[u64]) -> Shape {
    let three = |at: usize| std::array::from_fn(|axis| numbers[at + axis] as u32);
    Shape {
        grid: three(0),
        block: three(3),
        shared_bytes: numbers[6] as u32,
    }
}

/// Rows of `width` bytes, which do not overlap.
fn rows_of(address: u64, pitch: u64, width: u64) -> Result<Rows, Refusal> {
    match pitch >= width {
        true => Ok(Rows { address, pitch }),
        false => Err(Refusal::InvalidValue),
    }
}
