//! What a kernel asks of the system: printing, assertions, traps, clocks.

use super::access::Stores;
use super::device_runtime;
use super::printf;
use super::transfer::little_endian;
use crate::exec::trap::{Fault, TrapKind};
use pagemill_ptx_ir::address::window::{self, Window};
use pagemill_ptx_ir::code::{ClockPart, SINK, Service};
use pagemill_ptx_ir::line::{Frame, LANE_BITS, LANES, lanes_of};

/// Longest string that is read out of device memory, in bytes.
const STRING_MAX: usize = 64 * 1024;

/// Text that kernels printed, bounded so that a kernel cannot fill the host's memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    text: Vec<u8>,
    limit_bytes: usize,
    dropped: u64,
    /// PTX instructions, by number, at which a lane read what is undefined; to be named.
    strays: Vec<u32>,
    notes: Vec<String>,
}

impl Default for Output {
    fn default() -> Self {
        Self {
            text: Vec::new(),
            limit_bytes: 1 << 20,
            dropped: 0,
            strays: Vec::new(),
            notes: Vec::new(),
        }
    }
}

/// Remarks that are kept between two drains.
const NOTES_MAX: usize = 64;

impl Output {
    /// An output that holds at most `limit_bytes` between two drains.
    pub fn with_limit(limit_bytes: usize) -> Self {
        Self {
            limit_bytes,
            ..Self::default()
        }
    }

    /// Everything printed since the last call; bytes that are no UTF-8 are replaced.
    pub fn take(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.text)).into_owned()
    }

    /// Calls of `printf` whose text did not fit.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Appends what `other` holds, and empties it.
    pub fn append(&mut self, other: &mut Self) {
        let text = std::mem::take(&mut other.text);
        for note in other.notes.drain(..) {
            self.note(note);
        }
        self.dropped += std::mem::take(&mut other.dropped);
        if !text.is_empty() {
            self.push(&text);
        }
    }

    /// What users should know about kernels that ran on regardless, each remark once, since the last call.
    pub fn take_notes(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notes)
    }

    pub(crate) fn note(&mut self, note: String) {
        if self.notes.len() < NOTES_MAX && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// A shuffle, PTX instruction `info`, read from a lane outside of its mask.
    pub(crate) fn note_stray(&mut self, info: u32) {
        if !self.strays.contains(&info) {
            self.strays.push(info);
        }
    }

    /// Whether nothing was printed or remarked.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty() && self.dropped == 0 && self.strays.is_empty() && self.notes.is_empty()
    }

    #[inline(always)]
    pub(crate) fn has_strays(&self) -> bool {
        !self.strays.is_empty()
    }

    /// The shuffles that were noted and not named yet.
    pub(crate) fn take_strays(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.strays)
    }

    fn push(&mut self, text: &[u8]) {
        if self.text.len() + text.len() <= self.limit_bytes {
            self.text.extend_from_slice(text);
        } else {
            self.dropped += 1;
        }
    }
}

#[inline(never)]
pub(crate) fn execute(
    service: &Service,
    frame: &mut Frame<'_>,
    stores: &mut Stores<'_>,
    output: &mut Output,
    clock: u64,
    mask: u32,
) -> Result<(), Box<Fault>> {
    match *service {
        Service::Print {
            format,
            arguments,
            dst,
        } => {
            let (formats, arguments) = (*frame.wide(format), *frame.wide(arguments));
            for lane in lanes_of(mask) {
                let count = print(stores, output, lane, formats[lane], arguments[lane]);
                if dst != SINK {
                    frame.set_narrow(dst, LANE_BITS[lane], [count as u32; LANES]);
                }
            }
            Ok(())
        }
        Service::AssertFail {
            message,
            file,
            line,
            function,
        } => {
            let lane = mask.trailing_zeros() as usize & (LANES - 1);
            let text = |operand| string(stores, lane, frame.wide(operand)[lane]);
            let place = format!(
                "{} ({}:{})",
                text(function),
                text(file),
                frame.narrow(line)[lane]
            );
            Err(Fault::at_lane(
                lane as u32,
                TrapKind::Assert {
                    message: text(message),
                    place,
                },
            ))
        }
        Service::GrowStack { pointer } => {
            let ends = *frame.narrow(pointer);
            stores.grow_stack(mask, |lane| ends[lane])
        }
        Service::Malloc { bytes, dst } => {
            allocate(frame, stores, (bytes, dst), mask);
            Ok(())
        }
        Service::Free { address } => free(frame, stores, address, mask),
        Service::Runtime(ref call) => {
            device_runtime::execute(call, frame, stores, mask);
            Ok(())
        }
        Service::Trap => stop(mask, TrapKind::Trap),
        Service::Misuse(reason) => stop(mask, TrapKind::Misuse { reason }),
        Service::Clock { dst, part } => {
            match part {
                ClockPart::Low => frame.set_narrow(dst, mask, [clock as u32; LANES]),
                ClockPart::High => frame.set_narrow(dst, mask, [(clock >> 32) as u32; LANES]),
                ClockPart::Whole => frame.set_wide(dst, mask, [clock; LANES]),
            }
            Ok(())
        }
    }
}

