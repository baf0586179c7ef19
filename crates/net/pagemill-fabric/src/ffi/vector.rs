//! Address vectors: what a program got from its peers, as numbers.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{Mutex, PoisonError};

use super::abi::errno::{FI_EINVAL, FI_ENOSYS, FI_ETOOSMALL};
use super::abi::*;
use super::objects::{Table, UNSUPPORTED, close, give, no_control, no_ops};

const MAGIC: u32 = u32::from_le_bytes(*b"pgml");

/// An endpoint's address, as it travels between processes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    magic: u32,
    /// The station.
    pub station: u32,
    /// The endpoint of that station.
    pub port: u32,
    reserved: u32,
}

impl Address {
    /// Of an endpoint.
    pub fn new(station: u32, port: u32) -> Self {
        Self {
            magic: MAGIC,
            station,
            port,
            reserved: 0,
        }
    }

    fn is_valid(self) -> bool {
        self.magic == MAGIC
            && (self.station as usize) < crate::board::STATIONS_MAX
            && self.port < crate::process::PORTS_MAX
    }

    /// The number that stands for it. The same in every vector, so that a completion can name its source.
    fn number(self) -> u64 {
        (u64::from(self.port) << 32) | u64::from(self.station)
    }
}

/// An address vector.
#[repr(C)]
pub struct Vector {
    handle: fid_av,
    /// For vectors of type table, whose numbers count up: the address of each.
    table: Option<Mutex<Vec<Address>>>,
}

impl Vector {
    /// The station and endpoint that a number stands for.
    pub fn find(&self, number: u64) -> Option<Address> {
        let address = match &self.table {
            Some(table) => {
                let table = table.lock().unwrap_or_else(PoisonError::into_inner);
                usize::try_from(number)
                    .ok()
                    .and_then(|index| table.get(index).copied())?
            }
            None => Address::new(number as u32, (number >> 32) as u32),
        };
        address.is_valid().then_some(address)
    }

    /// The number of a station's first endpoint.
    pub fn number_of(&self, station: u32) -> u64 {
        let Some(table) = &self.table else {
            return Address::new(station, 0).number();
        };
        let table = table.lock().unwrap_or_else(PoisonError::into_inner);
        let found = table.iter().position(|address| address.station == station);
        found.map_or(FI_ADDR_UNSPEC, |index| index as u64)
    }

    fn insert(&self, address: Address) -> u64 {
        let Some(table) = &self.table else {
            return address.number();
        };
        let mut table = table.lock().unwrap_or_else(PoisonError::into_inner);
        table.push(address);
        table.len() as u64 - 1
    }
}

static OPS: Table<fi_ops> = Table(fi_ops {
    size: size_of::<fi_ops>(),
    close: close::<Vector>,
    bind: bind_nothing,
    control: no_control,
    ops_open: no_ops,
    tostr: None,
    ops_set: None,
});

static VECTOR_OPS: Table<fi_ops_av> = Table(fi_ops_av {
    size: size_of::<fi_ops_av>(),
    insert,
    insertsvc: UNSUPPORTED,
    insertsym: UNSUPPORTED,
    remove,
    lookup,
    straddr,
    av_set: UNSUPPORTED,
});

/// # Safety
/// As libfabric calls it.
pub unsafe extern "C" fn open(
    _: *mut fid_domain,
    attr: *mut fi_av_attr,
    vector: *mut *mut fid_av,
    context: *mut c_void,
) -> c_int {
    // SAFETY: null or valid, and a place for the result, by libfabric's contract.
    unsafe {
        let is_table = attr.as_ref().is_some_and(|attr| attr.r#type == FI_AV_TABLE);
        let made = give(Vector {
            handle: fid_av {
                fid: fid {
                    fclass: FI_CLASS_AV,
                    context,
                    ops: &OPS.0,
                },
                ops: &VECTOR_OPS.0,
            },
            table: is_table.then(|| Mutex::new(Vec::new())),
        });
        *vector = made.cast();
    }
    0
}

unsafe extern "C" fn bind_nothing(_: *mut fid, _: *mut fid, _: u64) -> c_int {
    -FI_ENOSYS
}

unsafe extern "C" fn insert(
    vector: *mut fid_av,
    addresses: *const c_void,
    count: usize,
    numbers: *mut u64,
    _flags: u64,
    _context: *mut c_void,
) -> c_int {
    if addresses.is_null() && count > 0 {
        return -FI_EINVAL;
    }
    // SAFETY: our own handle; `count` addresses of the length that `fi_getname` told; `numbers` null or as many places.
    unsafe {
        let vector = &*vector.cast::<Vector>();
        let mut inserted = 0;
        for index in 0..count {
            let address = addresses.cast::<Address>().add(index).read_unaligned();
            let number = match address.is_valid() {
                true => {
                    inserted += 1;
                    vector.insert(address)
                }
                false => FI_ADDR_UNSPEC,
            };
            if !numbers.is_null() {
                *numbers.add(index) = number;
            }
        }
        inserted
    }
}

unsafe extern "C" fn remove(_: *mut fid_av, _: *mut u64, _: usize, _: u64) -> c_int {
    0
}

unsafe extern "C" fn lookup(
    vector: *mut fid_av,
    number: u64,
    address: *mut c_void,
    bytes: *mut usize,
) -> c_int {
    // SAFETY: our own handle; `bytes` says how much room `address` has.
    unsafe {
        let Some(found) = (*vector.cast::<Vector>()).find(number) else {
            return -FI_EINVAL;
        };
        give_address(found, address, bytes)
    }
}

/// Copies an address to a caller, as far as it has room.
///
/// # Safety
/// `bytes` says how much room `address` has.
pub unsafe fn give_address(found: Address, address: *mut c_void, bytes: *mut usize) -> c_int {
    // SAFETY: the caller's promise.
    unsafe {
        let room = (*bytes).min(size_of::<Address>());
        let is_enough = *bytes >= size_of::<Address>();
        std::ptr::copy_nonoverlapping((&raw const found).cast::<u8>(), address.cast(), room);
        *bytes = size_of::<Address>();
        if is_enough { 0 } else { -FI_ETOOSMALL }
    }
}

unsafe extern "C" fn straddr(
    _: *mut fid_av,
    address: *const c_void,
    text: *mut c_char,
    bytes: *mut usize,
) -> *const c_char {
    // SAFETY: an address of ours; `bytes` says how much room `text` has.
    unsafe {
        let address = address.cast::<Address>().read_unaligned();
        let shown = format!("pagemill://{}/{}\0", address.station, address.port);
        let Ok(shown) = CStr::from_bytes_with_nul(shown.as_bytes()) else {
            return text;
        };
        let shown = shown.to_bytes_with_nul();
        let room = (*bytes).min(shown.len());
        std::ptr::copy_nonoverlapping(shown.as_ptr(), text.cast(), room);
        if 0 < room && room < shown.len() {
            *text.add(room - 1) = 0;
        }
        *bytes = shown.len();
        text
    }
}
