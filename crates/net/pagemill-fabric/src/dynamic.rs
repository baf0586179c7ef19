//! Calls that wait for other processes outside of the network: connections between communicators, and names.
//!
//! Open MPI makes them through its launcher, and polls nothing meanwhile. To the others, the rank would look as if it computed, and
//! none could go on past its clock. So it counts as waiting while it is in such a call.

use std::ffi::c_int;

use crate::behind::in_front;
use crate::process;

/// The rank waits, until its next operation.
fn step_aside(_call: &str, _first: usize) -> Option<c_int> {
    if let Some(process) = process::lock().as_mut() {
        process.station.step_aside();
    }
    None
}

in_front! {
    step_aside;
    MPI_Comm_accept(ACCEPT: c"MPI_Comm_accept") of a b c d e => a;
    PMPI_Comm_accept(PMPI_ACCEPT: c"PMPI_Comm_accept") of a b c d e => a;
    MPI_Comm_connect(CONNECT: c"MPI_Comm_connect") of a b c d e => a;
    PMPI_Comm_connect(PMPI_CONNECT: c"PMPI_Comm_connect") of a b c d e => a;
    MPI_Comm_join(JOIN: c"MPI_Comm_join") of a b => a;
    PMPI_Comm_join(PMPI_JOIN: c"PMPI_Comm_join") of a b => a;
    MPI_Comm_disconnect(DISCONNECT: c"MPI_Comm_disconnect") of a => a;
    PMPI_Comm_disconnect(PMPI_DISCONNECT: c"PMPI_Comm_disconnect") of a => a;
    MPI_Publish_name(PUBLISH: c"MPI_Publish_name") of a b c => a;
    PMPI_Publish_name(PMPI_PUBLISH: c"PMPI_Publish_name") of a b c => a;
    MPI_Lookup_name(LOOK_UP: c"MPI_Lookup_name") of a b c => a;
    PMPI_Lookup_name(PMPI_LOOK_UP: c"PMPI_Lookup_name") of a b c => a;
}
