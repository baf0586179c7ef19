//! A libfabric provider over pagemill's simulated network interface.
//!
//! Open MPI and other programs load it as `libpagemill-fi.so`. Bytes really move between the processes, through
//! [shared memory](board); the time they take is the simulated interface's. `docs/mpi.md` says how to use it,
//! `docs/adr/0008-fabric.md` why it is built like this.

pub mod addresses;
pub mod behind;
pub mod board;
pub mod clock;
pub mod compute;
pub mod counted;
pub mod counters;
pub mod dynamic;
pub mod events;
pub mod ffi;
pub mod job;
pub mod launch;
pub mod machine;
pub mod memory;
pub mod meter;
pub mod open_mpi;
pub mod preload;
pub mod process;
pub mod records;
pub mod refusal;
pub mod station;
pub mod windows;
