//! What cannot be simulated is refused by name, before it fails in the MPI library's words or runs beside the simulated interface.

use std::ffi::{c_int, c_void};

use crate::behind::{Behind, in_front};
use crate::open_mpi::{version_of, version_text};

/// Where launchers tell a process its rank before `MPI_Init`.
const RANK_VARIABLES: [&str; 3] = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"];

/// Exit code of a process whose MPI library is refused.
const REFUSED: i32 = 2;

/// `MPI_THREAD_MULTIPLE` and `MPI_ERR_WIN` of Open MPI 4.
const THREAD_MULTIPLE: c_int = 3;
const WINDOW_ERROR: c_int = 53;

/// Ends the process if its MPI library sends nothing through the simulated interface; the first rank says why.
pub fn end_if_not_simulated() {
    let Some(library) = version_text().and_then(|text| refused_library(&text)) else {
        return;
    };
    let rank = RANK_VARIABLES.iter().find_map(std::env::var_os);
    if rank.is_none_or(|rank| rank == "0") {
        eprintln!(
            "pagemill mpi: error: the program's MPI library is {library}, which sends nothing through the simulated interface: \
             compile and start the program with Open MPI 4.1 (Debian's openmpi-bin and libopenmpi-dev: mpicc.openmpi, mpirun.openmpi)"
        );
    }
    std::process::exit(REFUSED);
}

/// The name and version of a library that says `text` of itself, if it is refused.
fn refused_library(text: &str) -> Option<String> {
    if version_of(text).is_some_and(|version| version[0] <= 4) {
        return None;
    }
    let name = text.split([',', '\n']).next()?;
    let words: Vec<&str> = name.split_whitespace().collect();
    let name = words.join(" ").replace(" v", " ").replace(" Version:", "");
    (!name.is_empty()).then_some(name)
}

type QueryThread = unsafe extern "C" fn(*mut c_int) -> c_int;
type Rank = unsafe extern "C" fn(usize, *mut c_int) -> c_int;
type CallErrorHandler = unsafe extern "C" fn(usize, c_int) -> c_int;

static QUERY_THREAD: Behind = Behind::new(c"MPI_Query_thread");
static RANK: Behind = Behind::new(c"MPI_Comm_rank");
static CALL_ERROR_HANDLER: Behind = Behind::new(c"MPI_Comm_call_errhandler");

/// The error of a call that makes a window over messages of `communicator`, where several threads may call MPI: Open MPI 4's `osc pt2pt`
/// refuses that, with the advice to run on one node.
fn refused_window(call: &str, communicator: usize) -> Option<c_int> {
    let functions = [QUERY_THREAD.find(), RANK.find(), CALL_ERROR_HANDLER.find()];
    if functions.iter().any(|function| function.is_null()) {
        return None;
    }
    let (mut level, mut rank) = (0, 0);
    // SAFETY: MPI's functions of these names have these types, and write one number each; the communicator is the caller's.
    unsafe {
        std::mem::transmute::<*mut c_void, QueryThread>(functions[0])(&raw mut level);
        if level != THREAD_MULTIPLE {
            return None;
        }
        std::mem::transmute::<*mut c_void, Rank>(functions[1])(communicator, &raw mut rank);
        if rank == 0 {
            eprintln!("{}", window_refusal(call));
        }
        std::mem::transmute::<*mut c_void, CallErrorHandler>(functions[2])(
            communicator,
            WINDOW_ERROR,
        );
    }
    Some(WINDOW_ERROR)
}

fn window_refusal(call: &str) -> String {
    format!(
        "pagemill mpi: error: {call} under MPI_THREAD_MULTIPLE: Open MPI 4 has no windows over messages for several threads. Ask for less:\n  \
         C:      MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided)\n  \
         mpi4py: MPI4PY_RC_THREAD_LEVEL=funneled in the environment (or mpi4py.rc.thread_level before `from mpi4py import MPI`)"
    )
}

in_front! {
    refused_window;
    MPI_Win_create(CREATE: c"MPI_Win_create") of base bytes unit info comm window => comm;
    PMPI_Win_create(PMPI_CREATE: c"PMPI_Win_create") of base bytes unit info comm window => comm;
    MPI_Win_allocate(ALLOCATE: c"MPI_Win_allocate") of bytes unit info comm base window => comm;
    PMPI_Win_allocate(PMPI_ALLOCATE: c"PMPI_Win_allocate") of bytes unit info comm base window => comm;
    MPI_Win_create_dynamic(DYNAMIC: c"MPI_Win_create_dynamic") of info comm window => comm;
    PMPI_Win_create_dynamic(PMPI_DYNAMIC: c"PMPI_Win_create_dynamic") of info comm window => comm;
}

/// Only libraries that are refused have sessions.
fn refused_session(_call: &str, _info: usize) -> Option<c_int> {
    end_if_not_simulated();
    None
}

in_front! {
    refused_session;
    MPI_Session_init(SESSION_INIT: c"MPI_Session_init") of info handler session => info;
}

#[cfg(test)]
mod tests;
