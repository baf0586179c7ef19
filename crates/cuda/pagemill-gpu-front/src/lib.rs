//! `LD_PRELOAD` library in front of the CUDA driver: managed memory of an unchanged program gets the hints of a file.
//!
//! | variable | meaning |
//! |---|---|
//! | `PAGEMILL_GPU_FRONT` | a folder with `hints.toml`, if there are any; reports of processes are left there |
//! | `PAGEMILL_GPU_MANAGED` | `1`: managed memory where the program asks for memory of the GPU |
//! | `PAGEMILL_GPU_RECORD` | `1`: processes are recorded by CUPTI as well |
//! | `PAGEMILL_CUPTI` | CUPTI's library, where it is not found by itself |
//!
//! Everything goes on to the driver that the program would have had. Functions that this library does not know are never touched, and
//! neither are forms of known functions that are newer than its table: it changes what `dlsym` and `cuGetProcAddress` answer for those of
//! `hooks.rs`, and nothing else. Decision: `docs/adr/0035-in-front-of-the-driver.md`.
//!
//! Unsafe code: calls of the driver, CUPTI and the dynamic linker, and the functions that take their names.

mod calls;
mod hooks;
mod linker;
mod process;
mod record;
mod symbols;
