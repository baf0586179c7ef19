//! `LD_PRELOAD` library: large `malloc`s and `mmap`s of huge pages come from the pool; everything else, and everything that the pool
//! has too little for, goes where it always went.
//!
//! | variable | meaning |
//! |---|---|
//! | `PAGEMILL_ZERO_SOCKET` | the pool |
//! | `PAGEMILL_ZERO_SOURCE` | `pool`; or, to compare with, the kernel: `hugetlb`, `thp`, `populate` |
//! | `PAGEMILL_ZERO_MIN` | smallest `malloc` in bytes that comes from the pool (4 MiB) |
//! | `PAGEMILL_ZERO_WAIT` | longest wait in milliseconds for pages that the pool is clearing (1000) |
//! | `PAGEMILL_ZERO_QUIET` | `1`: nothing on standard error |
//! | `PAGEMILL_ZERO_MMAP` | `1`: anonymous mappings without `MAP_HUGETLB` too, if they are multiples of 2 MiB |
//!
//! Memory of the pool is a shared mapping of huge pages, and programs asked for private memory: `pagemill-mapping` keeps the meaning
//! of every call on it. Here are the source of pages (`pool.rs`) and the `malloc` family (`symbols.rs`).
//!
//! Unsafe code is in the exported symbols and the calls of the C library behind them.

mod allocator;
mod origin;
mod pool;
mod settings;
mod symbols;
mod warning;
