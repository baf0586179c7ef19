//! MPI programs and C programs over the simulated network: a file for each of its promises.

mod abi;
mod areas;
mod bad_input;
mod common;
mod compute;
mod like_the_simulator;
mod mpi;
mod mpi4py;
mod nodes;
mod waits;