/// The first lane stops the kernel.
fn stop(mask: u32, kind: TrapKind) -> Result<(), Box<Fault>> {
    Err(Fault::at_lane(mask.trailing_zeros(), kind))
}

/// `malloc` for each lane, lowest first.
fn allocate(frame: &mut Frame<'_>, stores: &mut Stores<'_>, (bytes, dst): (u16, u16), mask: u32) {
    let wanted = *frame.wide(bytes);
    for lane in lanes_of(mask) {
        let address = stores.memory.malloc(wanted[lane]);
        frame.set_wide(dst, LANE_BITS[lane], [address; LANES]);
    }
}

fn free(
    frame: &Frame<'_>,
    stores: &mut Stores<'_>,
    address: u16,
    mask: u32,
) -> Result<(), Box<Fault>> {
    let addresses = frame.wide(address);
    for lane in lanes_of(mask) {
        let address = addresses[lane];
        if address != 0 && !stores.memory.free_on_heap(address) {
            let on_heap = stores.memory.is_on_heap(address);
            let kind = TrapKind::BadFree { address, on_heap };
            return Err(Fault::at_lane(lane as u32, kind));
        }
    }
    Ok(())
}

/// Prints for one thread; the number of arguments, or -1 when the format cannot be read.
fn print(
    stores: &Stores<'_>,
    output: &mut Output,
    lane: usize,
    format: u64,
    arguments: u64,
) -> i32 {
    let Some(format) = bytes_until_zero(stores, lane, format) else {
        return -1;
    };
    let mut next = arguments;
    let mut take = |bytes: u64| {
        next = next.next_multiple_of(bytes);
        let value = value_at(stores, lane, next, bytes as usize);
        next += bytes;
        value
    };
    let (text, count) = printf::format(&format, &mut take, &|address| {
        bytes_until_zero(stores, lane, address)
    });
    output.push(&text);
    count
}

fn string(stores: &Stores<'_>, lane: usize, address: u64) -> String {
    let bytes = bytes_until_zero(stores, lane, address).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn bytes_until_zero(stores: &Stores<'_>, lane: usize, address: u64) -> Option<Vec<u8>> {
    let byte = |index: usize| byte_at(stores, lane, address.checked_add(index as u64)?);
    let mut bytes = Vec::new();
    while bytes.len() < STRING_MAX {
        match byte(bytes.len())? {
            0 => return Some(bytes),
            byte => bytes.push(byte),
        }
    }
    Some(bytes)
}

fn value_at(stores: &Stores<'_>, lane: usize, address: u64, bytes: usize) -> Option<u64> {
    let mut buffer = [0; 8];
    for (index, byte) in buffer[..bytes].iter_mut().enumerate() {
        *byte = byte_at(stores, lane, address.checked_add(index as u64)?)?;
    }
    Some(little_endian(&buffer))
}

fn byte_at(stores: &Stores<'_>, lane: usize, address: u64) -> Option<u8> {
    let offset = (address & (window::BYTES - 1)) as usize;
    match Window::of(address) {
        Window::Global | Window::Constant => {
            stores.memory.bytes(address, 1).ok().map(|bytes| bytes[0])
        }
        Window::Shared => stores.shared.get(offset).copied(),
        Window::Local => (offset / 4 < stores.local.len()).then(|| stores.local_byte(lane, offset)),
        Window::Param => stores.params.get(offset).copied(),
    }
}
