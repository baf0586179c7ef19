//! Calls that wait for other processes outside of the network: connections between communicators, and names.
//!
//! Open MPI makes them through its launcher, and polls nothing meanwhile. To the others, the rank would look as if it computed, and
//! none could go on past its clock. So it counts as waiting while it is in such a call.

use std::ffi::{c_int, c_void};

use crate::behind::{Behind, NO_MPI};
use crate::process;

/// The rank waits, until its next operation.
fn step_aside() {
    if let Some(process) = process::lock().as_mut() {
        process.station.step_aside();
    }
}

/// Arguments are numbers and pointers, which travel alike.
macro_rules! waiting {
    ($($name:ident($behind:ident: $text:literal) of $($argument:ident)*;)*) => {$(
        static $behind: Behind = Behind::new($text);

        /// MPI's function of this name.
        ///
        /// # Safety
        /// As MPI says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: usize),*) -> c_int {
            let behind = $behind.find();
            if behind.is_null() {
                return NO_MPI;
            }
            step_aside();
            type Function = unsafe extern "C" fn($(waiting!(@word $argument)),*) -> c_int;
            // SAFETY: MPI's function of this name takes as many numbers and pointers; the caller's promises are passed on.
            unsafe { std::mem::transmute::<*mut c_void, Function>(behind)($($argument),*) }
        }
    )*};
    (@word $argument:ident) => { usize };
}

waiting! {
    MPI_Comm_accept(ACCEPT: c"MPI_Comm_accept") of a b c d e;
    PMPI_Comm_accept(PMPI_ACCEPT: c"PMPI_Comm_accept") of a b c d e;
    MPI_Comm_connect(CONNECT: c"MPI_Comm_connect") of a b c d e;
    PMPI_Comm_connect(PMPI_CONNECT: c"PMPI_Comm_connect") of a b c d e;
    MPI_Comm_join(JOIN: c"MPI_Comm_join") of a b;
    PMPI_Comm_join(PMPI_JOIN: c"PMPI_Comm_join") of a b;
    MPI_Comm_disconnect(DISCONNECT: c"MPI_Comm_disconnect") of a;
    PMPI_Comm_disconnect(PMPI_DISCONNECT: c"PMPI_Comm_disconnect") of a;
    MPI_Publish_name(PUBLISH: c"MPI_Publish_name") of a b c;
    PMPI_Publish_name(PMPI_PUBLISH: c"PMPI_Publish_name") of a b c;
    MPI_Lookup_name(LOOK_UP: c"MPI_Lookup_name") of a b c;
    PMPI_Lookup_name(PMPI_LOOK_UP: c"PMPI_Lookup_name") of a b c;
}
