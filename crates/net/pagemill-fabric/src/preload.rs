//! What is put in front of the MPI library: virtual time for `MPI_Wtime`, and a start line behind `MPI_Init`.
//!
//! `pagemill mpi` preloads this library into the program, so these functions are found before MPI's own, which they call.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::behind::{Behind, NO_MPI};
use crate::{open_mpi, process, refusal};

/// Whether the program is in `MPI_Init`, so that a start line follows.
static IS_STARTING: AtomicBool = AtomicBool::new(false);

/// Set to make the program's own `gettimeofday` virtual, too.
pub const CLOCK_VARIABLE: &str = "PAGEMILL_FABRIC_CLOCK";

/// Picoseconds in a second.
const SECOND_PS: f64 = 1e12;

/// Whether a start line follows.
pub fn is_starting() -> bool {
    IS_STARTING.load(Ordering::Relaxed)
}

/// Runs MPI's own initialization, then waits for the other processes.
fn initialize(call: impl FnOnce() -> c_int) -> c_int {
    refusal::end_if_not_simulated();
    let is_outer = !IS_STARTING.swap(true, Ordering::Relaxed);
    let result = call();
    if is_outer {
        if let Some(process) = process::lock().as_mut() {
            process.start();
        }
        open_mpi::mend();
        IS_STARTING.store(false, Ordering::Relaxed);
    }
    result
}

type Init = unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_char) -> c_int;
type InitThread =
    unsafe extern "C" fn(*mut c_int, *mut *mut *mut c_char, c_int, *mut c_int) -> c_int;

macro_rules! initializers {
    ($($name:ident($behind:ident: $text:literal);)*) => {$(
        static $behind: Behind = Behind::new($text);

        /// MPI's function of this name, and the start line.
        ///
        /// # Safety
        /// As MPI says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(count: *mut c_int, arguments: *mut *mut *mut c_char) -> c_int {
            let behind = $behind.find();
            if behind.is_null() {
                return NO_MPI;
            }
            // SAFETY: MPI's function of this name has this type; the caller's promises are passed on.
            initialize(|| unsafe { std::mem::transmute::<*mut c_void, Init>(behind)(count, arguments) })
        }
    )*};
}

macro_rules! thread_initializers {
    ($($name:ident($behind:ident: $text:literal);)*) => {$(
        static $behind: Behind = Behind::new($text);

        /// MPI's function of this name, and the start line.
        ///
        /// # Safety
        /// As MPI says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            count: *mut c_int,
            arguments: *mut *mut *mut c_char,
            required: c_int,
            provided: *mut c_int,
        ) -> c_int {
            let behind = $behind.find();
            if behind.is_null() {
                return NO_MPI;
            }
            // SAFETY: MPI's function of this name has this type; the caller's promises are passed on.
            initialize(|| unsafe {
                std::mem::transmute::<*mut c_void, InitThread>(behind)(count, arguments, required, provided)
            })
        }
    )*};
}

initializers! {
    MPI_Init(MPI_INIT: c"MPI_Init");
    PMPI_Init(PMPI_INIT: c"PMPI_Init");
}

thread_initializers! {
    MPI_Init_thread(MPI_INIT_THREAD: c"MPI_Init_thread");
    PMPI_Init_thread(PMPI_INIT_THREAD: c"PMPI_Init_thread");
}

type ProcessorName = unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int;

static MPI_PROCESSOR_NAME: Behind = Behind::new(c"MPI_Get_processor_name");

/// The simulated node's name where ranks share interfaces; otherwise MPI's answer.
///
/// # Safety
/// As MPI says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn MPI_Get_processor_name(name: *mut c_char, length: *mut c_int) -> c_int {
    let node = process::lock()
        .as_ref()
        .and_then(|process| process.station.node_number());
    let (Some(node), false) = (node, name.is_null() || length.is_null()) else {
        let behind = MPI_PROCESSOR_NAME.find();
        if behind.is_null() {
            return NO_MPI;
        }
        // SAFETY: MPI's function of this name has this type; the caller's promises are passed on.
        return unsafe { std::mem::transmute::<*mut c_void, ProcessorName>(behind)(name, length) };
    };
    let text = format!("node{node}\0");
    // SAFETY: the caller has room for MPI_MAX_PROCESSOR_NAME (256) bytes, and for a number.
    unsafe {
        name.copy_from_nonoverlapping(text.as_ptr().cast(), text.len());
        *length = text.len() as c_int - 1;
    }
    0
}

/// Seconds of virtual time.
#[unsafe(no_mangle)]
pub extern "C" fn MPI_Wtime() -> f64 {
    process::lock()
        .as_mut()
        .map_or(0.0, |process| process.read_clock() as f64 / SECOND_PS)
}

/// Seconds of virtual time.
#[unsafe(no_mangle)]
pub extern "C" fn PMPI_Wtime() -> f64 {
    MPI_Wtime()
}

/// The resolution of virtual time: a picosecond.
#[unsafe(no_mangle)]
pub extern "C" fn MPI_Wtick() -> f64 {
    1.0 / SECOND_PS
}

/// The resolution of virtual time: a picosecond.
#[unsafe(no_mangle)]
pub extern "C" fn PMPI_Wtick() -> f64 {
    MPI_Wtick()
}
