//! Everything that the command does, as a user does it: a file for each subcommand.

#[cfg(not(all(feature = "cuda", feature = "net")))]
mod absent;
mod advise;
#[cfg(feature = "cuda")]
mod advise_program;
#[cfg(feature = "cuda")]
mod check;
#[cfg(feature = "cuda")]
mod check_order;
#[cfg(feature = "cuda")]
mod ci;
mod color;
mod coloring;
mod common;
mod compare;
#[cfg(feature = "cuda")]
mod cuda;
#[cfg(feature = "cuda")]
mod cuda_ends;
#[cfg(feature = "cuda")]
mod cuda_more;
#[cfg(feature = "cuda")]
mod device_launches;
#[cfg(all(feature = "cuda", feature = "net"))]
mod ended;
#[cfg(feature = "cuda")]
mod frameworks;
mod gpu_bench;
#[cfg(feature = "cuda")]
mod gpu_front;
#[cfg(feature = "cuda")]
mod hints;
#[cfg(all(feature = "cuda", feature = "net"))]
mod kill;
#[cfg(feature = "cuda")]
mod lines;
#[cfg(feature = "net")]
mod mpi;
mod mrc;
mod nic;
#[cfg(feature = "cuda")]
mod oversubscribe;
mod pager;
mod pager_advise;
mod pager_replay;
mod pager_signals;
mod pager_top;
#[cfg(feature = "cuda")]
mod readme;
mod run;
mod sweep;
mod terminal;
#[cfg(feature = "cuda")]
#[path = "common/cuda.rs"]
mod toolkit;
#[cfg(all(feature = "cuda", feature = "net"))]
mod usage;
mod view;
mod zero;
mod zeroing;
